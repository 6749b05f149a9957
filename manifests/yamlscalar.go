package manifests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// scalar fills n from a YAML scalar with the meaning it has for Kubernetes:
// YAML 1.1, where yes, no, on and off are booleans and 010 is 8. Common forms
// are read here, all others by the library Kubernetes reads them with.
func scalar(n *node, y *yaml.Node) *Rejection {
	tagged := y.Style&yaml.TaggedStyle != 0
	n.plain = y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch {
	case !tagged && !n.plain, !tagged && !ambiguous(y.Value):
		n.kind, n.text = stringNode, y.Value
		return nil
	case !tagged && plainInt(y.Value):
		n.kind, n.text = numberNode, y.Value
		return nil
	case !tagged && (y.Value == "true" || y.Value == "false"):
		n.kind, n.text = boolNode, y.Value
		return nil
	case !tagged && (y.Value == "" || y.Value == "null"):
		n.kind, n.text = nullNode, y.Value
		return nil
	}
	text := y.Value
	if tagged {
		text = y.Tag + " " + strconv.Quote(y.Value)
	}
	return resolve(n, text)
}

// words are the plain scalars that YAML 1.1 gives a meaning, whatever their
// case: the library decides which spellings count.
var words = []string{"~", "y", "n", "on", "no", "off", "yes", "true", "null", "false"}

// ambiguous: a plain scalar may be something other than a string.
func ambiguous(s string) bool {
	if s == "" {
		return true
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
		return !strings.ContainsAny(s, " \n\t")
	case c == '<':
		return s == "<<"
	}
	return len(s) <= len("false") && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(s, w) })
}

// plainInt: the decimal form that YAML and JSON share.
func plainInt(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && s != "0" {
		return false
	}
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// resolve asks the YAML library of Kubernetes what a scalar is in JSON.
func resolve(n *node, text string) *Rejection {
	// As the value of a key: at the top of a text "---" would be a marker.
	out, err := sigsyaml.YAMLToJSON([]byte("v: " + text))
	if err == nil {
		lit := strings.TrimSuffix(strings.TrimPrefix(string(out), `{"v":`), "}")
		switch {
		case lit == "":
			err = fmt.Errorf("it is empty")
		case lit == "null":
			n.kind, n.text = nullNode, text
			return nil
		case lit == "true", lit == "false":
			n.kind, n.text = boolNode, lit
			return nil
		case lit[0] == '"':
			s, uerr := unquoteJSON(lit)
			if uerr == nil {
				n.kind, n.text = stringNode, s
				return nil
			}
			err = uerr
		case lit[0] == '-' || lit[0] >= '0' && lit[0] <= '9':
			n.kind, n.text = numberNode, lit
			return nil
		default:
			err = fmt.Errorf("it is no scalar")
		}
	}
	cause := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "yaml: ")
	return &Rejection{Reason: ReasonWrongType, Line: n.line,
		Message: oneLine(fmt.Sprintf("line %d: %s has no meaning here: %s; put it in quotes if it is text", n.line, clip(text), clip(cause)))}
}
