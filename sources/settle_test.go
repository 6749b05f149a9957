package sources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/islet-run/islet/manifests"
)

// TestSettleNeverLosesAnAcceptedCopy edits a file at random and checks, after
// each edit, what must hold for any edit.
func TestSettleNeverLosesAnAcceptedCopy(t *testing.T) {
	document := rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
		return rapid.SampledFrom([]string{"pod " + name + " 1", "pod " + name + " 2", "configmap " + name + " 1", "bad", "bad " + name, "service " + name}).Draw(t, "document")
	})
	rapid.Check(t, func(t *rapid.T) {
		var old []standing
		for seq := uint64(1); seq < 8; seq++ {
			text := strings.Join(rapid.SliceOfN(document, 0, 5).Draw(t, "text"), "\n---\n")
			decoded := fakeDecode([]byte(text), manifests.Options{})
			next, pending := settle(old, decoded, seq)
			checkSettled(t, old, decoded, next, pending)
			old = next
			if pending && rapid.Bool().Draw(t, "second read") {
				fl := &file{standing: next}
				fl.dropRemoved()
				old = fl.standing
			}
		}
	})
}

func checkSettled(t *rapid.T, old []standing, decoded []manifests.Document, next []standing, pending bool) {
	faulty := slices.ContainsFunc(decoded, func(d manifests.Document) bool {
		return d.Err != nil && d.Err.Reason != manifests.ReasonUnsupportedKind
	})
	copies := map[string]int{} // accepted texts by name, less those that stand
	for _, s := range next {
		if !s.rejected() {
			copies[fmt.Sprint(keyOf(&s.doc))]++
		}
	}
	for i, d := range decoded {
		if d.Err == nil && (next[i].doc.Digest != d.Digest || next[i].lastGood) {
			t.Fatalf("accepted document %d does not stand for itself", i+1)
		}
		if d.Err != nil && next[i].reason != d.Err.Reason {
			t.Fatalf("document %d does not say why it is rejected", i+1)
		}
	}
	for _, s := range old {
		key := fmt.Sprint(keyOf(&s.doc))
		if !s.rejected() {
			if copies[key]--; copies[key] < 0 {
				t.Fatalf("the copy of %s is lost", key)
			}
		}
	}
	removed := slices.ContainsFunc(next, func(s standing) bool { return s.removed })
	if removed != pending || removed && faulty {
		t.Fatalf("removed %v, pending %v, faulty %v", removed, pending, faulty)
	}
	for _, s := range next {
		if (s.held || s.removed) && !s.lastGood || s.lastGood && s.rejected() {
			t.Fatalf("contradiction: %+v", s)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"version":1,"root":"/m","documents":[{"index":1,"kind":"Pod","name":"a","text":["pod","a"]}]}`, "/m/a.yaml")
	f.Add(`{"version":1,"path":"/m","root":{"kind":"dir","dev":1,"ino":2}}`, "root")
	f.Fuzz(func(t *testing.T, value, name string) {
		src := &File{cfg: FileConfig{Path: "/m", Decode: fakeDecode}, files: map[string]*file{}, foreign: map[string]*file{}}
		if src.loadRoot([]byte(value)) != nil || src.loadFile(name, []byte(value)) != nil {
			return
		}
		u := src.update()
		for _, d := range u.Documents {
			if d.Doc.Object == nil && d.Doc.Err == nil {
				t.Fatalf("neither object nor rejection: %+v", d)
			}
		}
	})
}
