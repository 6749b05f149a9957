package manifests

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files of testdata/manifests anew")

const corpus = "../testdata/manifests"

// corpusFiles lists the inputs of the golden test.
func corpusFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.yaml", "*.json", "kubeadm/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 60 {
		t.Fatalf("corpus has %d files", len(files))
	}
	return files
}

// TestGolden holds the verdicts on every file of the corpus, and the
// normalised objects of the accepted ones, against the file beside it. Inputs
// named lenient-* and stored-* are read with that option.
func TestGolden(t *testing.T) {
	for _, file := range corpusFiles(t) {
		base := filepath.Base(file)
		t.Run(strings.TrimPrefix(file, corpus+"/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			opts := Options{Lenient: strings.HasPrefix(base, "lenient-"), Stored: strings.HasPrefix(base, "stored-")}
			docs := Decode(data, opts)
			for i, d := range docs {
				checkDocument(t, d, bytes.Count(data, []byte("\n"))+1)
				if d.Object != nil {
					checkReread(t, docs[i])
				}
			}
			got := render(t, docs)
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("verdict changed (-want +got), -update accepts it:\n%s", diff)
			}
		})
	}
}

// checkDocument checks what every Document promises.
func checkDocument(t *testing.T, d Document, lines int) {
	t.Helper()
	if d.Index < 1 || d.Line < 1 || d.Line > lines {
		t.Errorf("document %d at line %d of %d", d.Index, d.Line, lines)
	}
	if d.Err == nil {
		if list := isList(d.Kind, d.APIVersion); !list && (d.Object == nil || len(d.Text) == 0 || len(d.Digest) != 64 || d.Name == "" || d.Namespace == "") {
			t.Errorf("accepted document is incomplete: %+v", d)
		}
	} else {
		if d.Object != nil || d.Text != nil || d.Digest != "" {
			t.Errorf("rejected document has an object")
		}
		if d.Err.Reason == "" || d.Err.Message == "" || strings.ContainsAny(d.Err.Message, "\n\t\x00") {
			t.Errorf("verdict is no line: %q", d.Err.Message)
		}
		if len(d.Err.Message) > 4096 {
			t.Errorf("verdict has %d bytes", len(d.Err.Message))
		}
		if d.Err.Line < 1 || d.Err.Line > lines {
			t.Errorf("verdict points at line %d of %d", d.Err.Line, lines)
		}
		if d.Err.Reason == ReasonInternal {
			t.Errorf("internal fault: %s", d.Err.Message)
		}
	}
	for _, w := range d.Warnings {
		if w.Message == "" || w.Line < 1 || w.Line > lines || strings.Contains(w.Message, "\n") {
			t.Errorf("bad warning %+v", w)
		}
	}
}

// checkReread: what the store keeps reads back as the same object.
func checkReread(t *testing.T, d Document) {
	t.Helper()
	again := Decode(d.Text, Options{Stored: true})
	if len(again) != 1 || again[0].Err != nil {
		t.Fatalf("canonical text does not read back: %v\n%s", again[0].Err, d.Text)
	}
	if diff := cmp.Diff(d.Object, again[0].Object); diff != "" {
		t.Errorf("canonical text means something else:\n%s", diff)
	}
	if !bytes.Equal(d.Text, again[0].Text) || d.Digest != again[0].Digest {
		t.Errorf("canonical text is not stable:\n%s\n%s", d.Text, again[0].Text)
	}
}

func render(t *testing.T, docs []Document) string {
	t.Helper()
	var b strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&b, "document %d", d.Index)
		if d.Item > 0 {
			fmt.Fprintf(&b, " item %d", d.Item)
		}
		fmt.Fprintf(&b, ", line %d: %s %s", d.Line, orDash(d.APIVersion), orDash(d.Kind))
		fmt.Fprintf(&b, " %s/%s: ", orDash(d.Namespace), orDash(d.Name))
		if d.Err != nil {
			fmt.Fprintf(&b, "rejected\n  %s, line %d, field %s\n  %s\n", d.Err.Reason, d.Err.Line, orDash(d.Err.Field), d.Err.Message)
		} else {
			b.WriteString("accepted\n")
		}
		for _, w := range d.Warnings {
			fmt.Fprintf(&b, "  warning, line %d, field %s\n  %s\n", w.Line, w.Field, w.Message)
		}
		if d.Object != nil {
			text, err := sigsyaml.Marshal(d.Object)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				b.WriteString("    " + line)
			}
		}
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
