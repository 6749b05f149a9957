package sources

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/islet-run/islet/manifests"
	"github.com/islet-run/islet/store"
)

const recordVersion = 1

// rootName is the name under which the identity of the root is kept; names of
// files are absolute paths.
const rootName = "root"

// rootRecord is what is stored of the root.
type rootRecord struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Root    root   `json:"root"`
}

// fileRecord is what is stored of one manifest file: the texts accepted last,
// and what the file looked like, to know it again under another name.
type fileRecord struct {
	Version   int         `json:"version"`
	Root      string      `json:"root"` // FileConfig.Path
	Stamp     stamp       `json:"stamp"`
	Hash      string      `json:"hash,omitempty"`
	Documents []docRecord `json:"documents"`
}

type docRecord struct {
	Index      int             `json:"index"`
	Item       int             `json:"item,omitempty"`
	Line       int             `json:"line"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Digest     string          `json:"digest"`
	Edited     uint64          `json:"edited"`
	Changed    uint64          `json:"changed"`
	LastGood   bool            `json:"lastGood,omitempty"`
	Text       json.RawMessage `json:"text"`
}

// dirty is what the store does not know yet.
type dirty struct {
	put  map[string]bool // paths
	drop map[string]bool
	root bool
}

func (d *dirty) any() bool { return d.root || len(d.put) > 0 || len(d.drop) > 0 }

// load reads what was accepted before the restart.
func (f *File) load() error {
	bad, err := f.records.Each(func(name string, value []byte) error {
		if name == rootName {
			return f.loadRoot(value)
		}
		return f.loadFile(name, value)
	})
	if err != nil {
		return fmt.Errorf("read accepted documents: %w", err)
	}
	for _, b := range bad {
		f.log.Warn().Err(b).Msg("a stored document is lost")
	}
	return nil
}

func (f *File) loadRoot(value []byte) error {
	var r rootRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	if r.Path == f.cfg.Path {
		f.root = r.Root
	}
	return nil
}

func (f *File) loadFile(path string, value []byte) error {
	var r fileRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	fl := &file{path: path, stamp: r.Stamp, hash: r.Hash}
	for _, d := range r.Documents {
		f.seq = max(f.seq, d.Edited, d.Changed)
		fl.standing = append(fl.standing, standing{
			doc: manifests.Document{
				Index: d.Index, Item: d.Item, Line: d.Line, APIVersion: d.APIVersion, Kind: d.Kind,
				Namespace: d.Namespace, Name: d.Name, Digest: d.Digest, Text: d.Text,
			},
			edited: d.Edited, changed: d.Changed, lastGood: d.LastGood, line: d.Line,
		})
	}
	// A file that is still meant keeps its state when the configured path goes
	// from its directory to the file or back.
	if r.Root == f.cfg.Path || path == f.cfg.Path || filepath.Dir(path) == f.cfg.Path {
		f.files[path] = fl
	} else {
		f.foreign[path] = fl
	}
	return nil
}

// job is one write to the store, with all that it needs: it runs beside Run.
type job struct {
	put  map[string]any
	drop []string
	err  error
}

func (j *job) run(records *store.Collection) {
	// New before old: a renamed file is never without its record.
	if j.err = records.PutAll(j.put); j.err == nil {
		j.err = records.DeleteAll(j.drop)
	}
}

// flushBeside writes what is dirty while Run goes on, unless it is being
// written already.
func (f *File) flushBeside() {
	if f.writing != nil || !f.dirty.any() {
		return
	}
	j, done := f.takeDirty(), make(chan *job, 1)
	f.writing = done
	go func() {
		j.run(f.records)
		done <- j
	}()
}

// flush writes what is dirty and waits until it is on the disk.
func (f *File) flush() {
	if f.writing != nil {
		f.wrote(<-f.writing)
	}
	if f.dirty.any() {
		j := f.takeDirty()
		j.run(f.records)
		f.wrote(j)
	}
}

// wrote takes in the end of a write. What could not be written is dirty again,
// is told of, and is tried again with the next attempt.
func (f *File) wrote(j *job) {
	f.writing = nil
	if j.err == nil {
		f.trouble = ""
		f.warnOnce("store", "", "")
		return
	}
	for name := range j.put {
		if name == rootName {
			f.dirty.root = true
		} else {
			f.dirty.put[name] = true
		}
	}
	for _, path := range j.drop {
		f.dirty.drop[path] = true
	}
	f.trouble = fmt.Sprintf("cannot keep what was accepted: %v", j.err)
	f.warnOnce("store", j.err.Error(), "cannot keep what was accepted; a restart would not know it")
}

// takeDirty makes a job of what is dirty.
func (f *File) takeDirty() *job {
	j := &job{put: make(map[string]any, len(f.dirty.put))}
	for path := range f.dirty.put {
		if r := f.record(f.files[path]); len(r.Documents) > 0 {
			j.put[path] = r
		} else {
			f.dirty.drop[path] = true
		}
	}
	if f.dirty.root {
		j.put[rootName] = rootRecord{Version: recordVersion, Path: f.cfg.Path, Root: f.root}
	}
	for path := range f.dirty.drop {
		if _, kept := j.put[path]; !kept {
			j.drop = append(j.drop, path)
		}
	}
	clear(f.dirty.put)
	clear(f.dirty.drop)
	f.dirty.root = false
	return j
}

// record is what is stored of a file; without documents when that is nothing.
func (f *File) record(fl *file) fileRecord {
	if fl == nil {
		return fileRecord{} // gone again
	}
	r := fileRecord{Version: recordVersion, Root: f.cfg.Path, Stamp: fl.stamp, Hash: fl.hash}
	for i := range fl.standing {
		s := &fl.standing[i]
		// A copy that today's code cannot read back is kept: the next may.
		if s.rejected() && s.reason != reasonStored || len(s.doc.Text) == 0 {
			continue
		}
		r.Documents = append(r.Documents, docRecord{
			Index: s.doc.Index, Item: s.doc.Item, Line: s.line, APIVersion: s.doc.APIVersion, Kind: s.doc.Kind,
			Namespace: s.doc.Namespace, Name: s.doc.Name, Digest: s.doc.Digest,
			Edited: s.edited, Changed: s.changed, LastGood: s.lastGood, Text: s.doc.Text,
		})
	}
	return r
}
