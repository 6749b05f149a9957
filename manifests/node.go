package manifests

import (
	"strconv"
	"strings"
)

// nodeKind is the JSON type of a value.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	listNode
	objectNode
)

// words for people, by nodeKind.
var kindWords = [...]string{"nothing", "a boolean", "a number", "a string", "a list", "a mapping"}

func (k nodeKind) String() string { return kindWords[k] }

// node is a value of the text, YAML or JSON, with the line it stands on.
// Values behind a YAML alias are shared, not copied: a tree of nodes is a
// directed acyclic graph and must not be changed once built.
type node struct {
	kind    nodeKind
	plain   bool // an unquoted YAML scalar, so quoting would change its type
	line    int
	text    string // stringNode: the string; boolNode, numberNode: the JSON literal; nullNode: as written, "" when nothing was
	members []member
	items   []*node

	// What this value amounts to with every alias written out.
	count int // values
	bytes int // text
}

type member struct {
	key   string
	line  int
	value *node
}

// saturated keeps sums over shared nodes from overflowing.
const saturated = 1 << 40

func (n *node) weigh() {
	count, bytes := 1, len(n.text)
	for _, m := range n.members {
		count += m.value.count
		bytes += m.value.bytes + len(m.key)
	}
	for _, it := range n.items {
		count += it.count
		bytes += it.bytes
	}
	n.count, n.bytes = min(count, saturated), min(bytes, saturated)
}

// get returns the value of a key, nil when n is no mapping or has no such key.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// str returns the string at a path of keys, "" when there is none.
func (n *node) str(keys ...string) string {
	for _, k := range keys {
		n = n.get(k)
	}
	if n == nil || n.kind != stringNode {
		return ""
	}
	return n.text
}

// lineAt returns the line of the value at a field path such as
// spec.containers[0].image or data[key]. Where the path leaves the text, the
// last line that is on it is returned.
func (n *node) lineAt(path string) int {
	line := n.line
	for path != "" {
		var name string
		switch {
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return line
			}
			name, path = path[1:end], path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			name, path = path[:end], path[end:]
		}
		path = strings.TrimPrefix(path, ".")
		next, at := n.step(name)
		if next == nil {
			return line
		}
		n, line = next, at
	}
	return line
}

// step goes down one key or index and says on which line that is written.
func (n *node) step(name string) (*node, int) {
	if n.kind == listNode {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(n.items) {
			return nil, 0
		}
		return n.items[i], n.items[i].line
	}
	for _, m := range n.members {
		if m.key == name {
			return m.value, m.line
		}
	}
	return nil, 0
}
