package sources

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/islet-run/islet/manifests"
)

// look brings what the source knows up to date and reports whether anything
// that an update tells is different.
func (f *File) look(now time.Time) (changed bool) {
	v := lookAt(f.cfg.Path, f.root)
	if v.fault == nil {
		v.fault = f.checkPermissions(v)
	}
	if v.fault != nil {
		return f.lose(v.fault)
	}
	f.links = v.links
	f.tellOthers(v.other)
	present, changed := f.readPaths(v.paths, now)
	for path, fl := range f.files {
		fl.here = present[path]
	}
	if v.root != f.root && f.standsApart(present) {
		p := &problem{reasonReplaced, fmt.Sprintf("%s is another directory than before and has no accepted document yet", f.cfg.Path)}
		return f.lose(p) || changed
	}
	if f.lost != nil {
		f.lost, changed = nil, true
	}
	if v.root != f.root {
		f.root, f.dirty.root = v.root, true
	}
	if len(f.foreign) > 0 {
		f.dropForeign()
		changed = true
	}
	return f.missing(present, now) || changed
}

// lose holds everything because the root cannot be trusted now.
func (f *File) lose(p *problem) (changed bool) {
	if f.lost != nil && *f.lost == *p {
		return false
	}
	if f.lost == nil {
		f.lostSeq = f.seq
	}
	f.lost = p
	for _, fl := range f.files {
		fl.gone = time.Time{} // nobody knows while the root is away
		fl.here = fl.here && p.reason == reasonReplaced
	}
	return true
}

// letGo ends the hold for Forget. What is still there is read anew.
func (f *File) letGo() {
	if f.lost == nil {
		return
	}
	for path := range f.files {
		f.dirty.drop[path] = true
		delete(f.files, path)
	}
	f.dropForeign()
	f.lost, f.root, f.dirty.root = nil, root{}, true
}

func (f *File) dropForeign() {
	for path := range f.foreign {
		f.dirty.drop[path] = true
	}
	clear(f.foreign)
}

// standsApart reports whether there is something to protect and nothing in the
// present files that shows that the new root is meant.
func (f *File) standsApart(present map[string]bool) bool {
	apart := len(f.foreign) > 0 && f.root.Kind != ""
	for path, fl := range f.files {
		if present[path] && fl.accepts() {
			return false
		}
		apart = apart || fl.good()
	}
	return apart
}

func (f *File) checkPermissions(v view) *problem {
	text := ""
	if v.mode.Perm()&0o022 != 0 {
		text = fmt.Sprintf("%s may be written by others (mode %#o): whoever can put a pod there is root here; chmod go-w it", f.cfg.Path, v.mode.Perm())
	}
	if text != "" && f.cfg.StrictPermissions {
		return &problem{reasonPermissions, text}
	}
	f.warnOnce("permissions", text, "manifests can be changed by others")
	return nil
}

// tellOthers names once what lies in the directory and is not read.
func (f *File) tellOthers(names []string) {
	seen := make(map[string]bool, len(names))
	var fresh []string
	for _, name := range names {
		seen[name] = true
		if !f.others[name] {
			fresh = append(fresh, name)
		}
	}
	f.others = seen
	if len(fresh) == 0 {
		return
	}
	f.log.Info().Strs("files", fresh[:min(len(fresh), 20)]).Int("count", len(fresh)).
		Msg("ignored: not .yaml, .yml or .json")
}

// readPaths reads every file that may have changed. present has the paths that
// are there.
func (f *File) readPaths(paths []string, now time.Time) (present map[string]bool, changed bool) {
	present = make(map[string]bool, len(paths))
	for _, path := range paths {
		present[path] = true
	}
	var away []*file // not in the list: perhaps under a new name
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		if !present[path] {
			away = append(away, f.files[path])
		}
	}
	for _, path := range paths {
		c, err := f.readPath(path, &away, now)
		if errors.Is(err, errVanished) {
			delete(present, path)
		}
		changed = changed || c
	}
	return present, changed
}

// readPath reads one file if it may have changed. It takes what it stood by
// out of away when the file has only got a new name.
func (f *File) readPath(path string, away *[]*file, now time.Time) (changed bool, err error) {
	fl := f.files[path]
	st, err := statFile(path)
	due := fl != nil && !fl.pending.IsZero() && now.Sub(fl.pending) >= f.cfg.RemovalDelay
	if err == nil && fl != nil && fl.known && fl.stamp == st && !due {
		changed, fl.gone = !fl.gone.IsZero(), time.Time{}
		return changed, nil
	}
	var data []byte
	if err == nil {
		data, st, err = readFile(path)
	}
	if errors.Is(err, errVanished) {
		return false, err
	}
	hash := ""
	if err == nil {
		hash = hashOf(data)
	}
	if fl == nil {
		fl, changed = f.adopt(path, st, hash, away), true
	}
	if !fl.gone.IsZero() {
		fl.gone, changed = time.Time{}, true
	}
	var bad *fault
	if errors.As(err, &bad) {
		return f.faulty(fl, st, bad.problem) || changed, nil
	}
	return f.readText(fl, st, hash, data, due, now) || changed, nil
}

// adopt makes the state of a path that is new: empty, or that of a file that
// has been renamed to it.
func (f *File) adopt(path string, st stamp, hash string, away *[]*file) *file {
	i := slices.IndexFunc(*away, func(a *file) bool { return a.stamp.sameFile(st) })
	if i < 0 && hash != "" && st.Size > 0 {
		i = slices.IndexFunc(*away, func(a *file) bool { return a.hash == hash })
	}
	fl := &file{path: path}
	if i >= 0 {
		fl = (*away)[i]
		*away = slices.Delete(*away, i, i+1)
		delete(f.files, fl.path)
		f.dirty.drop[fl.path] = true
		fl.path = path
	}
	f.files[path] = fl
	f.dirty.put[path] = true
	return fl
}

func (f *File) faulty(fl *file, st stamp, p problem) (changed bool) {
	if fl.fault != nil && *fl.fault == p {
		return false
	}
	if st != (stamp{}) {
		fl.stamp = st
	}
	fl.setFault(p, f.seq)
	f.dirty.put[fl.path] = true
	return true
}

// readText takes in the bytes of a file. due says that this is the second read
// of a text from which documents were taken out.
func (f *File) readText(fl *file, st stamp, hash string, data []byte, due bool, now time.Time) (changed bool) {
	same := fl.hash == hash && fl.fault == nil && fl.fresh
	if fl.stamp != st || fl.hash != hash {
		f.dirty.put[fl.path] = true
	}
	fl.stamp, fl.hash, fl.fault, fl.known = st, hash, nil, st.settled(now)
	if same {
		if due {
			fl.dropRemoved()
			f.dirty.put[fl.path] = true
		}
		return due
	}
	var pending bool
	docs := f.cfg.Decode(data, manifests.Options{Lenient: f.cfg.Lenient})
	fl.standing, pending = settle(fl.standing, docs, f.seq)
	fl.pending = time.Time{}
	if pending {
		fl.pending = now
	}
	fl.fresh = true
	f.dirty.put[fl.path] = true
	return true
}

// missing notes the files that are not there and removes those that have been
// missing for long enough.
func (f *File) missing(present map[string]bool, now time.Time) (changed bool) {
	for path, fl := range f.files {
		if present[path] {
			continue
		}
		switch {
		case !fl.good(), !fl.gone.IsZero() && now.Sub(fl.gone) >= f.cfg.RemovalDelay:
			delete(f.files, path)
			f.dirty.drop[path] = true
			changed = true
		case fl.gone.IsZero():
			fl.gone, fl.goneSeq = now, f.seq
			changed = true
		}
	}
	return changed
}

// nextRemoval fires when the first thing that is missing has been so for long
// enough; it is nil when nothing is.
func (f *File) nextRemoval(now time.Time) <-chan time.Time {
	var first time.Time
	for _, fl := range f.files {
		for _, since := range []time.Time{fl.gone, fl.pending} {
			if !since.IsZero() && (first.IsZero() || since.Before(first)) {
				first = since
			}
		}
	}
	if first.IsZero() || f.lost != nil {
		return nil
	}
	return time.After(max(first.Add(f.cfg.RemovalDelay).Sub(now), time.Millisecond))
}

// update is the whole set as it stands.
func (f *File) update() Update {
	u := Update{Source: SourceFile, Clean: f.lost == nil && len(f.foreign) == 0, Message: f.trouble}
	if f.lost != nil {
		u.Message = f.lost.message
	}
	for _, path := range slices.Sorted(maps.Keys(f.files)) {
		f.addFile(&u, f.files[path], f.overlay(f.files[path]))
	}
	for _, path := range slices.Sorted(maps.Keys(f.foreign)) {
		f.addFile(&u, f.foreign[path], &overlay{
			problem: problem{reasonPathChanged, "read from another path before; kept until the present one has been read"}, seq: f.lostSeq})
	}
	slices.SortStableFunc(u.Documents, func(a, b Document) int { return strings.Compare(a.Origin.Path, b.Origin.Path) })
	return u
}

// overlay is why all documents of a file are held.
type overlay struct {
	problem
	seq uint64
}

func (f *File) overlay(fl *file) *overlay {
	switch {
	case f.lost != nil && !fl.here:
		return &overlay{*f.lost, f.lostSeq}
	case !fl.gone.IsZero():
		return &overlay{problem{reasonRemoved, "file is gone; ends unless it comes back at once"}, fl.goneSeq}
	}
	return nil
}

func (f *File) addFile(u *Update, fl *file, over *overlay) {
	for i := range fl.standing {
		s := &fl.standing[i]
		if over != nil && s.rejected() {
			continue // its file is not there to be corrected
		}
		f.materialize(s)
		d := Document{
			Origin:   Origin{Source: SourceFile, Path: fl.path, Document: s.doc.Index, Line: s.line},
			Doc:      s.doc,
			LastGood: s.lastGood, Held: s.held, Reason: s.reason, Message: s.message, Changed: s.changed,
		}
		if over != nil {
			if !d.LastGood {
				d.Changed = over.seq
			}
			d.LastGood, d.Held, d.Reason, d.Message = true, true, over.reason, over.message
		}
		u.Clean = u.Clean && !s.rejected() && (!s.lastGood || s.removed)
		u.Documents = append(u.Documents, d)
	}
}

// materialize decodes a copy from the store when it is needed.
func (f *File) materialize(s *standing) {
	if s.doc.Object != nil || s.doc.Err != nil {
		return
	}
	docs := f.cfg.Decode(s.doc.Text, manifests.Options{Stored: true})
	if len(docs) != 1 || docs[0].Object == nil {
		r := &manifests.Rejection{Reason: reasonStored, Message: "the copy accepted earlier cannot be read back", Line: s.line}
		if len(docs) == 1 && docs[0].Err != nil {
			r.Message += ": " + docs[0].Err.Message
		}
		s.doc.Err, s.lastGood, s.held, s.reason, s.message = r, false, false, r.Reason, r.Message
		return
	}
	s.doc.Object = docs[0].Object
}
