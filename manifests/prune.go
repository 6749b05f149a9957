package manifests

import (
	"slices"
)

// What a manifest may carry without meaning: fields that an API server fills
// in. They are taken out of the text before anything else looks at it, so they
// are neither checked nor part of the digest. A reason makes it a warning:
// somebody may have written that field on purpose.
var (
	droppedRoot = map[string]string{
		"status": "",
	}
	droppedMeta = map[string]string{
		"creationTimestamp":          "",
		"generation":                 "",
		"managedFields":              "",
		"resourceVersion":            "",
		"selfLink":                   "",
		"uid":                        "not used: islet gives every instance an id of its own",
		"generateName":               "not used: names are taken as written",
		"deletionTimestamp":          "not used: take the document away to end the pod",
		"deletionGracePeriodSeconds": "not used: take the document away to end the pod",
		"finalizers":                 "not used: they need an API server",
		"ownerReferences":            "not used: they need an API server",
	}
	droppedAnnotations = map[string]string{
		"kubernetes.io/config.mirror": "not used: it marks the API server's copy of a pod",
		"kubernetes.io/config.hash":   "not used: islet sets it",
		"kubernetes.io/config.seen":   "not used: islet sets it",
		"kubernetes.io/config.source": "not used: islet sets it",
	}
	droppedPodSpec = map[string]string{
		"nodeName": "not used: pods of this file run on this machine",
	}
)

// pruner makes a copy of a document without the dropped fields. It copies only
// the mappings it changes: nodes are shared.
type pruner struct {
	warned []Warning
}

func (p *pruner) prune(kind string, root *node) *node {
	root = p.without(root, "", droppedRoot)
	root = p.change(root, "metadata", func(meta *node) *node {
		meta = p.without(meta, "metadata.", droppedMeta)
		return p.change(meta, "annotations", func(a *node) *node {
			return p.without(a, "metadata.annotations", droppedAnnotations)
		})
	})
	if kind == kindPod {
		root = p.change(root, "spec", func(spec *node) *node {
			return p.without(spec, "spec.", droppedPodSpec)
		})
	}
	return root
}

// without returns n less the given keys.
func (p *pruner) without(n *node, prefix string, drop map[string]string) *node {
	hit := func(m member) bool { _, is := drop[m.key]; return is }
	if !slices.ContainsFunc(n.members, hit) {
		return n
	}
	out := *n
	out.members = nil
	for _, m := range n.members {
		if !hit(m) {
			out.members = append(out.members, m)
			continue
		}
		if why := drop[m.key]; why != "" && m.value.kind != nullNode {
			path := prefix + m.key
			if prefix == "metadata.annotations" {
				path = prefix + "[" + m.key + "]"
			}
			p.warned = append(p.warned, Warning{Message: path + ": " + why, Field: path, Line: m.line})
		}
	}
	return &out
}

// change returns n with the mapping at a key replaced.
func (p *pruner) change(n *node, key string, f func(*node) *node) *node {
	for i, m := range n.members {
		if m.key != key || m.value.kind != objectNode {
			continue
		}
		value := f(m.value)
		if value == m.value {
			continue
		}
		out := *n
		out.members = slices.Clone(n.members)
		out.members[i].value = value
		n = &out
	}
	return n
}
