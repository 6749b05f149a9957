package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads the one document of a segment. A document that holds nothing
// gives nil.
func parseYAML(s segment) (*node, *Rejection) {
	if estimate(s.text) > maxNodes {
		return nil, tooManyNodes(s.line)
	}
	dec := yaml.NewDecoder(bytes.NewReader(s.text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, explainYAML(s, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("yaml: did not find expected <document start>")
		}
		return nil, explainYAML(s, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	b := yamlBuilder{offset: s.line - 1}
	root, err := b.value(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	if root.count > b.count+maxAliasNodes || b.merged > maxAliasNodes || root.bytes > 2*sizeLimit {
		return nil, &Rejection{Reason: ReasonTooLarge, Line: root.line,
			Message: "aliases and merge keys (*name, <<) blow the document up beyond what a manifest needs; write it out"}
	}
	return root, nil
}

// estimate is an upper bound on the values of a YAML text, for a look before
// the parser allocates them.
func estimate(text []byte) int {
	count := 1
	fresh := true // at the start of a line, or in white space there
	for i, c := range text {
		switch c {
		case '\n':
			fresh = true
			continue
		case ' ', '\t':
			continue
		case ',', '[', '{':
			count++
		case ':', '-', '?':
			if i+1 == len(text) || text[i+1] <= ' ' {
				count++
			}
		case '#':
			if fresh {
				count--
			}
		}
		if fresh {
			count++
			fresh = false
		}
	}
	return count
}

// yamlBuilder turns the nodes of the YAML library into ours.
type yamlBuilder struct {
	offset  int
	count   int                  // values made from the text
	merged  int                  // members copied by merge keys
	anchors map[*yaml.Node]*node // finished, by anchor; nil while open
}

func (b *yamlBuilder) value(y *yaml.Node, depth int) (*node, *Rejection) {
	line := y.Line + b.offset
	if depth > maxDepth {
		return nil, tooDeep(line)
	}
	if y.Kind == yaml.AliasNode {
		return b.alias(y, line)
	}
	if y.Anchor != "" {
		if b.anchors == nil {
			b.anchors = map[*yaml.Node]*node{}
		}
		b.anchors[y] = nil
	}
	n := &node{line: line}
	b.count++
	var rej *Rejection
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = objectNode
		rej = b.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.kind = listNode
		n.items = make([]*node, 0, len(y.Content))
		for _, c := range y.Content {
			item, r := b.value(c, depth+1)
			if r != nil {
				return nil, r
			}
			n.items = append(n.items, item)
		}
	default:
		rej = scalar(n, y)
	}
	if rej != nil {
		return nil, rej
	}
	n.weigh()
	if y.Anchor != "" {
		b.anchors[y] = n
	}
	return n, nil
}

func (b *yamlBuilder) alias(y *yaml.Node, line int) (*node, *Rejection) {
	n := b.anchors[y.Alias]
	if n == nil {
		return nil, &Rejection{Reason: ReasonInvalidYAML, Line: line,
			Message: fmt.Sprintf("line %d: alias *%s stands inside its own anchor", line, clip(y.Value))}
	}
	return n, nil
}

func (b *yamlBuilder) mapping(n *node, y *yaml.Node, depth int) *Rejection {
	n.members = make([]member, 0, len(y.Content)/2)
	var merges []merge
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		value, rej := b.value(y.Content[i+1], depth+1)
		if rej != nil {
			return rej
		}
		if k.Tag == "!!merge" {
			merges = append(merges, merge{value: value, line: k.Line + b.offset, before: len(n.members)})
			continue
		}
		key, rej := b.key(k)
		if rej != nil {
			return rej
		}
		n.members = append(n.members, member{key: key, line: k.Line + b.offset, value: value})
	}
	return b.merge(n, merges)
}

// key is the text of a mapping key: Kubernetes reads numbers and booleans
// there as the strings that JSON would show.
func (b *yamlBuilder) key(k *yaml.Node) (string, *Rejection) {
	line := k.Line + b.offset
	if k.Kind == yaml.AliasNode && k.Alias != nil {
		k = k.Alias
	}
	bad := func(what string) *Rejection {
		return &Rejection{Reason: ReasonWrongType, Line: line,
			Message: fmt.Sprintf("line %d: %s cannot be a key; is a quote or a colon out of place?", line, what)}
	}
	if k.Kind != yaml.ScalarNode {
		return "", bad("a mapping or list")
	}
	b.count++
	n := node{line: line}
	if rej := scalar(&n, k); rej != nil {
		return "", rej
	}
	if n.kind == nullNode {
		return "", bad("nothing")
	}
	if n.kind == numberNode && strings.ContainsAny(n.text, ".eE") {
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return "", bad(clip(n.text))
		}
		return strconv.FormatFloat(f, 'g', -1, 32), nil
	}
	return n.text, nil
}
