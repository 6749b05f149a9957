package sources

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sourceRank is the order of sources: between newcomers to a name, and in a
// snapshot.
var sourceRank = map[string]int{SourceFile: 0, "url": 1, "push": 2}

// claim is one document that asks for a name.
type claim struct {
	doc  *Document
	held *identity // instead of doc: held until its source has been read
	won  bool
	by   *identity // who has the name
}

func (c *claim) origin() Origin {
	if c.held != nil {
		return c.held.Origin
	}
	return c.doc.Origin
}

func (c *claim) item() int {
	if c.held != nil {
		return c.held.Item
	}
	return c.doc.Doc.Item
}

// compareClaims is the order file, url, push; then path; then position.
func compareClaims(a, b *claim) int {
	x, y := a.origin(), b.origin()
	return cmp.Or(
		cmp.Compare(sourceRank[x.Source], sourceRank[y.Source]),
		cmp.Compare(x.Path, y.Path),
		cmp.Compare(x.Document, y.Document),
		cmp.Compare(a.item(), b.item()),
	)
}

// round is one merge.
type round struct {
	p      *PodConfig
	claims []*claim // every document of every source, and what is held, in order
	byKey  map[Key][]*claim
	places map[place]Key // where identities sat before this merge; nil until needed
}

// place is a position in a source.
type place struct {
	source, path   string
	document, item int
}

// merge brings the identities up to date with the sets of all sources. It
// changes p.identities and p.batch; nothing of it is seen by others before the
// batch is durable.
func (p *PodConfig) merge() (*Snapshot, []Entry) {
	r := &round{p: p}
	r.collect()
	r.hold()
	slices.SortStableFunc(r.claims, compareClaims)
	r.settleNames()
	r.dropUnclaimed()
	return r.snapshot(), r.entries()
}

func (r *round) collect() {
	n := 0
	for _, u := range r.p.sets {
		n += len(u.Documents)
	}
	all := make([]claim, n) // one allocation; never grown
	r.claims = make([]*claim, 0, n)
	r.byKey = make(map[Key][]*claim, n)
	for _, source := range r.p.cfg.Sources {
		u := r.p.sets[source]
		if u == nil {
			continue
		}
		for i := range u.Documents {
			c := &all[len(r.claims)]
			c.doc = &u.Documents[i]
			r.claims = append(r.claims, c)
		}
	}
	for _, c := range r.claims {
		if c.doc.Doc.Object != nil && c.doc.Doc.Err == nil {
			key := c.key()
			r.byKey[key] = append(r.byKey[key], c)
		}
	}
}

func (c *claim) key() Key {
	if c.held != nil {
		return c.held.Key
	}
	return Key{Realm: RealmLocal, Kind: c.doc.Doc.Kind, Namespace: c.doc.Doc.Namespace, Name: c.doc.Doc.Name}
}

// hold keeps what a source had accepted before, until it has been read: its
// names stay taken. What a source that is not configured any more had accepted
// stays until all others have been read, and gives way to whoever wants its
// name.
func (r *round) hold() {
	if r.p.complete() {
		return
	}
	for key, id := range r.p.identities {
		if r.p.sets[id.Origin.Source] != nil {
			continue
		}
		if !slices.Contains(r.p.cfg.Sources, id.Origin.Source) && len(r.byKey[key]) > 0 {
			continue
		}
		c := &claim{held: id}
		r.claims = append(r.claims, c)
		r.byKey[key] = append(r.byKey[key], c)
	}
}

// settleNames finds the document that has each name and lets its identity
// follow it.
func (r *round) settleNames() {
	for _, c := range r.claims {
		if c.held == nil && (c.doc.Doc.Object == nil || c.doc.Doc.Err != nil) {
			continue
		}
		key := c.key()
		rivals := r.byKey[key]
		if rivals[0].by != nil {
			continue // settled with the first of them
		}
		id := r.p.identities[key]
		winner := pick(rivals, id)
		winner.won = true
		switch {
		case winner.held != nil:
		case id == nil:
			id = r.p.begin(key, winner)
			r.follows(id, winner)
			r.p.identities[key] = id
			r.p.batch.put(key, id)
		case r.p.follow(id, winner):
			r.p.batch.put(key, id)
		}
		for _, rival := range rivals {
			rival.by = id
		}
	}
}

// pick decides between the documents that ask for one name, which id holds, or
// nobody when it is nil. Who holds it keeps it; a last good copy gives way to
// what was written after it went bad; among newcomers the first one gets it.
func pick(rivals []*claim, id *identity) *claim {
	if len(rivals) == 1 {
		return rivals[0]
	}
	slices.SortStableFunc(rivals, compareClaims)
	if id == nil {
		return first(rivals, func(c *claim) bool { return !c.doc.LastGood }, rivals[0])
	}
	holder := holderOf(rivals, id)
	switch {
	case holder == nil:
		return first(rivals, func(c *claim) bool { return !c.doc.LastGood }, rivals[0])
	case holder.held != nil || !holder.doc.LastGood:
		return holder
	}
	return first(rivals, func(c *claim) bool { return !c.doc.LastGood && c.doc.Changed >= holder.doc.Changed }, holder)
}

// holderOf finds the document that has held the name until now: where it was,
// else one that says what it said, moved. It returns nil when it is gone.
func holderOf(rivals []*claim, id *identity) *claim {
	var holder *claim
	for _, c := range rivals {
		switch {
		case c.held != nil:
			return c
		case c.doc.Origin.Source != id.Origin.Source || c.doc.Origin.Path != id.Origin.Path:
		case holder == nil, id.sits(c):
			holder = c // another position in the file: documents before it came or went
		}
	}
	if holder != nil {
		return holder
	}
	says := func(c *claim) bool { return c.doc.Doc.Digest == id.Digest }
	return first(rivals, func(c *claim) bool { return says(c) && !c.doc.LastGood }, first(rivals, says, nil))
}

// first returns the first claim that is so, else otherwise.
func first(claims []*claim, so func(*claim) bool, otherwise *claim) *claim {
	if i := slices.IndexFunc(claims, so); i >= 0 {
		return claims[i]
	}
	return otherwise
}

// follows makes a pod that is new wait for the instance whose document it was
// made from: the document stands where that one's stood, and no document
// claims that name now.
func (r *round) follows(id *identity, c *claim) {
	if id.Key.Kind != "Pod" || c.doc.LastGood {
		return
	}
	if r.places == nil {
		r.places = make(map[place]Key, len(r.p.identities))
		for key, other := range r.p.identities {
			if key.Kind == "Pod" {
				r.places[placeOf(other.Origin, other.Item)] = key
			}
		}
	}
	was, ok := r.places[placeOf(id.Origin, id.Item)]
	if !ok || was == id.Key || r.claimed(was) {
		return
	}
	id.After, id.AfterKey = r.p.identities[was].UID, was
}

func placeOf(o Origin, item int) place { return place{o.Source, o.Path, o.Document, item} }

// claimed reports whether a document stands for the name, and not only on its
// way out.
func (r *round) claimed(key Key) bool {
	return slices.ContainsFunc(r.byKey[key], func(c *claim) bool {
		return c.held != nil || c.doc.Reason != reasonRemoved
	})
}

// dropUnclaimed forgets the identities that no document claims: the name comes
// back as somebody else.
func (r *round) dropUnclaimed() {
	for key := range r.p.identities {
		if len(r.byKey[key]) == 0 {
			delete(r.p.identities, key)
			r.p.batch.drop(key)
		}
	}
}

func (r *round) snapshot() *Snapshot {
	s := &Snapshot{Complete: r.p.complete()}
	s.Clean = s.Complete
	for _, u := range r.p.sets {
		s.Clean = s.Clean && u.Clean
	}
	for _, c := range r.claims {
		if !c.won {
			continue
		}
		switch o := r.p.show(c.by).(type) {
		case *v1.Pod:
			s.Pods = append(s.Pods, Pod{Pod: o, Digest: c.by.Digest, Hold: c.held != nil, Origin: c.by.Origin, After: r.after(c.by), Edit: c.by.Edit})
		case *v1.ConfigMap:
			s.ConfigMaps = append(s.ConfigMaps, o)
		case *v1.Secret:
			s.Secrets = append(s.Secrets, o)
		case *v1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, o)
		}
	}
	return s
}

// after is the instance to wait for, unless its name is claimed again: then it
// may stay for ever.
func (r *round) after(id *identity) types.UID {
	if id.After == "" {
		return ""
	}
	if other := r.p.identities[id.AfterKey]; other != nil && other.UID == id.After && r.claimed(id.AfterKey) {
		return ""
	}
	return id.After
}
