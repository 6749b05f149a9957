package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestSameHoweverWritten: a pod stays the same pod however its manifest is
// written: order of keys, comments, style, YAML or JSON, defaults spelled out,
// empty fields, line ends, other documents in the file.
func TestSameHoweverWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pod := drawPod(rt)
		plain, err := json.Marshal(pod)
		if err != nil {
			rt.Fatal(err)
		}
		want := one(rt, Decode(plain, Options{}))

		defaulted := rapid.Bool().Draw(rt, "defaulted")
		source := any(pod)
		if defaulted {
			source = spelledOut(rt, want)
		}
		text := write(rt, source)
		got := one(rt, Decode(text, Options{}))
		if c, why := Compare(want.Pod(), got.Pod()); c != Same {
			rt.Fatalf("%s: %s\n%s\n---\n%s", c, why, plain, text)
		}
		if c, why := Compare(got.Pod(), want.Pod()); c != Same {
			rt.Fatalf("other way round %s: %s", c, why)
		}
		if EffectiveDigest(want.Object) != EffectiveDigest(got.Object) {
			rt.Fatalf("effective digests differ\n%s\n---\n%s", plain, text)
		}
		if !defaulted && want.Digest != got.Digest {
			rt.Fatalf("digests differ\n%s\n---\n%s", want.Text, got.Text)
		}
		again := one(rt, Decode(got.Text, Options{Stored: true}))
		if c, why := Compare(want.Pod(), again.Pod()); c != Same || again.Digest != got.Digest {
			rt.Fatalf("stored text reads back as %s: %s", c, why)
		}
	})
}

// one returns the only pod of a file.
func one(rt *rapid.T, docs []Document) Document {
	var found []Document
	for _, d := range docs {
		if d.Pod() != nil {
			found = append(found, d)
		} else if d.Err == nil || d.Err.Reason != ReasonUnsupportedKind {
			rt.Fatalf("rejected: %v", d.Err)
		}
	}
	if len(found) != 1 {
		rt.Fatalf("%d pods in %d documents", len(found), len(docs))
	}
	return found[0]
}

func spelledOut(rt *rapid.T, d Document) any {
	text, err := json.Marshal(d.Object)
	if err != nil {
		rt.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		rt.Fatal(err)
	}
	return out
}

func drawPod(rt *rapid.T) map[string]any {
	text := rapid.SampledFrom([]string{"plain", "yes", "5", "0x10", "a: b", "- x", "#no", "", " lead", "two\nlines\n", "\ttab", "q\"uo'te", "ü", "null", "1e3", "---", "2020-01-01", "{a}", "*a", "~"})
	spec := map[string]any{}
	var containers []any
	for i := range rapid.IntRange(1, 3).Draw(rt, "containers") {
		c := map[string]any{"name": fmt.Sprintf("c%d", i), "image": rapid.SampledFrom([]string{"busybox", "busybox:1", "r.example.com:5000/a/b:latest"}).Draw(rt, "image")}
		if rapid.Bool().Draw(rt, "args") {
			c["args"] = rapid.SliceOfN(text, 1, 4).Draw(rt, "arg")
		}
		if rapid.Bool().Draw(rt, "env") {
			c["env"] = []any{map[string]any{"name": "A", "value": text.Draw(rt, "value")}}
		}
		if rapid.Bool().Draw(rt, "ports") {
			c["ports"] = []any{map[string]any{"containerPort": 8000 + i}}
		}
		if rapid.Bool().Draw(rt, "resources") {
			c["resources"] = map[string]any{"limits": map[string]any{"cpu": rapid.SampledFrom([]any{1, "500m", 0.5, "2"}).Draw(rt, "cpu"), "memory": "64Mi"}}
		}
		containers = append(containers, c)
	}
	spec["containers"] = containers
	if rapid.Bool().Draw(rt, "hostNetwork") {
		spec["hostNetwork"] = rapid.Bool().Draw(rt, "on")
	}
	if rapid.Bool().Draw(rt, "volumes") {
		spec["volumes"] = []any{map[string]any{"name": "v"}, map[string]any{"name": "w", "emptyDir": map[string]any{}}}
	}
	meta := map[string]any{"name": "web"}
	if rapid.Bool().Draw(rt, "annotations") {
		meta["annotations"] = map[string]any{"a": text.Draw(rt, "annotation"), "yes": "x", "5": "y"}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
}

// write writes a value as a manifest, in one of many ways.
func write(rt *rapid.T, v any) []byte {
	var text []byte
	switch rapid.SampledFrom([]string{"compact", "indented", "shuffled", "yaml"}).Draw(rt, "style") {
	case "compact":
		text, _ = json.Marshal(v)
	case "indented":
		text, _ = json.MarshalIndent(v, "", "\t")
	case "shuffled":
		var b bytes.Buffer
		shuffled(rt, &b, v)
		text = b.Bytes()
	case "yaml":
		text, _ = sigsyaml.Marshal(v)
		if rapid.Bool().Draw(rt, "comments") {
			text = append([]byte("# first\n\n"), append(text, []byte("# last\n")...)...)
		}
		if rapid.Bool().Draw(rt, "other documents") {
			text = append([]byte("apiVersion: v1\nkind: Service\n---\n"), append(text, []byte("---\n# none\n---\nkind: Service\napiVersion: v1\n")...)...)
		}
	}
	if rapid.Bool().Draw(rt, "marker") && text[0] == '{' {
		text = append([]byte("--- "), text...)
	}
	if rapid.Bool().Draw(rt, "crlf") {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if rapid.Bool().Draw(rt, "bom") {
		text = append([]byte("\ufeff"), text...)
	}
	return text
}

// shuffled writes flow style with keys in any order and comments between.
func shuffled(rt *rapid.T, b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		b.WriteString("{ # x\n")
		for i, k := range rapid.Permutation(sorted(keys)).Draw(rt, "keys") {
			if i > 0 {
				b.WriteString(",\n  ")
			}
			fmt.Fprintf(b, " %q: ", k)
			shuffled(rt, b, v[k])
		}
		b.WriteString(" }")
	case []any:
		b.WriteString(" [")
		for i, it := range v {
			if i > 0 {
				b.WriteString(" , ")
			}
			shuffled(rt, b, it)
		}
		b.WriteString("]")
	default:
		text, _ := json.Marshal(v)
		b.WriteString(strings.TrimSpace(string(text)))
	}
}
