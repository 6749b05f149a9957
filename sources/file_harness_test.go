package sources

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/islet-run/islet/store"
)

// patience is how long a test waits for what must come; it is not a measure.
const patience = 2 * time.Minute

// rig runs a File on a directory of its own.
type rig struct {
	t    *testing.T
	dir  string
	root string
	cfg  FileConfig
	file *File
	log  *safeBuffer

	stop func()

	mu      sync.Mutex
	history []Update
	news    chan struct{}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) count(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), part)
}

// newRig makes the directory and what the set-up puts there, and starts.
func newRig(t *testing.T, files map[string]string, change ...func(*FileConfig)) *rig {
	t.Helper()
	top := t.TempDir()
	r := &rig{t: t, dir: filepath.Join(top, "manifests"), root: filepath.Join(top, "state"), log: &safeBuffer{}, stop: func() {}}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		r.write(name, text)
	}
	r.cfg = FileConfig{Path: r.dir, Poll: time.Hour, RemovalDelay: 150 * time.Millisecond, Decode: fakeDecode, Log: zerolog.New(r.log)}
	for _, c := range change {
		c(&r.cfg)
	}
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	s, err := store.Open(r.root)
	if err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Store = s
	if r.file, err = NewFile(r.cfg); err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.history, r.news = nil, make(chan struct{}, 1)
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan Update)
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.file.Run(ctx, out) })
	wg.Go(func() {
		for {
			select {
			case u := <-out:
				r.mu.Lock()
				r.history = append(r.history, u)
				r.mu.Unlock()
				select {
				case r.news <- struct{}{}:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	})
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			wg.Wait()
			_ = s.Close()
		})
	}
	r.t.Cleanup(r.stop)
}

// restart ends the source, lets the test change things, and starts it again.
func (r *rig) restart(meanwhile func()) {
	r.t.Helper()
	r.stop()
	meanwhile()
	r.start()
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, text string) { r.must(os.WriteFile(r.path(name), []byte(text), 0o644)) }

// put replaces a file as people should: hidden file, rename.
func (r *rig) put(name, text string) {
	r.t.Helper()
	r.write(".new", text)
	r.must(os.Rename(r.path(".new"), r.path(name)))
}

func (r *rig) remove(name string) { r.must(os.Remove(r.path(name))) }

func (r *rig) rename(from, to string) { r.must(os.Rename(r.path(from), r.path(to))) }

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) latest() (Update, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.history) == 0 {
		return Update{}, false
	}
	return r.history[len(r.history)-1], true
}

// wait waits for an update whose documents are exactly these, in order; see
// tell. It returns it.
func (r *rig) wait(want ...string) Update {
	r.t.Helper()
	return r.waitFor(fmt.Sprint(want), func(u Update) bool { return slices.Equal(tellAll(u), want) })
}

func (r *rig) waitFor(what string, ok func(Update) bool) Update {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		if u, some := r.latest(); some && ok(u) {
			return u
		}
		select {
		case <-r.news:
		case <-deadline:
			u, _ := r.latest()
			r.t.Fatalf("waited for %s\nhave %q (clean %v, message %q)", what, tellAll(u), u.Clean, u.Message)
		}
	}
}

// always checks every update since the start: the pod is in each of them.
func (r *rig) always(name string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, u := range r.history {
		if !slices.ContainsFunc(u.Documents, func(d Document) bool {
			return d.Doc.Pod() != nil && d.Doc.Name == name
		}) {
			r.t.Errorf("update %d of %d has no pod %s: %q", i+1, len(r.history), name, tellAll(u))
		}
	}
}

// settled waits until everything done so far has been read, and the delay of
// removals is over: a file made now, and removed again, comes and goes.
func (r *rig) settled() {
	r.t.Helper()
	has := func(u Update) bool {
		return slices.ContainsFunc(u.Documents, func(d Document) bool { return d.Doc.Name == "sentinel" })
	}
	r.put("zz-sentinel.yaml", "pod sentinel x")
	r.waitFor("the sentinel", has)
	r.remove("zz-sentinel.yaml")
	r.waitFor("the end of the sentinel", func(u Update) bool { return !has(u) })
}

func tellAll(u Update) []string {
	all := []string{}
	for _, d := range u.Documents {
		all = append(all, tell(d))
	}
	return all
}

// tell puts a document into a line: file, kind, name, value, and what is
// special about it: "!Reason" rejected without a copy, "~Reason" last good,
// "?Reason" held.
func tell(d Document) string {
	base := filepath.Base(d.Origin.Path)
	if d.Doc.Object == nil {
		return base + " !" + d.Reason
	}
	s := base + " " + strings.Trim(string(bytes.ReplaceAll(bytes.ReplaceAll(d.Doc.Text, []byte(`","`), []byte(" ")), []byte(`"`), nil)), "[]")
	switch {
	case d.Held:
		s += " ?" + d.Reason
	case d.LastGood:
		s += " ~" + d.Reason
	}
	return s
}
