package docker

import (
	"sync"

	"github.com/docker/docker/api/types/container"

	"github.com/islet-run/islet/pods"
)

// index knows which containers belong to which pod, so that a pod can be looked
// at without listing, and keeps what cannot change any more.
//
// It is filled from own creates, from events and from lists. While the event
// stream is connected, and after a list that was begun since, it is complete.
// It may hold ids that are gone; an inspect tells.
type index struct {
	mu    sync.Mutex
	clock uint64 // counts insertions
	gap   uint64 // counts the times events may have been missed
	live  bool   // the event stream is connected
	full  uint64 // the gap after which everything was listed
	pods  map[pods.Key]*podEntry
	byID  map[string]*entry
	// inflight counts, by container name, own creates and starts under way. The
	// daemon holds a container's lock while it starts it, so an inspect would
	// block for as long; what it would say is known.
	inflight map[string]int
}

type podEntry struct {
	listed uint64 // the gap after which this pod was listed
	ids    map[string]*entry
}

// entry is one container. Its identity never changes.
type entry struct {
	id, name   string
	who        identity
	born       uint64
	version    uint64    // counts the events about it
	final      *sighting // how it ended; nil while it may change
	stopSignal string    // known after the first inspect
}

func newIndex() *index {
	return &index{
		gap:      1,
		pods:     map[pods.Key]*podEntry{},
		byID:     map[string]*entry{},
		inflight: map[string]int{},
	}
}

// connected: from here on no event is missed, but some may have been before.
func (x *index) connected() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gap++
	x.live = true
}

// lost: events may be missed from here on.
func (x *index) lost() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.live = false
}

// begin and end mark an own create and start of a container under way.
func (x *index) begin(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inflight[name]++
}

func (x *index) end(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inflight[name]--; x.inflight[name] <= 0 {
		delete(x.inflight, name)
	}
}

func (x *index) isInflight(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.inflight[name] > 0
}

func (x *index) add(id, name string, who identity) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addLocked(id, name, who)
}

func (x *index) addLocked(id, name string, who identity) *entry {
	if e := x.byID[id]; e != nil {
		return e
	}
	x.clock++
	e := &entry{id: id, name: name, who: who, born: x.clock}
	x.byID[id] = e
	p := x.podLocked(who.key)
	p.ids[id] = e
	return e
}

func (x *index) podLocked(key pods.Key) *podEntry {
	p := x.pods[key]
	if p == nil {
		p = &podEntry{ids: map[string]*entry{}}
		x.pods[key] = p
	}
	return p
}

// changed forgets what was thought to be final of a container: something
// happened to it.
func (x *index) changed(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[id]; e != nil {
		e.version++
		e.final = nil
	}
}

// drop forgets a container that is gone.
func (x *index) drop(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dropLocked(id)
}

func (x *index) dropLocked(id string) {
	e := x.byID[id]
	if e == nil {
		return
	}
	delete(x.byID, id)
	p := x.pods[e.who.key]
	delete(p.ids, id)
	if len(p.ids) == 0 && (!x.live || x.full == x.gap) {
		// A pod that was listed by itself keeps its mark even when empty.
		delete(x.pods, e.who.key)
	}
}

// known reports whether the id is one of ours.
func (x *index) known(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id] != nil
}

// stopSignal returns the stop signal of a container, "" when not known yet.
func (x *index) stopSignal(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[id]; e != nil {
		return e.stopSignal
	}
	return ""
}

// learn keeps what an inspect told: the stop signal and, unless something
// happened to the container since the snapshot, how it ended.
func (x *index) learn(id string, version uint64, stopSignal string, final *sighting) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.byID[id]
	if e == nil {
		return
	}
	e.stopSignal = stopSignal
	if e.version == version {
		e.final = final
	}
}

// glance is one container at the time of a snapshot.
type glance struct {
	entry    // a copy
	starting bool
}

// snapshot returns what is known of a pod, and whether that is all there is.
func (x *index) snapshot(key pods.Key) (list []glance, complete bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.pods[key]
	complete = x.live && (x.full == x.gap || p != nil && p.listed == x.gap)
	if p == nil {
		return nil, complete
	}
	for _, e := range p.ids {
		list = append(list, glance{entry: *e, starting: x.inflight[e.name] > 0})
	}
	return list, complete
}

// mark is taken before a list is begun and handed to merge after.
type mark struct{ clock, gap uint64 }

func (x *index) mark() mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	return mark{clock: x.clock, gap: x.gap}
}

// listed is one container in a list.
type listed struct {
	id, name string
	who      identity
	state    string // in Docker's words
}

// merge takes in a list of one pod, or of everything with key nil. What was
// known before the list was begun and is not in it is gone.
func (x *index) merge(key *pods.Key, m mark, list []listed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := make(map[string]bool, len(list))
	for _, l := range list {
		seen[l.id] = true
		e := x.addLocked(l.id, l.name, l.who)
		if l.state == container.StateRunning && e.final != nil {
			e.version++
			e.final = nil
		}
	}
	scope := x.byID
	if key != nil {
		scope = x.podLocked(*key).ids
	}
	for id, e := range scope {
		if e.born <= m.clock && !seen[id] {
			x.dropLocked(id)
		}
	}
	if m.gap != x.gap {
		return
	}
	if key != nil {
		x.podLocked(*key).listed = x.gap
		return
	}
	x.full = x.gap
	for key, p := range x.pods {
		if len(p.ids) == 0 {
			delete(x.pods, key)
		}
	}
}
