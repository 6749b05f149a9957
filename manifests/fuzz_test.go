package manifests

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	sigsyaml "sigs.k8s.io/yaml"
)

func sorted(in []string) []string {
	slices.Sort(in)
	return in
}

// FuzzDecode: whatever the text, Decode returns verdicts that keep their
// promises, and what it accepts reads back from the store as the same.
func FuzzDecode(f *testing.F) {
	for _, file := range corpusFiles(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
	}
	f.Add([]byte(benchPod), true)
	f.Fuzz(func(t *testing.T, data []byte, lenient bool) {
		start := time.Now()
		docs := Decode(bytes.Clone(data), Options{Lenient: lenient})
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
		if len(docs) == 0 {
			t.Fatal("no document")
		}
		lines := 1 + bytes.Count(normalise(data), []byte("\n"))
		for _, d := range docs {
			checkDocument(t, d, lines)
			if d.Object == nil {
				continue
			}
			checkReread(t, d)
			if pod := d.Pod(); pod != nil {
				if c, why := Compare(pod, pod.DeepCopy()); c != Same {
					t.Errorf("a pod is not the same as itself: %s", why)
				}
			}
		}
	})
}

// FuzzYAML holds the reading of whole YAML documents against the library that
// Kubernetes reads them with: what both read, they read alike.
func FuzzYAML(f *testing.F) {
	for _, file := range corpusFiles(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 1<<16 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = normalise(data)
		if segs := split(data); len(segs) != 1 || invalidUTF8(data) >= 0 {
			return
		}
		root, rej := parseYAML(segment{text: data, line: 1})
		if rej != nil || root == nil {
			return
		}
		want, err := sigsyaml.YAMLToJSON(data)
		if err != nil || bytes.Contains(data, []byte("!")) || duplicated(root) {
			return // a tag "!" alone, and keys given twice, are read in other ways
		}
		if got := appendJSON(nil, root, anything); !bytes.Equal(got, want) {
			t.Errorf("upstream reads %s\nislet          %s", want, got)
		}
	})
}

// duplicated: a mapping somewhere has a key twice.
func duplicated(n *node) bool {
	seen := map[string]bool{}
	for _, m := range n.members {
		if seen[m.key] || duplicated(m.value) {
			return true
		}
		seen[m.key] = true
	}
	return slices.ContainsFunc(n.items, duplicated)
}
