package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParsePodName(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want podName
		bad  bool
	}{
		{in: "web", want: podName{"default", "web"}},
		{in: "ops/web.1", want: podName{"ops", "web.1"}},
		{in: "", bad: true},
		{in: "/web", bad: true},
		{in: "ops/", bad: true},
		{in: "a/b/c", bad: true},
		{in: "Web", bad: true},
		{in: "o.p/web", bad: true},
		{in: "../pods", bad: true},
	} {
		got, err := parsePodName(tt.in)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("parsePodName(%q) = %v, %v", tt.in, got, err)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []podName{{"default", "web"}, {"default", "web-frontend"}, {"ops", "web"}, {"ops", "exporter"}, {"ops", "exporter2"}, {"a", "exporter"}, {"b", "exporter"}}
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"wbe", []string{"default/web", "ops/web"}},
		{"x", nil},
		{"frontend", []string{"default/web-frontend"}},
		{"exportr", []string{"a/exporter", "b/exporter", "ops/exporter"}},
		{"database", nil},
	} {
		if diff := cmp.Diff(tt.want, nearest(podName{"default", tt.in}, known)); tt.in != "x" && diff != "" {
			t.Errorf("nearest(%q): %s", tt.in, diff)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"web", "web", 0}, {"web", "wbe", 1}, {"web", "wob", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(0, 12, 24).Draw(t, "a"), rapid.StringN(0, 12, 24).Draw(t, "b")
		there, back := editDistance(a, b), editDistance(b, a)
		if there != back || (there == 0) != (a == b) || there > max(len(a), len(b)) {
			t.Fatalf("%d there, %d back", there, back)
		}
	})
}
