package syncer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/islet-run/islet/pods"
)

type memoryEvents struct {
	kept map[pods.Key]History
	err  error
}

func (m *memoryEvents) SaveHistory(h History) error {
	if m.err == nil {
		m.kept[h.Key] = h
	}
	return m.err
}
func (m *memoryEvents) DropHistory(key pods.Key) error { delete(m.kept, key); return m.err }
func (m *memoryEvents) LoadHistories() (all []History, err error) {
	for _, h := range m.kept {
		all = append(all, h)
	}
	return all, m.err
}

func TestRecorderCountsRepetitionsAndSurvives(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &memoryEvents{kept: map[pods.Key]History{}}
	r, err := NewRecorder(store, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	key := pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: "web"}
	for range 3 {
		now = now.Add(time.Second)
		r.Record(key, "u", EventWarning, "BackOff", "c", "again")
	}
	r.Record(key, "u", EventNormal, "Started", "c", "Container started")
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	again, err := NewRecorder(store, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	got := again.Events(key)
	if len(got) != 2 || got[0].Count != 3 || !got[0].Time.Equal(now) || got[1].Reason != "Started" {
		t.Fatalf("read back %+v", got)
	}
}

func TestRecorderIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	store := &memoryEvents{kept: map[pods.Key]History{}}
	r, _ := NewRecorder(store, func() time.Time { now = now.Add(time.Second); return now })
	for i := range podsInMemory + 10 {
		key := pods.Key{Name: fmt.Sprint("p", i)}
		for j := range 3 {
			r.Record(key, "", EventNormal, "R", "", fmt.Sprint(j))
		}
	}
	first, last := pods.Key{Name: "p0"}, pods.Key{Name: fmt.Sprint("p", podsInMemory+9)}
	if len(r.byPod) != podsInMemory || r.Events(first) != nil || len(r.Events(last)) != 3 {
		t.Fatalf("%d pods, first %v, last %v", len(r.byPod), r.Events(first), r.Events(last))
	}
	for i := range 2 * eventsPerPod {
		r.Record(last, "", EventNormal, "R", "", fmt.Sprint("x", i))
	}
	if got := r.Events(last); len(got) != eventsPerPod || got[eventsPerPod-1].Message != fmt.Sprint("x", 2*eventsPerPod-1) {
		t.Fatalf("%d events, newest %+v", len(got), got[len(got)-1])
	}
}

func TestRecorderNamesWhatItCannotWrite(t *testing.T) {
	store := &memoryEvents{kept: map[pods.Key]History{}, err: errors.New("disk full")}
	r, err := NewRecorder(store, time.Now)
	if err == nil {
		t.Fatal("unreadable store was not reported")
	}
	r.Record(pods.Key{Name: "p"}, "", EventNormal, "R", "", "m")
	if err := r.Flush(); err == nil {
		t.Fatal("failed write was not reported")
	}
	if len(r.Events(pods.Key{Name: "p"})) != 1 {
		t.Fatal("event lost")
	}
}

// What comes again in turn while a registry fails does not push the rest out of
// the history; other events keep their order.
func TestRecorderCountsFailingPulls(t *testing.T) {
	now := time.Unix(1000, 0)
	r, _ := NewRecorder(&memoryEvents{kept: map[pods.Key]History{}}, func() time.Time { now = now.Add(time.Second); return now })
	key := pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: "web"}
	r.Record(key, "u", EventNormal, "Started", "side", "Container started")
	for range 50 {
		for _, c := range []string{"c", "d"} {
			r.Record(key, "u", EventNormal, "Pulling", c, `Pulling image "x"`)
			r.Record(key, "u", EventWarning, "Failed", c, `Failed to pull image "x": no`)
			r.Record(key, "u", EventWarning, "Failed", c, "Error: ErrImagePull")
		}
	}
	got := r.Events(key)
	if len(got) != 7 || got[0].Reason != "Started" {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	for i, e := range got[1:] {
		if e.Count != 50 || e.Time.Before(got[i].Time) {
			t.Errorf("event %d: %+v", i+1, e)
		}
	}
	// A repetition moves to the end with its count; another instance, container
	// or message is another event.
	r.Record(key, "u", EventNormal, "Started", "c", "Container started")
	r.Record(key, "u", EventNormal, "Pulling", "c", `Pulling image "x"`)
	if got := r.Events(key); len(got) != 8 || got[7].Reason != "Pulling" || got[7].Count != 51 || got[6].Count != 1 {
		t.Errorf("%d events: %+v", len(got), got)
	}
	r.Record(key, "v", EventNormal, "Pulling", "c", `Pulling image "x"`)
	r.Record(key, "v", EventNormal, "Killing", "c", "bye")
	r.Record(key, "v", EventNormal, "Started", "c", "Container started")
	if n := len(r.Events(key)); n != 11 {
		t.Errorf("%d events, want those of another instance apart: %+v", n, r.Events(key))
	}
}
