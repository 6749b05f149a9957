package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
)

const tooManyDocuments = "file has more than 20000 documents and list items; split it"

// Decode reads all documents of a file. It never panics, is bounded in time
// and memory, and returns at least one Document: for a text without any
// document that one is rejected.
//
// An explicit empty list ("items: []") is one accepted Document of that list's
// kind without Object: the only way in which a text says that it wants nothing.
// data is not changed and not kept.
func Decode(data []byte, opts Options) []Document {
	if rej := unreadable(data); rej != nil {
		return []Document{{Index: 1, Line: 1, Err: rej}}
	}
	d := decoder{opts: opts}
	for _, s := range split(normalise(data)) {
		d.segment(s)
		if d.over || len(d.docs) > maxDocuments {
			return []Document{{Index: 1, Line: 1, Err: &Rejection{Reason: ReasonTooLarge, Line: 1, Message: tooManyDocuments}}}
		}
	}
	if len(d.docs) == 0 {
		return []Document{{Index: 1, Line: 1, Err: &Rejection{Reason: ReasonEmpty, Line: 1,
			Message: "file holds no document; write a Pod into it, or delete it to say that nothing shall run"}}}
	}
	return d.docs
}

// unreadable judges the bytes of a file as a whole.
func unreadable(data []byte) *Rejection {
	switch {
	case len(data) >= sizeLimit:
		return &Rejection{Reason: ReasonTooLarge, Line: 1,
			Message: fmt.Sprintf("file has 10 MiB or more (limit is %d bytes); split it", sizeLimit-1)}
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return &Rejection{Reason: ReasonBinary, Line: 1, Message: "file is UTF-16 text; save it as UTF-8"}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return &Rejection{Reason: ReasonBinary, Line: 1,
			Message: fmt.Sprintf("file is binary (a zero byte at offset %d), not YAML or JSON", i)}
	}
	return nil
}

// decoder collects the documents of one file.
type decoder struct {
	opts  Options
	index int // of the current YAML document
	docs  []Document
	over  bool // too many documents
}

// segment reads the documents between two markers: one of YAML, or several
// JSON values.
func (d *decoder) segment(s segment) {
	if i := invalidUTF8(s.text); i >= 0 {
		line := s.line + bytes.Count(s.text[:i], []byte("\n"))
		d.index++
		d.reject(s.contentLine(), &Rejection{Reason: ReasonInvalidYAML, Line: line,
			Message: fmt.Sprintf("line %d: text is not UTF-8", line)})
		return
	}
	roots, err := parseJSON(s)
	if err != nil {
		var rej *Rejection
		if !errors.As(err, &rej) {
			var root *node
			if root, rej = parseYAML(s); rej == nil {
				roots = []*node{root}
			}
		}
		if rej != nil {
			d.index++
			d.reject(s.contentLine(), rej)
			return
		}
	}
	for _, root := range roots {
		if root == nil || root.kind == nullNode {
			continue
		}
		d.index++
		d.root(root)
	}
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// reject adds a document of which only the place is known.
func (d *decoder) reject(line int, rej *Rejection) {
	d.docs = append(d.docs, Document{Index: d.index, Line: line, Err: rej})
}

// root reads one document: an object, or a list of them.
func (d *decoder) root(root *node) {
	doc := d.describe(root, "", "")
	if doc.Err == nil && isList(doc.Kind, doc.APIVersion) {
		d.list(root, doc)
		return
	}
	d.docs = append(d.docs, d.object(root, doc))
}

// describe names a document as far as its text does, and refuses what is no
// object of a kind that islet knows. kind and apiVersion stand in for what a
// typed list may leave out.
func (d *decoder) describe(root *node, kind, apiVersion string) Document {
	doc := Document{Index: d.index, Line: root.line, Kind: kind, APIVersion: apiVersion}
	if root.kind != objectNode {
		doc.Err = &Rejection{Reason: ReasonInvalidYAML, Line: root.line,
			Message: fmt.Sprintf("document is %s, not a mapping with apiVersion, kind and metadata; is it cut off?", root.kind)}
		return doc
	}
	if s := root.str("kind"); s != "" {
		doc.Kind = s
	}
	if s := root.str("apiVersion"); s != "" {
		doc.APIVersion = s
	}
	doc.Name = root.str("metadata", "name")
	doc.Namespace = root.str("metadata", "namespace")
	doc.Err = judgeKind(doc, root)
	if doc.Namespace == "" && schemas[doc.Kind] != nil {
		doc.Namespace = v1.NamespaceDefault
	}
	return doc
}

func judgeKind(doc Document, root *node) *Rejection {
	line := root.lineAt("kind")
	known := schemas[doc.Kind] != nil || isList(doc.Kind, supportedAPI)
	switch {
	case doc.Kind == "":
		return &Rejection{Reason: ReasonMissingKind, Field: "kind", Line: line,
			Message: "kind is missing; islet runs " + kindsInWords + " of apiVersion v1"}
	case doc.APIVersion == "":
		return &Rejection{Reason: ReasonMissingKind, Field: "apiVersion", Line: root.lineAt("apiVersion"),
			Message: "apiVersion is missing; write apiVersion: v1"}
	case known && doc.APIVersion != supportedAPI:
		return &Rejection{Reason: ReasonInvalidKind, Field: "apiVersion", Line: root.lineAt("apiVersion"),
			Message: oneLine(fmt.Sprintf("apiVersion: there is no %s of %q; write apiVersion: v1", doc.Kind, clip(doc.APIVersion)))}
	case known:
		return nil
	}
	if near := nearKind(doc.Kind); near != "" && doc.APIVersion == supportedAPI {
		return &Rejection{Reason: ReasonInvalidKind, Field: "kind", Line: line,
			Message: oneLine(fmt.Sprintf("kind %s is not known; did you mean %s?", clip(doc.Kind), near))}
	}
	return &Rejection{Reason: ReasonUnsupportedKind, Field: "kind", Line: line, Message: oneLine(notRunHere(doc.Kind, line))}
}

// isList: a List, or the typed list of a supported kind.
func isList(kind, apiVersion string) bool {
	item, ok := strings.CutSuffix(kind, "List")
	return ok && apiVersion == supportedAPI && (item == "" || schemas[item] != nil)
}

// list reads the items of a list, each a Document of its own.
func (d *decoder) list(root *node, doc Document) {
	doc.Namespace, doc.Name = "", ""
	refuse := func(reason, field, message string) {
		doc.Err = &Rejection{Reason: reason, Field: field, Line: root.lineAt(field), Message: oneLine(field + ": " + message)}
		d.docs = append(d.docs, doc)
	}
	for i, m := range root.members {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "items"}, m.key) {
			refuse(ReasonUnknownField, m.key, "unknown field of a "+doc.Kind+"; known here: apiVersion, items, kind, metadata")
			return
		}
		if slices.ContainsFunc(root.members[:i], func(o member) bool { return o.key == m.key }) {
			refuse(ReasonDuplicateKey, m.key, "key is given twice; remove one")
			return
		}
	}
	items := root.get("items")
	switch {
	case items == nil || items.kind == nullNode && items.text == "":
		refuse(ReasonInvalid, "items", "is missing; write items: [] if the list shall be empty")
		return
	case items.kind != listNode && items.kind != nullNode:
		refuse(ReasonWrongType, "items", new(checker).mismatch(items, "a list"))
		return
	}
	if len(items.items) == 0 {
		d.docs = append(d.docs, doc)
		return
	}
	if d.over = len(d.docs)+len(items.items) > maxDocuments; d.over {
		return
	}
	kind, api := strings.TrimSuffix(doc.Kind, "List"), ""
	if kind != "" {
		api = supportedAPI
	}
	for i, it := range items.items {
		item := d.describe(it, kind, api)
		item.Item = i + 1
		if item.Err == nil && isList(item.Kind, item.APIVersion) {
			item.Err = &Rejection{Reason: ReasonInvalid, Line: item.Line, Message: "a list inside a list; put its items into the outer one"}
		}
		if item.Err == nil && kind != "" && item.Kind != kind {
			item.Err = &Rejection{Reason: ReasonInvalidKind, Field: "kind", Line: it.lineAt("kind"),
				Message: fmt.Sprintf("kind %s does not belong into a %s; use kind: List", item.Kind, doc.Kind)}
		}
		d.docs = append(d.docs, d.object(it, item))
	}
}

// object reads a document that describe found to be of a supported kind.
func (d *decoder) object(root *node, doc Document) (out Document) {
	if doc.Err != nil {
		return doc
	}
	// Upstream's conversion and validation are large; a slip in them must cost
	// one document, not the daemon.
	defer func() {
		if p := recover(); p != nil {
			doc.Object, doc.Text, doc.Digest = nil, nil, ""
			doc.Err = &Rejection{Reason: ReasonInternal, Line: doc.Line,
				Message: oneLine(clip(fmt.Sprintf("document cannot be judged, please report it: %v", p)))}
			out = doc
		}
	}()
	p := pruner{}
	root = typed(p.prune(doc.Kind, root), doc)
	c := checker{root: schemas[doc.Kind], lenient: d.opts.Lenient || d.opts.Stored}
	c.check(root, c.root)
	if doc.Err = rejectionOf(c.found); doc.Err != nil {
		return doc
	}
	text := appendJSON(make([]byte, 0, root.bytes+8*root.count), root, c.root)
	obj, err := decodeObject(doc.Kind, text)
	if err != nil {
		doc.Err = &Rejection{Reason: ReasonWrongType, Line: doc.Line, Message: oneLine(err.Error())}
		return doc
	}
	doc.Namespace, doc.Name = obj.GetNamespace(), obj.GetName()
	if doc.Err = d.judge(obj, root); doc.Err != nil {
		return doc
	}
	doc.Warnings = append(p.warned, c.warned...)
	if pod, ok := obj.(*v1.Pod); ok && !d.opts.Stored {
		doc.Warnings = append(doc.Warnings, lint(pod, root)...)
	}
	doc.Object, doc.Text, doc.Digest = obj, text, digest(text)
	return doc
}

// judge says why an object that its text describes well is not run. What was
// accepted before is not judged again: rules of another version must not end a
// running pod.
func (d *decoder) judge(obj object, root *node) *Rejection {
	if d.opts.Stored {
		if obj.GetName() == "" {
			return &Rejection{Reason: ReasonInvalid, Field: "metadata.name", Line: root.line, Message: "metadata.name: is missing"}
		}
		return nil
	}
	found, err := validate(obj, root)
	if err != nil {
		return &Rejection{Reason: ReasonInternal, Line: root.line, Message: oneLine(err.Error())}
	}
	if pod, ok := obj.(*v1.Pod); ok {
		found = append(found, refuse(pod, root)...)
	}
	return rejectionOf(found)
}

// typed writes apiVersion and kind into an item that left them to its list.
func typed(root *node, doc Document) *node {
	if root.str("kind") != "" && root.str("apiVersion") != "" {
		return root
	}
	out := *root
	out.members = slices.DeleteFunc(slices.Clone(root.members), func(m member) bool {
		return m.key == "kind" && root.str("kind") == "" || m.key == "apiVersion" && root.str("apiVersion") == ""
	})
	for key, value := range map[string]string{"kind": doc.Kind, "apiVersion": doc.APIVersion} {
		if root.str(key) == "" {
			out.members = append(out.members, member{key: key, line: root.line, value: &node{kind: stringNode, line: root.line, text: value}})
		}
	}
	return &out
}
