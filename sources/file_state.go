package sources

import (
	"time"

	"github.com/islet-run/islet/manifests"
)

// file is what the source knows of one manifest file.
type file struct {
	path  string
	stamp stamp
	// known: the stamp is of the bytes that hash is of, and they were decoded;
	// while it stays the same the file is not opened.
	known bool
	hash  string // of the bytes decoded last
	fault *problem
	// fresh: decoded by this process; false for what came from the store.
	fresh bool
	// standing is what the source stands by, in order.
	standing []standing
	// gone is since when the file is missing; zero while it is there.
	gone    time.Time
	goneSeq uint64
	// here: listed at the last look, if that look could list.
	here bool
	// pending is since when documents are missing from the text; zero when
	// none is.
	pending time.Time
}

// standing is one document that the source stands by: accepted now, the copy
// accepted earlier, or rejected without one.
type standing struct {
	doc manifests.Document // without Object when it comes from the store and was not needed yet
	// edited is when the document got its present text; changed is what
	// Document.Changed tells.
	edited, changed uint64
	lastGood, held  bool
	// removed: missing from a text that is otherwise good.
	removed         bool
	reason, message string
	line            int // of the document that it stands in for
}

func (s *standing) rejected() bool { return s.doc.Err != nil }

type docKey struct{ kind, namespace, name string }

func keyOf(d *manifests.Document) docKey { return docKey{d.Kind, d.Namespace, d.Name} }

// settle finds out what to stand by when the text of a file has become decoded
// and old is what it stood by before. seq and now are of this look. pending
// reports whether some document waits for its removal.
//
// It is where "last good wins" is decided within a file: a rejected document
// is stood in for by the copy accepted earlier, found by name, else by
// position; and while any document is rejected none is removed.
func settle(old []standing, decoded []manifests.Document, seq uint64) (next []standing, pending bool) {
	m := newMatcher(old)
	next = make([]standing, len(decoded), len(decoded)+1)
	faulty := false
	// The accepted ones take their names first, so that no rejected one takes
	// an accepted copy that has a successor.
	for i := range decoded {
		d := &decoded[i]
		if d.Err != nil {
			faulty = faulty || d.Err.Reason != reasonUnsupported
			continue
		}
		next[i] = standing{doc: *d, edited: seq, changed: seq, line: d.Line}
		if was := m.byName(d); was != nil && was.doc.Digest == d.Digest {
			next[i].edited, next[i].changed = was.edited, was.edited
		}
	}
	for i := range decoded {
		d := &decoded[i]
		if d.Err == nil {
			continue
		}
		was := m.standIn(d)
		if was == nil {
			next[i] = standing{doc: *d, edited: seq, changed: seq, line: d.Line, reason: d.Err.Reason, message: d.Err.Message}
			continue
		}
		next[i] = keep(was, seq)
		next[i].line, next[i].reason, next[i].message = lineOf(d), d.Err.Reason, d.Err.Message
	}
	next = dropEmpty(next)
	for _, was := range m.left() {
		s := keep(was, seq)
		s.held = true
		if faulty {
			s.reason, s.message = reasonFileFaulty, "not in the file any more; kept while another document of the file is rejected"
		} else {
			s.removed, pending = true, true
			s.reason, s.message = reasonRemoved, "taken out of the file; ends unless it comes back at once"
		}
		next = append(next, s)
	}
	return next, pending
}

// keep returns the accepted copy was as a last good one.
func keep(was *standing, seq uint64) standing {
	s := standing{doc: was.doc, edited: was.edited, changed: seq, lastGood: true, line: was.line}
	if was.lastGood {
		s.changed = was.changed // bad since then
	}
	return s
}

func lineOf(d *manifests.Document) int {
	if d.Err != nil && d.Err.Line > 0 {
		return d.Err.Line
	}
	return d.Line
}

// dropEmpty drops what is neither object nor rejection, such as an empty List.
func dropEmpty(all []standing) []standing {
	kept := all[:0]
	for _, s := range all {
		if s.doc.Object != nil || s.doc.Err != nil || len(s.doc.Text) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// matcher hands out each accepted copy of a file once.
type matcher struct {
	old  []standing
	used []bool
	name map[docKey][]int
}

func newMatcher(old []standing) *matcher {
	m := &matcher{old: old, used: make([]bool, len(old)), name: make(map[docKey][]int, len(old))}
	for i := range old {
		if old[i].rejected() {
			m.used[i] = true
			continue
		}
		key := keyOf(&old[i].doc)
		m.name[key] = append(m.name[key], i)
	}
	return m
}

func (m *matcher) take(i int) *standing {
	m.used[i] = true
	return &m.old[i]
}

func (m *matcher) byName(d *manifests.Document) *standing {
	for _, i := range m.name[keyOf(d)] {
		if !m.used[i] {
			return m.take(i)
		}
	}
	return nil
}

// standIn finds the copy that stands in for a rejected document: the one with
// its name, else the one that stood where it stands. A document of a kind that
// islet does not run is taken for a mistyped one only under the same name.
func (m *matcher) standIn(d *manifests.Document) *standing {
	if d.Name != "" {
		if was := m.byName(d); was != nil {
			return was
		}
	}
	for i := range m.old {
		o := &m.old[i].doc
		if m.used[i] || o.Index != d.Index || o.Item != d.Item {
			continue
		}
		if d.Err.Reason == reasonUnsupported && (o.Name != d.Name || o.Namespace != d.Namespace && d.Namespace != "") {
			continue
		}
		return m.take(i)
	}
	return nil
}

func (m *matcher) left() []*standing {
	var left []*standing
	for i := range m.old {
		if !m.used[i] {
			left = append(left, m.take(i))
		}
	}
	return left
}

// setFault makes the whole file unreadable: what it stood by stays.
func (fl *file) setFault(p problem, seq uint64) {
	fl.fault, fl.known, fl.pending = &p, false, time.Time{}
	var next []standing
	for i := range fl.standing {
		if was := &fl.standing[i]; !was.rejected() {
			s := keep(was, seq)
			s.reason, s.message = p.reason, p.message
			next = append(next, s)
		}
	}
	if len(next) == 0 {
		d := manifests.Document{Index: 1, Line: 1, Err: &manifests.Rejection{Reason: p.reason, Message: p.message, Line: 1}}
		next = []standing{{doc: d, edited: seq, changed: seq, line: 1, reason: p.reason, message: p.message}}
	}
	fl.standing = next
}

// dropRemoved ends the wait of the documents that are missing from the text.
func (fl *file) dropRemoved() {
	kept := fl.standing[:0]
	for _, s := range fl.standing {
		if !s.removed {
			kept = append(kept, s)
		}
	}
	clear(fl.standing[len(kept):])
	fl.standing, fl.pending = kept, time.Time{}
}

// good reports whether there is an accepted copy to protect.
func (fl *file) good() bool {
	for i := range fl.standing {
		if !fl.standing[i].rejected() {
			return true
		}
	}
	return false
}

// accepts reports whether the newest text has an accepted document.
func (fl *file) accepts() bool {
	for i := range fl.standing {
		if s := &fl.standing[i]; !s.rejected() && !s.lastGood {
			return true
		}
	}
	return false
}
