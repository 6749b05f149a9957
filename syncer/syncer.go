package syncer

import (
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Periods of the loops. Relisting is the safety net below the event stream.
const (
	relistPeriod = 60 * time.Second
	relistRetry  = time.Second
	lastCalls    = 3 * time.Second // for engine calls that have begun when islet ends
	flushDelay   = 5 * time.Second // how long events are gathered before they are written
	flushRetry   = 30 * time.Second
)

// Records keeps the durable part of instances. Methods may be called from many
// goroutines, for one UID from one at a time.
type Records interface {
	// Load returns every record, and the instances that have a directory but no
	// record that can be read; the error names what could not be read.
	Load() (records []pods.Record, unrecorded []types.UID, err error)
	// Save is durable when it returns nil.
	Save(r pods.Record) error
	// Dir is where everything of an instance lies; Save makes it.
	Dir(uid types.UID) string
	// Erase removes all that Dir holds, the record last.
	Erase(uid types.UID) error
}

// Config is what a Syncer is made of. All fields up to Log are needed.
type Config struct {
	Engine   Engine
	Cgroups  Cgroups
	Records  Records
	Recorder *Recorder
	Node     pods.Node
	Log      zerolog.Logger

	// Starts is how many engine starts run at once; 0: number of processors.
	Starts int
	// Dead says which ended containers are kept.
	Dead pods.DeadPolicy
	// HostsPath and ResolvConfPath are the machine's files; "": below /etc.
	HostsPath, ResolvConfPath string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Syncer keeps the pods of a [Target] running on an [Engine].
type Syncer struct {
	Config
	gate   *gate
	relist chan struct{}   // asks for a listing; capacity 1
	up     atomic.Bool     // the engine answers
	calls  context.Context // ends lastCalls after Run's
	// flushTrouble is why events could not be written; Run's own.
	flushTrouble string

	mu      sync.Mutex
	target  Target               // guarded by mu
	workers map[pods.Key]*worker // guarded by mu
	closing bool                 // guarded by mu: no new workers
	// unrecorded are directories that a start or an end left half done; they
	// are erased once it is sure that nothing of them runs or is wanted.
	unrecorded []types.UID // guarded by mu
	listed     bool        // guarded by mu: the engine has been listed once
	// live are the instances that workers have, and who waits for their end.
	live    map[types.UID][]*worker // guarded by mu
	running sync.WaitGroup          // workers and what they left to finish beside

	pubMu     sync.RWMutex
	published map[pods.Key]View // guarded by pubMu
	watchers  map[chan struct{}]bool
}

// View is one pod as it is shown to readers.
type View struct {
	Pod     *v1.Pod // with status; shared, not to be changed
	Waiting string  // what it waits for, in words; "" when for nothing
	Source  string
	Path    string
}

// New returns a Syncer that does nothing yet.
func New(c Config) *Syncer {
	if c.Starts <= 0 {
		c.Starts = runtime.NumCPU()
	}
	if c.HostsPath == "" {
		c.HostsPath = "/etc/hosts"
	}
	if c.ResolvConfPath == "" {
		c.ResolvConfPath = "/etc/resolv.conf"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Syncer{
		Config:    c,
		gate:      newGate(c.Starts),
		relist:    make(chan struct{}, 1),
		workers:   map[pods.Key]*worker{},
		live:      map[types.UID][]*worker{},
		published: map[pods.Key]View{},
		watchers:  map[chan struct{}]bool{},
	}
}

// Run takes up what was recorded and works until ctx ends; pods are left
// running. It returns when everything it started has ended.
func (s *Syncer) Run(ctx context.Context, targets <-chan Target) error {
	records, unrecorded, err := s.Records.Load()
	if err != nil {
		s.Log.Error().Err(err).Msg("some instance records could not be read; their pods are treated as unknown")
	}
	var end context.CancelFunc
	s.calls, end = context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastCalls, end) })()

	s.mu.Lock()
	s.unrecorded = unrecorded
	for _, r := range records {
		s.workerLocked(ctx, r.Key).adopt(r)
	}
	s.mu.Unlock()

	s.running.Add(1)
	go func() {
		defer s.running.Done()
		if err := s.Engine.Watch(ctx, s.notify); err != nil && ctx.Err() == nil {
			s.Log.Error().Err(err).Msg("engine watch ended")
		}
	}()
	s.loop(ctx, targets)

	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.running.Wait()
	s.flush()
	return ctx.Err()
}

func (s *Syncer) loop(ctx context.Context, targets <-chan Target) {
	relist := time.NewTimer(relistPeriod)
	defer relist.Stop()
	var flush <-chan time.Time // nil while there is nothing to write: an idle islet sleeps
	for {
		select {
		case <-ctx.Done():
			return
		case t, ok := <-targets:
			if !ok {
				targets = nil
				continue
			}
			s.retarget(ctx, t)
		case <-s.relist:
			relist.Reset(s.list(ctx))
		case <-relist.C:
			relist.Reset(s.list(ctx))
		case <-s.Recorder.changed:
			if flush == nil {
				flush = time.After(flushDelay)
			}
		case <-flush:
			flush = nil
			if !s.flush() {
				flush = time.After(flushRetry)
			}
		}
	}
}

// flush writes events; false when that is to be tried again. Trouble is logged
// once.
func (s *Syncer) flush() bool {
	text := ""
	err := s.Recorder.Flush()
	if err != nil {
		text = err.Error()
	}
	if text != s.flushTrouble {
		s.flushTrouble = text
		if err != nil {
			s.Log.Warn().Err(err).Msg("events were not written; trying again until it works")
		}
	}
	return err == nil
}

// retarget hands the new target out: to every worker, and to new ones for pods
// that had none.
func (s *Syncer) retarget(ctx context.Context, t Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = t
	for _, key := range sortedKeys(t.Pods) {
		s.workerLocked(ctx, key)
	}
	for _, w := range s.workers {
		w.retarget(t)
	}
}

// notify is called by the engine and must not block.
func (s *Syncer) notify(e pods.EngineEvent) {
	switch e.Kind {
	case pods.EngineUp:
		s.forgetMarks()
		s.up.Store(true)
		s.askList()
	case pods.EngineDown:
		s.up.Store(false)
	case pods.EngineChanged:
		s.mu.Lock()
		w := s.workers[e.Key]
		s.mu.Unlock()
		if w != nil {
			w.look()
			return
		}
		// A change of a pod nobody looks after: a listing finds out what it is.
		s.askList()
	}
}

// forgetMarks has the next listing look at every pod.
func (s *Syncer) forgetMarks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		w.mark = ""
	}
}

func (s *Syncer) askList() {
	select {
	case s.relist <- struct{}{}:
	default:
	}
}

// list finds pods that no worker looks after, and has every worker look again.
// It returns when to list next.
func (s *Syncer) list(ctx context.Context) time.Duration {
	if !s.up.Load() {
		return relistPeriod // EngineUp asks for a listing
	}
	found, err := s.Engine.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Debug().Err(err).Msg("engine listing failed; trying again")
		}
		return relistRetry
	}
	marks := make(map[pods.Key]string, len(found))
	for _, f := range found {
		marks[f.Key] += string(f.UID) + f.Mark
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range marks {
		s.workerLocked(ctx, key)
	}
	for key, w := range s.workers {
		// A pod that looks as it did at the last listing is not asked about:
		// inspecting every container each minute is what an idle node must not
		// cost. After a gap in the event stream the marks are forgotten.
		if mark := marks[key]; w.mark != mark || w.mark == "" {
			w.mark = mark
			w.look()
		}
	}
	s.sweepLocked(found)
	s.listed = true
	return relistPeriod
}

// sweepLocked erases directories without a record.
func (s *Syncer) sweepLocked(found []pods.Found) {
	if len(s.unrecorded) == 0 || !s.target.Complete {
		return
	}
	used := map[types.UID]bool{}
	for _, f := range found {
		used[f.UID] = true
	}
	for _, want := range s.target.Pods {
		used[want.Pod.UID] = true
	}
	var again []types.UID
	for _, uid := range s.unrecorded {
		if used[uid] {
			continue
		}
		if err := s.Records.Erase(uid); err != nil {
			s.Log.Warn().Err(err).Str("uid", string(uid)).Msg("left-over pod directory could not be erased; trying again with the next listing")
			again = append(again, uid)
		}
	}
	s.unrecorded = again
}

// workerLocked returns the worker of a key, starting one if there is none.
func (s *Syncer) workerLocked(ctx context.Context, key pods.Key) *worker {
	w := s.workers[key]
	if w == nil {
		w = newWorker(s, key)
		w.mail.target, w.mail.look = s.target, true
		s.workers[key] = w
		if !s.closing {
			s.running.Add(1)
			go func() {
				defer s.running.Done()
				w.run(ctx)
			}()
		}
	}
	return w
}

// retire takes a worker out that has nothing left to do; false when something
// came in meanwhile.
func (s *Syncer) retire(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.idle() {
		return false
	}
	delete(s.workers, w.key)
	s.unpublish(w.key)
	return true
}

// begun notes that an instance exists, and ended that its last trace is gone.
func (s *Syncer) begun(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.live[uid]; !ok {
		s.live[uid] = nil
	}
}

func (s *Syncer) ended(uid types.UID) {
	s.mu.Lock()
	waiting := s.live[uid]
	delete(s.live, uid)
	s.mu.Unlock()
	for _, w := range waiting {
		w.look()
	}
}

// waitFor reports whether an instance is still there; if so, w is woken at its
// end.
func (s *Syncer) waitFor(uid types.UID, w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, ok := s.live[uid]
	if ok && !slices.Contains(waiting, w) {
		s.live[uid] = append(waiting, w)
	}
	return ok
}

// Idle reports whether no pod is wanted and none is left: nothing recorded, and
// nothing on the engine.
func (s *Syncer) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed && s.target.Complete && len(s.target.Pods) == 0 && len(s.workers) == 0
}

func sortedKeys(m map[pods.Key]*pods.Want) []pods.Key {
	keys := make([]pods.Key, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		return a.Name < b.Name
	})
	return keys
}
