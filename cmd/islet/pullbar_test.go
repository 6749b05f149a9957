package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/islet-run/islet/docker"
)

// screen plays what a terminal shows of a text: the finished lines, and the one
// the cursor is in.
func screen(t *testing.T, text string, columns int) (lines []string, last string) {
	t.Helper()
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "\x1b[2K"):
			last, text = "", text[4:]
		case strings.HasPrefix(text, "\x1b[0K"):
			text = text[4:]
		case text[0] == '\r':
			text = text[1:]
			// What follows is written over it; only whole lines are drawn here.
			if next := strings.IndexAny(text, "\r\n\x1b"); next != 0 && len(text) > 0 {
				last = ""
			}
		case text[0] == '\n':
			lines, last, text = append(lines, last), "", text[1:]
		case text[0] == '\x1b':
			t.Fatalf("unknown sequence %.8q", text)
		default:
			next := strings.IndexAny(text, "\r\n\x1b")
			if next < 0 {
				next = len(text)
			}
			last, text = last+text[:next], text[next:]
		}
		if n := len([]rune(last)); n > columns {
			t.Errorf("a line of %d columns on a terminal of %d: %q", n, columns, last)
		}
	}
	return lines, last
}

func TestPullBar(t *testing.T) {
	for _, columns := range []int{80, 60} {
		var out bytes.Buffer
		p := &pullBar{out: &out, width: func() int { return columns }}
		fmt.Fprintln(p, "before")
		app := docker.PullProgress{Image: "registry.example.com/team/application-with-a-long-name:1.2.3"}
		p.show(app)
		app.Layers, app.Done, app.Current, app.Total, app.Fraction = 4, 1, 12_300_000, 40_000_000, 0.4
		p.show(app)
		_, last := screen(t, out.String(), columns)
		if !strings.Contains(last, "40%") || !strings.HasPrefix(last, "pulling regis") || !strings.Contains(last, "/40.0MB") {
			t.Errorf("bar %q", last)
		}
		fmt.Fprintln(p, "between")
		p.show(docker.PullProgress{Image: "db:1"})
		lines, last := screen(t, out.String(), columns)
		if !strings.Contains(last, "20%") || !strings.Contains(last, "(and 1 more)") || len(lines) != 2 {
			t.Errorf("bar of two %q below %q", last, lines)
		}
		app.Fraction = 1
		p.show(app)
		p.show(docker.PullProgress{Image: "db:1", Ended: true})
		if _, last := screen(t, out.String(), columns); !strings.Contains(last, "99%") {
			t.Errorf("bar before the end %q", last)
		}
		p.show(docker.PullProgress{Image: app.Image, Ended: true})
		p.show(docker.PullProgress{Image: "unknown", Ended: true})
		fmt.Fprintln(p, "after")
		lines, last = screen(t, out.String(), columns)
		if want := []string{"before", "between", "after"}; fmt.Sprint(lines) != fmt.Sprint(want) || last != "" {
			t.Errorf("left on the terminal: %q and %q, want %q", lines, last, want)
		}
	}
}

func TestPullBarIsForTerminals(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if newPullBar(f, "human") != nil || newPullBar(&bytes.Buffer{}, "auto") != nil {
		t.Error("a bar in a file")
	}
}
