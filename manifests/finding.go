package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// finding is one fault of a document.
type finding struct {
	reason  string
	field   string // "" when it is about the document as a whole
	message string
	line    int
}

func (f finding) String() string {
	if f.field == "" {
		return f.message
	}
	return f.field + ": " + f.message
}

// rejectionOf joins the faults of a document into one line; nil when there are
// none. The first one, in the order of the text, gives reason, field and line.
func rejectionOf(found []finding) *Rejection {
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.field, b.field), cmp.Compare(a.message, b.message))
	})
	found = slices.Compact(found)
	first := found[0]
	r := &Rejection{Reason: first.reason, Field: first.field, Line: first.line}
	if len(found) == 1 {
		r.Message = oneLine(first.String())
		return r
	}
	var b strings.Builder
	if len(found) >= mostFaults {
		b.WriteString("at least ")
	}
	fmt.Fprintf(&b, "%d faults: ", len(found))
	for i, f := range found {
		if i == maxFindings {
			fmt.Fprintf(&b, "; and %d more", len(found)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s (line %d)", f, f.line)
	}
	r.Message = oneLine(b.String())
	return r
}

// oneLine keeps text from a file from breaking the line, or the terminal, of
// who reads the message.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !strconv.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}

// clip shortens text of the file for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "..."
}
