package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode"
)

// The rules of everything that the commands print (the log of run is not
// theirs):
//
//   - stdout has the answer and nothing else, so that it can be piped. stderr
//     has the rest: errors, what was left out, what to do next.
//   - An error is one line that begins with "islet: ", says what failed and
//     where, and, when the reader can do something about it, what.
//   - A place in a file is path:line, as editors and compilers have it, with
//     the path as islet was given it.
//   - Tables are aligned with spaces and have a header of capitals. "-" stands
//     for what there is not. Long text is the last column.
//   - No colour, no cursor movement, no progress: what is on a terminal and
//     what is in a file look alike.
//   - Text that came from elsewhere (manifests, containers, the engine) is
//     printed on one line and without control characters.
//   - With -o json stdout has one JSON document. Fields are added to it,
//     never renamed or taken away. The exit code is the same as without.

// maxReason bounds a reason in a table, in runes; `islet why` has all of it.
const maxReason = 200

// nothing stands for what there is not.
const nothing = "-"

func orNothing(text string) string {
	if text == "" {
		return nothing
	}
	return text
}

// escapeSequence is what programs colour their messages with.
var escapeSequence = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]")

// clean makes text from elsewhere fit for one line of a terminal.
func clean(text string) string {
	text = escapeSequence.ReplaceAllString(text, "")
	var joined strings.Builder
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if joined.Len() > 0 {
			joined.WriteString("; ")
		}
		joined.WriteString(strings.TrimRight(line, ";"))
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, joined.String()))
}

// shorten cuts clean text to a bound.
func shorten(text string, bound int) string {
	text = clean(text)
	runes := []rune(text)
	if len(runes) <= bound {
		return text
	}
	return strings.TrimSpace(string(runes[:bound-3])) + "..."
}

// printTable prints rows aligned under a header, without spaces at the end of
// lines.
func printTable(w io.Writer, rows [][]string) error {
	var aligned bytes.Buffer
	table := tabwriter.NewWriter(&aligned, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("align table: %w", err)
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// printJSON prints value as an indented document.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// place is path:line, or less when less is known.
func place(path string, line int) string {
	if path == "" {
		return nothing
	}
	path = clean(path)
	if line <= 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// count is "1 pod", "2 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// outputFormat is the value of -o.
type outputFormat string

func (o *outputFormat) String() string { return string(*o) }
func (o *outputFormat) Type() string   { return "format" }

func (o *outputFormat) Set(text string) error {
	switch text {
	case "json", "text":
		*o = outputFormat(text)
		return nil
	}
	return fmt.Errorf("must be text or json")
}

func (o outputFormat) json() bool { return o == "json" }
