package manifests

import (
	"strconv"
	"strings"
)

// place is where a walk is in an object. It is written out only for a fault.
type place struct {
	steps []step
}

type step struct {
	name  string // field, or key of a map
	index int    // of a list
	kind  stepKind
}

type stepKind uint8

const (
	fieldStep stepKind = iota
	keyStep
	indexStep
)

func (p *place) field(name string) { p.steps = append(p.steps, step{name: name}) }
func (p *place) key(name string)   { p.steps = append(p.steps, step{name: name, kind: keyStep}) }
func (p *place) index(i int)       { p.steps = append(p.steps, step{index: i, kind: indexStep}) }
func (p *place) up()               { p.steps = p.steps[:len(p.steps)-1] }

// String writes the path the way Kubernetes does: spec.containers[0].image,
// metadata.labels[app].
func (p *place) String() string { return pathString(p.steps) }

func pathString(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch s.kind {
		case fieldStep:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(clip(s.name))
		case keyStep:
			b.WriteString("[" + clip(s.name) + "]")
		case indexStep:
			if s.index < 0 {
				b.WriteString("[]")
			} else {
				b.WriteString("[" + strconv.Itoa(s.index) + "]")
			}
		}
	}
	return b.String()
}
