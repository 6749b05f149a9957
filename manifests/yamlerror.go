package manifests

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

// explainYAML turns the parser's complaint into a verdict with the line of the
// file and, for the usual slips, what to do.
func explainYAML(s segment, err error) *Rejection {
	// The newer parser reports where the construct began, which is right for
	// an open quote and useless for a long mapping; the older one, which
	// Kubernetes uses, reports where it broke.
	if strings.Contains(err.Error(), "did not find expected") {
		if _, older := sigsyaml.YAMLToJSON(s.text); older != nil && strings.HasPrefix(older.Error(), "yaml: ") {
			err = older
		}
	}
	line, problem := splitYAMLError(err.Error())
	if name, ok := strings.CutPrefix(problem, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		line = lineOf(s.text, "*"+name)
	}
	if strings.HasPrefix(problem, "control characters") {
		line = 1 + bytes.Count(s.text[:max(0, bytes.IndexFunc(s.text, isControl))], []byte("\n"))
	}
	hint := ""
	switch text := s.at(line); {
	case hasTabIndent(text):
		hint = "; the line is indented with a tab, YAML wants spaces"
	case hasTabIndent(s.at(line + 1)):
		line++
		hint = "; the line is indented with a tab, YAML wants spaces"
	case strings.Contains(problem, "mapping values are not allowed"):
		hint = "; look for a missing colon or quote, or an indent that is off, here or on the line above"
	case strings.Contains(problem, "could not find expected ':'"):
		hint = "; a colon is missing or the text is cut off"
	case strings.Contains(problem, "unexpected end of stream"):
		hint = "; a quote or bracket is not closed or the text is cut off"
	case strings.Contains(problem, "did not find expected ','"):
		hint = "; a bracket or comma is missing or the text is cut off"
	case strings.Contains(problem, "did not find expected node content"):
		hint = "; a value is missing or the text is cut off"
	case strings.Contains(problem, "did not find expected"):
		hint = "; look for an indent that is off, here or on the line above"
	}
	// What is missing at the end is missed one line further.
	line = min(line, 1+bytes.Count(bytes.TrimRight(s.text, "\n"), []byte("\n")))
	line += s.line - 1
	return &Rejection{Reason: ReasonInvalidYAML, Line: line,
		Message: oneLine(fmt.Sprintf("line %d: %s%s", line, problem, hint))}
}

// splitYAMLError takes "yaml: line 3: problem" apart. The library counts lines
// from one in what its scanner finds and from zero in what its parser finds,
// and leaves out the first.
func splitYAMLError(msg string) (line int, problem string) {
	problem = strings.TrimPrefix(msg, "yaml: ")
	if rest, ok := strings.CutPrefix(problem, "line "); ok {
		num, after, found := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(num); err == nil && found {
			line, problem = n, after
		}
	}
	for _, parser := range []string{"key", "node content", "'-' indicator", "',' or", "<"} {
		if strings.HasPrefix(problem, "did not find expected "+parser) {
			line++
			break
		}
	}
	return max(line, 1), problem
}

// at returns a line of the segment, counted from 1.
func (s segment) at(line int) []byte {
	rest := s.text
	for ; line > 1; line-- {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return nil
		}
		rest = rest[i+1:]
	}
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// isControl: a character that YAML does not allow.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 && r != 0x85 || r >= 0xd800 && r < 0xe000 || r == 0xfffe || r == 0xffff
}

func hasTabIndent(line []byte) bool {
	for _, c := range line {
		if c == '\t' {
			return true
		}
		if c != ' ' {
			return false
		}
	}
	return false
}

// lineOf returns the line, from 1, of the first place of a word.
func lineOf(text []byte, word string) int {
	i := bytes.Index(text, []byte(word))
	if i < 0 {
		return 1
	}
	return 1 + bytes.Count(text[:i], []byte("\n"))
}
