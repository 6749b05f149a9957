package manifests

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// checker compares a text with the type it is meant to become: unknown fields,
// keys given twice and values the type cannot hold. A text that passes decodes
// without an error.
type checker struct {
	root    *schema
	lenient bool // unknown fields are warnings
	at      place
	found   []finding
	warned  []Warning
}

// mostFaults ends a check early: what is this wrong is no manifest.
const mostFaults = 50

func (c *checker) fault(reason, message string, line int) {
	if len(c.found) < mostFaults {
		c.found = append(c.found, finding{reason: reason, field: c.at.String(), message: message, line: line})
	}
}

func (c *checker) check(n *node, s *schema) {
	if len(c.found) >= mostFaults {
		return
	}
	switch {
	case n.kind == nullNode || s.shape == anyShape:
		return
	case s.shape == structShape && n.kind == objectNode:
		c.members(n, s)
	case s.shape == mapShape && n.kind == objectNode:
		c.members(n, s)
	case s.shape == listShape && n.kind == listNode:
		for i, item := range n.items {
			c.at.index(i)
			c.check(item, s.elem)
			c.at.up()
		}
	default:
		if message := c.wrongValue(n, s); message != "" {
			c.fault(ReasonWrongType, message, n.line)
		}
	}
}

func (c *checker) members(n *node, s *schema) {
	c.duplicates(n, s)
	for _, m := range n.members {
		if s.shape == mapShape {
			c.at.key(m.key)
			c.check(m.value, s.elem)
			c.at.up()
			continue
		}
		f := s.field(m.key)
		if f == nil {
			c.unknown(m, s)
			continue
		}
		c.at.field(m.key)
		c.check(m.value, f.schema)
		c.at.up()
	}
}

func (c *checker) duplicates(n *node, s *schema) {
	twice := func(m member, first int) {
		if s.shape == mapShape {
			c.at.key(m.key)
		} else {
			c.at.field(m.key)
		}
		c.fault(ReasonDuplicateKey, fmt.Sprintf("key is given twice, first on line %d; remove one", first), m.line)
		c.at.up()
	}
	if len(n.members) <= 8 {
		for i, m := range n.members {
			for _, earlier := range n.members[:i] {
				if earlier.key == m.key {
					twice(m, earlier.line)
					break
				}
			}
		}
		return
	}
	seen := make(map[string]int, len(n.members))
	for _, m := range n.members {
		if first, ok := seen[m.key]; ok {
			twice(m, first)
			continue
		}
		seen[m.key] = m.line
	}
}

func (c *checker) unknown(m member, s *schema) {
	if len(c.found) >= mostFaults || len(c.warned) >= mostFaults {
		return
	}
	near := nearest(m.key, s)
	message := "unknown field" + c.suggest(m.key, near, s)
	c.at.field(m.key)
	defer c.at.up()
	if c.lenient {
		path := c.at.String()
		c.warned = append(c.warned, Warning{Message: oneLine(path + ": " + message + "; ignored"), Field: path, Line: m.line})
		return
	}
	c.found = append(c.found, finding{reason: ReasonUnknownField, field: c.at.String(), message: message, line: m.line})
	if near != nil { // look on as if the name were right: all faults in one go
		c.at.up()
		c.at.field(near.name)
		c.check(m.value, near.schema)
	}
}

// wrongValue says why a value is none of the type, "" when it is.
func (c *checker) wrongValue(n *node, s *schema) string {
	switch s.shape {
	case structShape, mapShape:
		return c.mismatch(n, "a mapping")
	case listShape:
		return c.mismatch(n, "a list") + listHint(n)
	case stringShape:
		if n.kind != stringNode {
			return c.mismatch(n, "a string")
		}
	case boolShape:
		if n.kind != boolNode {
			return c.mismatch(n, "true or false")
		}
	case intShape:
		return c.wrongInt(n, s.bits)
	case floatShape:
		if n.kind != numberNode {
			return c.mismatch(n, "a number")
		}
	case intOrStringShape:
		if n.kind == numberNode {
			return c.wrongInt(n, 32)
		}
		if n.kind != stringNode {
			return c.mismatch(n, "a number or a name")
		}
	case quantityShape:
		return c.wrongQuantity(n)
	default:
		return c.wrongText(n, s.shape)
	}
	return ""
}

// mismatch words that a value is of another type. It shows the value, unless
// that may be a secret.
func (c *checker) mismatch(n *node, want string) string {
	got := n.kind.String()
	switch {
	case c.root == schemas[kindSecret] || n.text == "":
	case n.kind == stringNode:
		got += fmt.Sprintf(" (%q)", clip(n.text))
	case n.kind == boolNode || n.kind == numberNode:
		got += " (" + clip(n.text) + ")"
	}
	message := "wants " + want + ", got " + got
	if want == "a string" && n.plain && (n.kind == boolNode || n.kind == numberNode) {
		message += "; put it in quotes"
	}
	return message
}

func listHint(n *node) string {
	if n.kind == objectNode {
		return `; start each entry with "- "`
	}
	return ""
}

func (c *checker) wrongInt(n *node, bits int) string {
	if n.kind != numberNode {
		message := c.mismatch(n, "a whole number")
		if _, err := strconv.ParseInt(n.text, 10, bits); n.kind == stringNode && err == nil {
			message += "; take the quotes off"
		}
		return message
	}
	if _, err := strconv.ParseInt(n.text, 10, bits); err != nil {
		if strings.ContainsAny(n.text, ".eE") {
			return c.mismatch(n, "a whole number")
		}
		return clip(n.text) + " is out of range for " + strconv.Itoa(bits) + " bits"
	}
	return ""
}

func (c *checker) wrongQuantity(n *node) string {
	if n.kind != stringNode && n.kind != numberNode {
		return c.mismatch(n, "a quantity such as 500m or 64Mi")
	}
	if hugeExponent(n.text) {
		return fmt.Sprintf("%q is no sensible quantity; write it like 500m, 2, 64Mi or 1G", clip(n.text))
	}
	if _, err := resource.ParseQuantity(n.text); err != nil {
		return fmt.Sprintf("%q is no quantity; write it like 500m, 2, 64Mi or 1G", clip(n.text))
	}
	return ""
}

// mostExponent is far beyond any amount of anything on one machine.
const mostExponent = 30

// hugeExponent reports a quantity that upstream would parse and then compute
// for hours with, digit by digit: 1e999999999.
func hugeExponent(text string) bool {
	if len(text) > 64 {
		return true
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 || at+1 == len(text) {
		return false // E alone is a unit
	}
	exponent, err := strconv.Atoi(text[at+1:])
	return errors.Is(err, strconv.ErrRange) || err == nil && (exponent > mostExponent || exponent < -mostExponent)
}

// wrongText checks the types that are text of a certain form.
func (c *checker) wrongText(n *node, s shape) string {
	if n.kind != stringNode {
		return c.mismatch(n, "a string")
	}
	switch s {
	case bytesShape:
		if _, err := base64.StdEncoding.DecodeString(n.text); err != nil {
			return "is not base64; encode it, or use stringData of a Secret for plain text"
		}
	case timeShape:
		if _, err := time.Parse(time.RFC3339, n.text); err != nil {
			return fmt.Sprintf("%q is no time; write it like 2006-01-02T15:04:05Z", clip(n.text))
		}
	case durationShape:
		if _, err := time.ParseDuration(n.text); err != nil {
			return fmt.Sprintf("%q is no duration; write it like 1m30s", clip(n.text))
		}
	}
	return ""
}
