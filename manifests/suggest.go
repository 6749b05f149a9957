package manifests

import (
	"fmt"
	"strings"
)

// suggest words what an unknown key of a struct was probably meant to be: a
// neighbour spelled much like it, or the field of that name elsewhere in the
// object. "" when nothing comes near.
func (c *checker) suggest(key string, near *property, s *schema) string {
	if near != nil {
		return "; did you mean " + c.sibling(near.name) + "?"
	}
	if path := c.elsewhere(key); path != "" {
		return "; did you mean " + path + "?"
	}
	if len(s.fields) > 0 && len(s.fields) <= 8 {
		names := make([]string, len(s.fields))
		for i, f := range s.fields {
			names[i] = f.name
		}
		return "; known here: " + strings.Join(names, ", ")
	}
	return ""
}

func (c *checker) sibling(name string) string {
	c.at.field(name)
	defer c.at.up()
	return c.at.String()
}

// nearest returns the field of a struct that is spelled most like key.
func nearest(key string, s *schema) *property {
	var found *property
	best := 0
	for i := range s.fields {
		f := &s.fields[i]
		d := distance(strings.ToLower(key), strings.ToLower(f.name))
		// One slip in three letters, at least one; a short name may differ by
		// its plural or a letter, not become another word.
		if d > max(1, min(len(key), len(f.name))/3) {
			continue
		}
		if found == nil || d < best {
			best, found = d, f
		}
	}
	return found
}

// elsewhere looks for a field of this name in the whole object and returns the
// path of the place nearest to where the key stands: the one that leaves the
// current path last, then the one that is shallowest.
func (c *checker) elsewhere(key string) string {
	type spot struct {
		steps  []step
		schema *schema
	}
	var best []step
	bestShared := -1
	queue := []spot{{schema: c.root}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		s := at.schema
		for s.shape == listShape {
			at.steps = append(at.steps[:len(at.steps):len(at.steps)], step{kind: indexStep, index: -1})
			s = s.elem
		}
		if s.shape != structShape || len(at.steps) > 8 {
			continue
		}
		for _, f := range s.fields {
			if f.name == "status" && len(at.steps) == 0 {
				continue
			}
			steps := append(at.steps[:len(at.steps):len(at.steps)], step{name: f.name})
			if strings.EqualFold(f.name, key) {
				if shared := c.shared(steps); shared > bestShared {
					best, bestShared = steps, shared
				}
			}
			queue = append(queue, spot{steps: steps, schema: f.schema})
		}
	}
	return c.located(best)
}

// shared counts the steps that a path has in common with the current place.
func (c *checker) shared(steps []step) int {
	n := 0
	for n < len(steps) && n < len(c.at.steps) && steps[n].kind == c.at.steps[n].kind && steps[n].name == c.at.steps[n].name {
		n++
	}
	return n
}

// located fills in the indexes of the lists that the walk is in.
func (c *checker) located(steps []step) string {
	shared := c.shared(steps)
	out := append([]step(nil), steps...)
	copy(out[:shared], c.at.steps[:shared])
	return pathString(out)
}

// distance counts the letters to insert, drop, change or swap to make b of a.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

// nearKind returns the supported kind that a word was probably meant to be.
func nearKind(kind string) string {
	for _, k := range []string{kindPod, kindConfigMap, kindSecret, kindClaim, "List"} {
		if distance(strings.ToLower(kind), strings.ToLower(k)) <= max(1, len(k)/4) {
			return k
		}
	}
	return ""
}

// notRunHere is the verdict on an object of a kind that islet leaves alone.
func notRunHere(kind string, line int) string {
	return fmt.Sprintf("kind %s is not run here; line %d; islet runs %s", clip(kind), line, kindsInWords)
}
