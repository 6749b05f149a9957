package syncer

import (
	"sort"

	"github.com/islet-run/islet/pods"
)

// Views returns all pods that are wanted or still there, by namespace and name.
func (s *Syncer) Views() []View {
	s.pubMu.RLock()
	defer s.pubMu.RUnlock()
	views := make([]View, 0, len(s.published))
	for _, v := range s.published {
		views = append(views, v)
	}
	sort.Slice(views, func(i, j int) bool {
		a, b := views[i].Pod, views[j].Pod
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		return a.Name < b.Name
	})
	return views
}

// View returns one pod.
func (s *Syncer) View(key pods.Key) (View, bool) {
	s.pubMu.RLock()
	defer s.pubMu.RUnlock()
	v, ok := s.published[key]
	return v, ok
}

// Subscribe returns a channel that gets a token after views have changed (one
// token may stand for many changes), and a function that ends it.
func (s *Syncer) Subscribe() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	s.pubMu.Lock()
	s.watchers[c] = true
	s.pubMu.Unlock()
	return c, func() {
		s.pubMu.Lock()
		delete(s.watchers, c)
		s.pubMu.Unlock()
	}
}

func (s *Syncer) publish(key pods.Key, v View) {
	s.pubMu.Lock()
	defer s.pubMu.Unlock()
	s.published[key] = v
	s.tellLocked()
}

func (s *Syncer) unpublish(key pods.Key) {
	s.pubMu.Lock()
	defer s.pubMu.Unlock()
	if _, ok := s.published[key]; ok {
		delete(s.published, key)
		s.tellLocked()
	}
}

func (s *Syncer) tellLocked() {
	for c := range s.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// EngineUp reports whether the engine answers.
func (s *Syncer) EngineUp() bool { return s.up.Load() }
