package manifests

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

const smallPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b:1}]}\n"

func TestSizeLimit(t *testing.T) {
	padded := func(size int) []byte {
		return append([]byte(smallPod+"#"), bytes.Repeat([]byte("x"), size-len(smallPod)-1)...)
	}
	if d := Decode(padded(10485759), Options{})[0]; d.Err != nil {
		t.Errorf("10485759 bytes: %s", d.Err.Message)
	}
	if d := Decode(padded(10485760), Options{})[0]; d.Err == nil || d.Err.Reason != ReasonTooLarge {
		t.Errorf("10485760 bytes: %+v", d.Err)
	}
}

// TestManyPods: every document of a large file gets its own answer, in order.
// BenchmarkDecode10000 has the figure for more.
func TestManyPods(t *testing.T) {
	const pods = 2_000
	var file, list bytes.Buffer
	list.WriteString("apiVersion: v1\nkind: PodList\nitems:\n")
	for i := range pods {
		fmt.Fprintf(&file, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {containers: [{name: a, image: b:1}]}\n", i)
		fmt.Fprintf(&list, "- metadata: {name: p%d}\n  spec: {containers: [{name: a, image: b:1}]}\n", i)
	}
	for name, text := range map[string][]byte{"documents": file.Bytes(), "list": list.Bytes()} {
		docs := Decode(text, Options{})
		if len(docs) != pods {
			t.Fatalf("%s: got %d", name, len(docs))
		}
		for i, d := range docs {
			if d.Err != nil || d.Name != fmt.Sprintf("p%d", i) {
				t.Fatalf("%s: document %d is %s: %v", name, i, d.Name, d.Err)
			}
		}
	}
}

// TestHostileTexts: texts made to cost much are answered in bounded time and
// memory. The bounds are far above what is needed, and far below what an
// unbounded reader takes.
func TestHostileTexts(t *testing.T) {
	const size = sizeLimit / 4 // enough to pass every bound, and quick with the race detector
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"empty flow maps":   "a: [" + fill("{},") + "]",
		"empty lines":       fill("\n"),
		"dashes":            fill("- "),
		"dash lines":        fill("-\n"),
		"open brackets":     fill("["),
		"open braces":       fill("{"),
		"json brackets":     `{"a":` + fill("["),
		"json values":       `{"a":[` + strings.TrimSuffix(fill("0,"), ",") + "]}",
		"json documents":    fill("{}"),
		"documents":         fill("---\na\n"),
		"markers":           fill("---\n"),
		"comments":          fill("#\n"),
		"long key":          fill("k") + ": v",
		"question marks":    fill("? "),
		"many keys":         fill("k: v\n"),
		"quotes":            `a: "` + fill(`\"`),
		"anchors":           fill("&a "),
		"aliases":           "a: &a x\nb: [" + fill("*a,") + "]",
		"tags":              fill("!!str "),
		"deep keys":         fill("a: {"),
		"unknown fields":    smallPod + strings.Repeat("unknown: {}\n", 20_000),
		"large merge":       mergeBomb(3000, 3000),
		"long alias":        "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 50_000) + "]",
		"laughs":            laughs(9, 60),
		"laughs by merging": mergeLaughs(25),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			docs := Decode([]byte(text), Options{})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 2000 {
				t.Errorf("allocated %d MiB", mb)
			}
			if len(docs) == 0 || docs[0].Err == nil && name != "comments" {
				t.Errorf("accepted: %+v", docs)
			}
			t.Logf("%s, %d MiB: %s", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, docs[0].Err.Message[:min(100, len(docs[0].Err.Message))])
		})
	}
}

// laughs nests aliases: width to the power of depth values.
func laughs(depth, width int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i <= depth; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), width), ","))
	}
	return b.String()
}

func mergeBomb(keys, merges int) string {
	var b strings.Builder
	b.WriteString("m: &m {")
	for i := range keys {
		fmt.Fprintf(&b, "k%d: v,", i)
	}
	b.WriteString("}\nl:\n" + strings.Repeat("- <<: *m\n", merges))
	return b.String()
}

func mergeLaughs(depth int) string {
	var b strings.Builder
	b.WriteString("m0: &m0 {a: b}\n")
	for i := 1; i <= depth; i++ {
		fmt.Fprintf(&b, "m%d: &m%d {<<: [*m%d, *m%d], x: *m%d, y: *m%d}\n", i, i, i-1, i-1, i-1, i-1)
	}
	return b.String()
}
