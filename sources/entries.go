package sources

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/types"
)

// Verdicts of a document.
const (
	Accepted = "accepted"
	// Rejected: the text is at fault. With lastGood, the copy accepted earlier
	// stands in.
	Rejected = "rejected"
	// Conflict: the text is good, but another document holds the name.
	Conflict = "conflict"
	// Held: the document is out of reach, what it said last stands.
	Held = "held"
)

// Entry is the standing verdict on one document, or with Document 0 on a
// source as a whole. It is an item of GET /manifests.
type Entry struct {
	Source    string    `json:"source"`
	Path      string    `json:"path,omitempty"`
	Document  int       `json:"document"`
	Line      int       `json:"line"`
	Kind      string    `json:"kind,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	Verdict   string    `json:"verdict"`
	LastGood  bool      `json:"lastGood"` // the copy accepted earlier is in force
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	Digest    string    `json:"digest,omitempty"` // keyed per installation
	Since     time.Time `json:"since"`            // of this verdict, in this run of islet
	Pod       *EntryPod `json:"pod,omitempty"`
}

// EntryPod says what became of a document that is a pod.
type EntryPod struct {
	UID   types.UID `json:"uid"`
	Phase string    `json:"phase,omitempty"` // filled in by whoever knows it
}

// entryID finds the same document again in the next merge: by name, else by
// position.
type entryID struct {
	source, path          string
	kind, namespace, name string
	n                     int // position, or number among those of one name in one file
}

// verdict is what was logged of a document last.
type verdict struct {
	said  said
	since time.Time
	round uint64
}

type said struct {
	verdict, reason, message string
	lastGood                 bool
}

// Entries is the standing table: every document of every source in the order
// of a snapshot, after one entry for each source that has trouble. The caller
// owns the result.
func (p *PodConfig) Entries() []Entry {
	p.mu.Lock()
	table := p.table
	p.mu.Unlock()
	table = slices.Clone(table)
	for i := range table {
		table[i].Digest = p.cfg.Store.KeyedDigest(table[i].Digest)
		if table[i].Pod != nil {
			pod := *table[i].Pod
			table[i].Pod = &pod
		}
	}
	return table
}

func (p *PodConfig) setEntries(table []Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table = table
}

// entries makes the table and logs what is different in it, once.
func (r *round) entries() []Entry {
	r.p.round++
	now := time.Now()
	table := make([]Entry, 0, len(r.claims)+1)
	for _, source := range r.p.cfg.Sources {
		if u := r.p.sets[source]; u != nil && u.Message != "" {
			e := Entry{Source: source, Verdict: Rejected, Reason: "SourceTrouble", Message: u.Message}
			if len(u.Documents) > 0 {
				e.Verdict = Held
			}
			r.since(&e, entryID{source: source}, now, nil)
			table = append(table, e)
		}
	}
	seen := make(map[entryID]int, len(r.claims))
	for _, c := range r.claims {
		e := c.entry()
		id := entryID{source: e.Source, path: e.Path, kind: e.Kind, namespace: e.Namespace, name: e.Name}
		if e.Name == "" {
			id.n = e.Document<<20 + c.item()
		} else {
			seen[id]++
			id.n = seen[id]
		}
		r.since(&e, id, now, c)
		table = append(table, e)
	}
	for id, v := range r.p.verdicts {
		if v.round != r.p.round {
			delete(r.p.verdicts, id)
			r.p.logGone(id)
		}
	}
	return table
}

// since dates the verdict and logs it when it is not the one logged last.
func (r *round) since(e *Entry, id entryID, now time.Time, c *claim) {
	says := said{e.Verdict, e.Reason, e.Message, e.LastGood}
	was := r.p.verdicts[id]
	if was == nil {
		was = &verdict{}
		r.p.verdicts[id] = was
	}
	was.round = r.p.round
	if was.said != says {
		was.said, was.since = says, now
		r.p.logVerdict(e)
	}
	e.Since = was.since
	if c != nil && c.won && c.by.why != "" {
		r.p.logEdit(c.by)
		c.by.why = ""
	}
}

func (c *claim) entry() Entry {
	if c.held != nil {
		id := c.held
		return Entry{
			Source: id.Origin.Source, Path: id.Origin.Path, Document: id.Origin.Document, Line: id.Origin.Line,
			Kind: id.Key.Kind, Namespace: id.Key.Namespace, Name: id.Key.Name, Digest: id.Digest,
			Verdict: Held, LastGood: true, Reason: "SourceNotRead", Message: "accepted before; its source has not been read yet",
			Pod: entryPod(id),
		}
	}
	d := c.doc
	e := Entry{
		Source: d.Origin.Source, Path: d.Origin.Path, Document: d.Origin.Document, Line: d.Origin.Line,
		Kind: d.Doc.Kind, Namespace: d.Doc.Namespace, Name: d.Doc.Name, Digest: d.Doc.Digest,
		Verdict: Accepted, LastGood: d.LastGood, Reason: d.Reason, Message: d.Message,
	}
	switch {
	case d.LastGood && d.Held:
		e.Verdict = Held
	case d.LastGood:
		e.Verdict = Rejected
	case d.Doc.Err != nil:
		e.Verdict, e.Reason, e.Message = Rejected, d.Doc.Err.Reason, d.Doc.Err.Message
		if d.Doc.Err.Line > 0 {
			e.Line = d.Doc.Err.Line // where to look, not where the document begins
		}
	case len(d.Doc.Warnings) > 0:
		e.Reason, e.Message = "Warning", warnings(d)
	}
	switch {
	case c.won:
		e.Pod = entryPod(c.by)
	case c.by != nil:
		c.lose(&e)
	}
	return e
}

// lose says in e who has the name instead.
func (c *claim) lose(e *Entry) {
	holder := c.by.Origin
	where := fmt.Sprintf("%s, document %d, line %d", placeName(holder), holder.Document, holder.Line)
	e.LastGood = false
	if e.Verdict != Accepted {
		e.Message += "; the name is held by " + where
		return
	}
	e.Verdict, e.Reason = Conflict, "NameTaken"
	e.Message = fmt.Sprintf("%s %s/%s in %s, document %d, line %d, is held by %s; rename or remove one of the two",
		e.Kind, e.Namespace, e.Name, placeName(c.doc.Origin), c.doc.Origin.Document, c.doc.Origin.Line, where)
}

func placeName(o Origin) string {
	if o.Path == "" {
		return o.Source
	}
	return o.Source + " " + o.Path
}

func entryPod(id *identity) *EntryPod {
	if id.Key.Kind != "Pod" {
		return nil
	}
	return &EntryPod{UID: id.UID}
}

func warnings(d *Document) string {
	var texts []string
	for _, w := range d.Doc.Warnings {
		texts = append(texts, fmt.Sprintf("line %d: %s", w.Line, w.Message))
	}
	return strings.Join(texts, "; ")
}

func (p *PodConfig) logVerdict(e *Entry) {
	ev := p.cfg.Log.Info()
	if e.Verdict != Accepted || e.Reason != "" {
		ev = p.cfg.Log.Warn()
	}
	if e.Reason == reasonRemoved || e.Reason == "SourceNotRead" {
		ev = p.cfg.Log.Debug() // passes by itself
	}
	ev = about(ev, e.Source, e.Path, e.Namespace, e.Name)
	if e.Line > 0 {
		ev = ev.Int("line", e.Line).Int("document", e.Document)
	}
	if e.Reason != "" {
		ev = ev.Str("reason", e.Reason)
	}
	if e.LastGood {
		ev = ev.Bool("lastGood", true)
	}
	if e.Verdict == Accepted && e.Message == "" {
		ev.Str("action", e.Verdict).Msg("document accepted")
		return
	}
	ev.Str("action", e.Verdict).Msg(e.Message)
}

func (p *PodConfig) logEdit(id *identity) {
	about(p.cfg.Log.Info(), id.Origin.Source, id.Origin.Path, id.Key.Namespace, id.Key.Name).
		Str("uid", string(id.UID)).Int64("generation", id.Generation).Str("action", "edit").Str("reason", id.why).
		Msg("document changed")
}

func (p *PodConfig) logGone(id entryID) {
	if id.path == "" && id.name == "" {
		p.cfg.Log.Info().Str("source", id.source).Str("action", Accepted).Msg("source has recovered")
		return
	}
	about(p.cfg.Log.Info(), id.source, id.path, id.namespace, id.name).Str("action", "gone").Msg("document is gone")
}

func about(ev *zerolog.Event, source, path, namespace, name string) *zerolog.Event {
	ev = ev.Str("source", source)
	if path != "" {
		ev = ev.Str("file", filepath.Clean(path))
	}
	if name != "" {
		ev = ev.Str("pod", namespace+"/"+name)
	}
	return ev
}
