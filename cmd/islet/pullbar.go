package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/islet-run/islet/docker"
)

// pullBar is a terminal that shows lines of a log and, below them while images
// are pulled, one line that tells how these come along. It draws when it is
// told something and costs nothing else.
type pullBar struct {
	out   io.Writer
	width func() int // columns

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil while nothing is pulled
	pulls []docker.PullProgress    // in the order in which they began
}

// newPullBar returns a pullBar for a terminal and nil for anything else, which
// is not to be filled with what is of interest for a moment only.
func newPullBar(out io.Writer, format string) *pullBar {
	if format == "json" || !isTerminal(out) {
		return nil
	}
	fd := int(out.(*os.File).Fd())
	return &pullBar{out: out, width: func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return barColumns
		}
		return width
	}}
}

const (
	barColumns = 80  // of a terminal that does not tell
	barSteps   = 100 // what is a whole pull
	barWidth   = 20  // columns of the bar itself
	barRest    = 12  // columns of percentage, brackets and gaps
)

// Write shows lines of the log.
func (p *pullBar) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return p.out.Write(lines)
	}
	_ = p.bar.Clear()
	n, err := p.out.Write(lines)
	_ = p.bar.RenderBlank()
	return n, err
}

// show takes in how a pull comes along.
func (p *pullBar) show(now docker.PullProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.pulls, func(q docker.PullProgress) bool { return q.Image == now.Image })
	switch {
	case now.Ended && at >= 0:
		p.pulls = slices.Delete(p.pulls, at, at+1)
	case now.Ended:
	case at >= 0:
		p.pulls[at] = now
	default:
		p.pulls = append(p.pulls, now)
	}
	p.draw()
}

// draw brings the line up to date. p.mu is held.
func (p *pullBar) draw() {
	if len(p.pulls) == 0 {
		if p.bar != nil {
			_ = p.bar.Clear()
			p.bar = nil
		}
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(barSteps,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetWidth(barWidth),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
		)
	}
	done := 0.0
	for _, q := range p.pulls {
		done += q.Fraction
	}
	// A bar that is full is over; there is something to do until the very end.
	_ = p.bar.Set(min(int(barSteps*done/float64(len(p.pulls))), barSteps-1))
	p.bar.Describe(shortened(describePulls(p.pulls), p.width()-barWidth-barRest))
}

// describePulls says what is pulled.
func describePulls(pulls []docker.PullProgress) string {
	first := pulls[0]
	text := "pulling " + clean(first.Image)
	if first.Layers > 0 {
		text += fmt.Sprintf(" %d/%d layers, %s/%s", first.Done, first.Layers, megabytes(first.Current), megabytes(first.Total))
	}
	if n := len(pulls) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

func megabytes(n int64) string { return fmt.Sprintf("%.1fMB", float64(n)/1e6) }

// shortened cuts a text in its middle, where the least is lost.
func shortened(text string, columns int) string {
	r := []rune(text)
	if len(r) <= columns {
		return text
	}
	if columns < 3 {
		return ""
	}
	head := (columns - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(columns-1-head):])
}
