package syncer

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Event types, as upstream.
const (
	EventNormal  = "Normal"
	EventWarning = "Warning"
)

const (
	eventsPerPod = 100
	podsInMemory = 1000
)

// Event is one thing that happened to a pod. One that happened before to the
// same instance is counted and moves to the end instead of being listed again:
// the steps of a crash loop, or of a registry that fails, come again in turn,
// and hours of that would push all else out of the history.
type Event struct {
	Time      time.Time `json:"time"` // of the last occurrence
	Count     int       `json:"count"`
	UID       types.UID `json:"uid,omitempty"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Container string    `json:"container,omitempty"`
	Message   string    `json:"message"`
}

// History is the events of one pod, oldest first, as it is kept on disk.
type History struct {
	Version int      `json:"version"`
	Key     pods.Key `json:"key"`
	Events  []Event  `json:"events"`
}

// EventStore keeps histories across restarts. Names are chosen by the caller.
type EventStore interface {
	SaveHistory(h History) error
	DropHistory(key pods.Key) error
	LoadHistories() ([]History, error)
}

// Recorder keeps the last events of each pod, bounded in number, and writes
// them to an [EventStore] beside the work: an event that is lost in a crash
// costs a line of a story, not a pod. Methods may be called from many
// goroutines.
type Recorder struct {
	store EventStore
	now   func() time.Time

	changed chan struct{} // capacity 1: there is something to write

	mu    sync.Mutex
	byPod map[pods.Key]*History // guarded by mu
	dirty map[pods.Key]bool     // guarded by mu
}

// NewRecorder returns a Recorder over what store has kept. now is the clock.
// The error names what could not be read back; the Recorder works all the same.
func NewRecorder(store EventStore, now func() time.Time) (*Recorder, error) {
	r := &Recorder{store: store, now: now, changed: make(chan struct{}, 1), byPod: map[pods.Key]*History{}, dirty: map[pods.Key]bool{}}
	kept, err := store.LoadHistories()
	for i := range kept {
		r.byPod[kept[i].Key] = &kept[i]
	}
	return r, err
}

// Record adds an event.
func (r *Recorder) Record(key pods.Key, uid types.UID, kind, reason, container, message string) {
	select {
	case r.changed <- struct{}{}:
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.byPod[key]
	if h == nil {
		r.evictLocked()
		h = &History{Version: 1, Key: key}
		r.byPod[key] = h
	}
	r.dirty[key] = true
	e := Event{Time: r.now(), Count: 1, UID: uid, Type: kind, Reason: reason, Container: container, Message: message}
	if i := h.repeated(&e); i >= 0 {
		e.Count += h.Events[i].Count
		h.Events = append(slices.Delete(h.Events, i, i+1), e)
		return
	}
	if len(h.Events) >= eventsPerPod {
		h.Events = append(h.Events[:0], h.Events[1:]...)
	}
	h.Events = append(h.Events, e)
}

// repeated returns the index of the event that e repeats, -1 for none.
func (h *History) repeated(e *Event) int {
	for i := len(h.Events) - 1; i >= 0; i-- {
		last := &h.Events[i]
		if last.UID == e.UID && last.Type == e.Type && last.Reason == e.Reason && last.Container == e.Container && last.Message == e.Message {
			return i
		}
	}
	return -1
}

// evictLocked makes room for one more pod by dropping the one whose last event
// is oldest.
func (r *Recorder) evictLocked() {
	if len(r.byPod) < podsInMemory {
		return
	}
	var oldest pods.Key
	var at time.Time
	for key, h := range r.byPod {
		last := h.Events[len(h.Events)-1].Time
		if at.IsZero() || last.Before(at) {
			oldest, at = key, last
		}
	}
	delete(r.byPod, oldest)
	r.dirty[oldest] = true
}

// Events returns a copy of the events of a pod, oldest first.
func (r *Recorder) Events(key pods.Key) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byPod[key]; h != nil {
		return append([]Event(nil), h.Events...)
	}
	return nil
}

// Flush writes what changed since the last Flush. It blocks on the disk.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	var save []History
	var drop []pods.Key
	for key := range r.dirty {
		if h := r.byPod[key]; h != nil {
			c := *h
			c.Events = append([]Event(nil), h.Events...)
			save = append(save, c)
		} else {
			drop = append(drop, key)
		}
	}
	clear(r.dirty)
	r.mu.Unlock()
	var first error
	again := func(key pods.Key, err error) {
		if err == nil {
			return
		}
		if first == nil {
			first = err
		}
		r.mu.Lock()
		r.dirty[key] = true
		r.mu.Unlock()
	}
	for _, h := range save {
		again(h.Key, r.store.SaveHistory(h))
	}
	for _, key := range drop {
		again(key, r.store.DropHistory(key))
	}
	return first
}
