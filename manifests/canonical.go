package manifests

import (
	"encoding/json"
	"slices"
	"strings"
)

// appendJSON writes the canonical text of a value of a given type: compact
// JSON with sorted keys. What the type does not know, and keys of structs that
// hold nothing, are left out: neither has a meaning for the object.
func appendJSON(dst []byte, n *node, s *schema) []byte {
	switch n.kind {
	case nullNode:
		return append(dst, "null"...)
	case boolNode, numberNode:
		return append(dst, n.text...)
	case stringNode:
		return appendString(dst, n.text)
	case listNode:
		dst = append(dst, '[')
		for i, it := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, it, s.elem)
		}
		return append(dst, ']')
	}
	return appendObject(dst, n, s)
}

func appendObject(dst []byte, n *node, s *schema) []byte {
	members := n.members
	byKey := func(a, b member) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		members = slices.Clone(members)
		slices.SortFunc(members, byKey)
	}
	dst = append(dst, '{')
	first := true
	for _, m := range members {
		elem := s.elem
		if s.shape == structShape {
			f := s.field(m.key)
			if f == nil || m.value.kind == nullNode {
				continue
			}
			elem = f.schema
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, m.key), ':')
		dst = appendJSON(dst, m.value, elem)
	}
	return append(dst, '}')
}

// appendString writes a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(dst, `""`...)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func unquoteJSON(lit string) (string, error) {
	var s string
	err := json.Unmarshal([]byte(lit), &s)
	return s, err
}
