package sources

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/store"
)

// mux runs a PodConfig inside a synctest bubble.
type mux struct {
	t    *testing.T
	cfg  PodConfigConfig
	pc   *PodConfig
	in   chan Update
	log  *lines
	uids int
	stop func()
}

func newMux(t *testing.T, sources ...string) *mux {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	m := &mux{t: t, log: &lines{}}
	m.cfg = PodConfigConfig{
		Sources: sources, Store: s, Log: zerolog.New(m.log),
		Decode: fakeDecode, Compare: fakeCompare, EffectiveDigest: fakeEffectiveDigest,
		NewUID: func() types.UID { m.uids++; return types.UID(fmt.Sprint("uid-", m.uids)) },
	}
	m.start()
	return m
}

func (m *mux) start() {
	m.t.Helper()
	var err error
	if m.pc, err = NewPodConfig(m.cfg); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, done := make(chan Update), make(chan struct{})
	m.in = in
	go func() { defer close(done); _ = m.pc.Run(ctx, in) }()
	m.stop = func() { cancel(); <-done }
}

func (m *mux) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

// send makes whole sets of "path: text" for one source.
func (m *mux) send(source string, changed uint64, files ...string) {
	u := Update{Source: source, Clean: true}
	for i := 0; i < len(files); i += 2 {
		u.Documents = append(u.Documents, docsOf(source, files[i], files[i+1], changed)...)
	}
	for _, d := range u.Documents {
		u.Clean = u.Clean && d.Doc.Err == nil
	}
	m.in <- u
}

// expect receives a snapshot that has exactly these pods: "name uid generation
// value", with "hold" or "after UID" where it is so.
func (m *mux) expect(want ...string) Snapshot {
	m.t.Helper()
	select {
	case s := <-m.pc.Updates():
		if got := tellPods(s); !slices.Equal(got, want) {
			m.t.Fatalf("snapshot has %q\n       instead of %q", got, want)
		}
		return s
	case <-time.After(time.Minute):
		m.t.Fatalf("no snapshot; wanted %q", want)
		panic("unreachable")
	}
}

// quiet checks that no snapshot comes.
func (m *mux) quiet() {
	m.t.Helper()
	select {
	case s := <-m.pc.Updates():
		m.t.Fatalf("a snapshot came: %q", tellPods(s))
	case <-time.After(time.Minute):
	}
}

func tellPods(s Snapshot) []string {
	all := []string{}
	for _, p := range s.Pods {
		text := fmt.Sprintf("%s %s %d %s", p.Pod.Name, p.Pod.UID, p.Pod.Generation, p.Pod.Spec.Hostname)
		if p.Hold {
			text += " hold"
		}
		if p.After != "" {
			text += " after " + string(p.After)
		}
		all = append(all, text)
	}
	return all
}

func tellEntries(entries []Entry) []string {
	all := []string{}
	for _, e := range entries {
		text := fmt.Sprintf("%s#%d %s %s", e.Path, e.Document, e.Name, e.Verdict)
		if e.Reason != "" {
			text += " " + e.Reason
		}
		if e.LastGood {
			text += " lastGood"
		}
		all = append(all, text)
	}
	return all
}

func (m *mux) entries(want ...string) []Entry {
	m.t.Helper()
	synctest.Wait()
	entries := m.pc.Entries()
	if got := tellEntries(entries); !slices.Equal(got, want) {
		m.t.Errorf("entries are %q\n  instead of %q", got, want)
	}
	return entries
}

// bubble runs a test with a mux in fake time.
func bubble(t *testing.T, sources []string, test func(m *mux)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMux(t, sources...)
		defer func() { m.stop() }()
		test(m)
	})
}
