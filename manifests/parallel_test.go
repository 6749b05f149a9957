package manifests

import (
	"os"
	"slices"
	"sync"
	"testing"
)

// TestParallelDecode: files are decoded from several goroutines at once; the
// race detector watches the tables they share.
func TestParallelDecode(t *testing.T) {
	files := corpusFiles(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Error(err)
					return
				}
				before := slices.Clone(data)
				docs := Decode(data, Options{})
				if !slices.Equal(before, data) {
					t.Errorf("%s: Decode changed its input", file)
				}
				for _, d := range docs {
					if pod := d.Pod(); pod != nil {
						if c, why := Compare(pod, pod); c != Same {
							t.Errorf("%s: %s", file, why)
						}
					}
				}
			}
		})
	}
	wg.Wait()
}
