package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errNotJSON: the text is no JSON and may be YAML.
var errNotJSON = errors.New("text is not JSON")

// parseJSON reads a text that starts with { as JSON values one after another,
// each one document. Texts that are not entirely JSON give errNotJSON: YAML's
// flow style starts with { too.
func parseJSON(s segment) ([]*node, error) {
	text := bytes.TrimLeft(s.text, " \t\n")
	if len(text) == 0 || text[0] != '{' {
		return nil, errNotJSON
	}
	p := jsonParser{text: s.text, line: s.line, dec: json.NewDecoder(bytes.NewReader(s.text))}
	p.dec.UseNumber()
	var out []*node
	for {
		tok, err := p.dec.Token()
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		if err != nil {
			return nil, errNotJSON
		}
		n, err := p.value(tok, 0)
		if err != nil {
			return nil, err
		}
		if out = append(out, n); len(out) > maxDocuments {
			return nil, &Rejection{Reason: ReasonTooLarge, Line: s.line, Message: tooManyDocuments}
		}
	}
}

type jsonParser struct {
	text  []byte
	dec   *json.Decoder
	at    int // bytes looked at for line breaks
	line  int // line at that place
	count int
}

// here returns the line of the token just read: JSON tokens never span lines.
func (p *jsonParser) here() int {
	end := int(p.dec.InputOffset())
	p.line += bytes.Count(p.text[p.at:end], []byte("\n"))
	p.at = end
	return p.line
}

func (p *jsonParser) value(tok json.Token, depth int) (*node, error) {
	n := &node{line: p.here()}
	if p.count++; p.count > maxNodes {
		return nil, tooManyNodes(n.line)
	}
	if depth > maxDepth {
		return nil, tooDeep(n.line)
	}
	var err error
	switch t := tok.(type) {
	case nil:
		n.kind, n.text = nullNode, "null"
	case bool:
		n.kind, n.text = boolNode, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = numberNode, t.String()
	case string:
		n.kind, n.text = stringNode, t
	case json.Delim:
		if t == '{' {
			err = p.object(n, depth)
		} else {
			err = p.list(n, depth)
		}
	}
	if err != nil {
		return nil, err
	}
	n.weigh()
	return n, nil
}

func (p *jsonParser) object(n *node, depth int) error {
	n.kind = objectNode
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return errNotJSON
		}
		name, ok := key.(string)
		if !ok {
			return errNotJSON
		}
		m := member{key: name, line: p.here()}
		tok, err := p.dec.Token()
		if err != nil {
			return errNotJSON
		}
		if m.value, err = p.value(tok, depth+1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	return p.close()
}

func (p *jsonParser) list(n *node, depth int) error {
	n.kind = listNode
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return errNotJSON
		}
		item, err := p.value(tok, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	return p.close()
}

func (p *jsonParser) close() error {
	if _, err := p.dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

func tooManyNodes(line int) *Rejection {
	return &Rejection{Reason: ReasonTooLarge, Line: line,
		Message: fmt.Sprintf("document has more than %d values; split it", maxNodes)}
}

func tooDeep(line int) *Rejection {
	return &Rejection{Reason: ReasonInvalidYAML, Line: line,
		Message: fmt.Sprintf("line %d: values nest deeper than %d levels", line, maxDepth)}
}
