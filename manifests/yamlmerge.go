package manifests

import "fmt"

// merge is a "<<" entry of a mapping.
type merge struct {
	value  *node
	line   int
	before int // members written before it
}

// merge adds what "<<" entries bring: a key that the mapping has itself wins,
// then the earlier of several merged mappings.
//
// The library behind the kubelet lets a "<<" that stands below a key overwrite
// it, the YAML specification does not. A mapping where that makes a difference
// is refused instead of running one of the two.
func (b *yamlBuilder) merge(n *node, merges []merge) *Rejection {
	if len(merges) == 0 {
		return nil
	}
	own := make(map[string]int, len(n.members))
	for i, m := range n.members {
		if _, twice := own[m.key]; !twice {
			own[m.key] = i
		}
	}
	taken := make(map[string]bool)
	for _, mg := range merges {
		parts, rej := mergeParts(mg)
		if rej != nil {
			return rej
		}
		for _, part := range parts {
			if b.merged += len(part.members); b.merged > maxAliasNodes {
				return nil // refused by the caller, which sees the count
			}
			for _, m := range part.members {
				if i, has := own[m.key]; has {
					if i < mg.before {
						return &Rejection{Reason: ReasonDuplicateKey, Line: mg.line, Field: m.key,
							Message: fmt.Sprintf("line %d: << would overwrite %s of line %d; put << first in the mapping", mg.line, clip(m.key), n.members[i].line)}
					}
					continue
				}
				if !taken[m.key] {
					taken[m.key] = true
					n.members = append(n.members, m)
				}
			}
		}
	}
	return nil
}

func mergeParts(mg merge) ([]*node, *Rejection) {
	parts := []*node{mg.value}
	if mg.value.kind == listNode {
		parts = mg.value.items
	}
	for _, p := range parts {
		if p.kind != objectNode {
			return nil, &Rejection{Reason: ReasonWrongType, Line: mg.line,
				Message: fmt.Sprintf("line %d: << takes a mapping or a list of mappings", mg.line)}
		}
	}
	return parts, nil
}
