package islet_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// broken returns a small tree made of path, text, path, text, ...
func broken(t *testing.T, pathsAndTexts ...string) []file {
	t.Helper()
	m := fstest.MapFS{}
	for i := 0; i < len(pathsAndTexts); i += 2 {
		m[pathsAndTexts[i]] = &fstest.MapFile{Data: []byte(pathsAndTexts[i+1])}
	}
	files, err := readTree(m)
	if err != nil {
		t.Fatalf("read synthetic tree: %v", err)
	}
	return files
}

// wantFindings checks that there is exactly one finding per wanted text, in
// order, and that it holds the text.
func wantFindings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d findings, want %d:\n  %s", len(got), len(want), strings.Join(got, "\n  "))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("finding %q does not say %q", got[i], want[i])
		}
	}
}
