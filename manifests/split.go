package manifests

import (
	"bytes"
)

// segment is the text of one YAML document and where it starts in its file.
type segment struct {
	text []byte
	line int // 1-based line of the first byte
}

// split cuts a file at its document markers. It does so on the text, before
// any parsing, so that a document which does not parse leaves its neighbours
// alone. YAML allows this: "---" or "..." at the start of a line followed by
// white space ends a document whatever it stands in. Documents of nothing but
// comments, markers and directives are left out. Line breaks must be \n.
func split(data []byte) []segment {
	var (
		out     []segment
		start   int // of the segment being read
		first   = 1 // its line
		content bool
		marked  bool // its "---" was seen
	)
	end := func(at, line int) {
		if content {
			out = append(out, segment{text: data[start:at], line: first})
		}
		start, first, content, marked = at, line, false, false
	}
	for at, line := 0, 1; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := data[at:next]
		switch {
		case isMarker(text, "..."):
			end(next, line+1)
		case isMarker(text, "---"):
			if content || marked {
				end(at, line)
			}
			marked = true
			content = hasContent(text[3:])
		case !content && !marked && text[0] == '%':
			// a directive belongs to the document that follows
		default:
			content = content || hasContent(text)
		}
		at = next
	}
	end(len(data), 0)
	return out
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	rest := line[len(marker):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n'
}

// hasContent: there is more on the line than white space and a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\n\ufeff")
	return len(line) > 0 && line[0] != '#'
}

// contentLine is the line of the first content of a segment.
func (s segment) contentLine() int {
	line := s.line
	for rest := s.text; len(rest) > 0; line++ {
		text := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			text, rest = rest[:i+1], rest[i+1:]
		} else {
			rest = nil
		}
		if isMarker(text, "---") {
			text = text[3:]
		} else if text[0] == '%' {
			continue
		}
		if hasContent(text) {
			return line
		}
	}
	return s.line
}

// normalise takes off a byte order mark and turns the line breaks of other
// systems into \n, which YAML itself does before it looks at a text.
func normalise(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}
