package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"two\nlines\r\n\n", "two; lines"},
		{"first;\n  second", "first; second"},
		{"\x1b[1;31mred\x1b[0m alert", "red alert"},
		{"bell\x07 tab\tnul\x00", "bell tab nul"},
		{"bad \xff utf", "bad  utf"},
		{"evil\u202etxt.exe", "eviltxt.exe"},
		{"größer 世界", "größer 世界"},
	} {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\nb\x1b[0m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := shorten(text, 50)
		if utf8.RuneCountInString(got) > 50 || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("shorten(%q) = %q", text, got)
		}
	})
}

func TestShorten(t *testing.T) {
	if got := shorten("größer als", 9); got != "größer..." {
		t.Errorf("got %q", got)
	}
	if got := shorten("größer", 6); got != "größer" {
		t.Errorf("got %q", got)
	}
}

func TestPrintTable(t *testing.T) {
	var text strings.Builder
	if err := printTable(&text, [][]string{{"NAME", "REASON"}, {"größer", ""}, {"b", "why"}}); err != nil {
		t.Fatal(err)
	}
	if want := "NAME     REASON\ngrößer\nb        why\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}
