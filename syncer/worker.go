package syncer

import (
	"context"
	"errors"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Limits of a worker's patience.
const (
	observeRetry = time.Second // after an observation that failed
	saveRetry    = 2 * time.Second
	maxPasses    = 100 // plans in a row without anything to wait for
)

// worker looks after the instances of one pod. Its goroutine owns everything
// below "owned"; the mail is how others reach it.
type worker struct {
	s    *Syncer
	key  pods.Key
	mark string // last listing's; guarded by Syncer.mu

	poke chan struct{} // capacity 1: there is mail
	mu   sync.Mutex
	mail mail // guarded by mu

	// owned
	target    Target
	want      *pods.Want
	known     bool       // want is to be believed
	admitted  *pods.Want // want, marked if this engine cannot run it
	instances map[types.UID]*instance
	retryAt   time.Time // an observation or a record is due again
	said      string    // the last Decision.Waiting
}

// mail is what arrived since the worker last looked.
type mail struct {
	target  Target
	fresh   bool // target is new
	look    bool // observe again
	records []pods.Record
	results []result
	ops     int // operations whose result has not been read yet
}

// instance is what the worker keeps of one instance.
type instance struct {
	pods.Instance
	dirty     bool   // the record differs from what is on disk
	saved     bool   // some record of the instance is on disk
	trouble   string // why the record could not be written
	forgotten bool   // being erased beside; no part of plans any more
	adopted   bool   // of an earlier run of islet, and not looked at yet
	cancels   map[string]context.CancelFunc
}

func newWorker(s *Syncer, key pods.Key) *worker {
	return &worker{s: s, key: key, poke: make(chan struct{}, 1), instances: map[types.UID]*instance{}}
}

func (w *worker) send(f func(m *mail)) {
	w.mu.Lock()
	f(&w.mail)
	w.mu.Unlock()
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// adopt hands over a record read at start.
func (w *worker) adopt(r pods.Record) {
	w.send(func(m *mail) { m.records = append(m.records, r); m.look = true })
}

// look has the worker observe again.
func (w *worker) look() { w.send(func(m *mail) { m.look = true }) }

// retarget hands over a new target; one that says the same of this pod does
// not wake the worker.
func (w *worker) retarget(t Target) {
	w.mu.Lock()
	old := w.mail.target
	before, knownBefore := old.want(w.key)
	now, known := t.want(w.key)
	same := sameWant(before, now) && knownBefore == known && old.Clean == t.Clean && old.After[w.key] == t.After[w.key]
	w.mail.target = t
	w.mail.fresh = w.mail.fresh || !same
	w.mu.Unlock()
	if !same {
		w.look()
	}
}

func sameWant(a, b *pods.Want) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b // an unchanged pod keeps its address
}

// idle reports whether nothing came in since the worker found nothing to do.
func (w *worker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	want, known := w.mail.target.want(w.key)
	return want == nil && known && !w.mail.look && len(w.mail.records) == 0 && len(w.mail.results) == 0 && w.mail.ops == 0
}

func (w *worker) run(ctx context.Context) {
	wake := time.NewTimer(0)
	defer wake.Stop()
	passes := 0
	for ctx.Err() == nil {
		look := w.readMail()
		if look && !w.observe(ctx) {
			w.lookLater()
			passes = 0
			if !w.sleep(ctx, wake, w.retryAt) {
				return
			}
			continue
		}
		decision := w.plan()
		w.tellWaiting(decision)
		busy := w.carryOut(ctx, decision.Actions)
		w.save(ctx)
		w.publish(decision)
		if busy && passes < maxPasses {
			passes++
			continue
		}
		if passes >= maxPasses {
			w.s.Log.Error().Str("pod", w.key.String()).Msg("plan does not come to rest; pausing")
			decision.Wake = w.s.Now().Add(observeRetry)
		}
		passes = 0
		if w.done() && w.s.retire(w) {
			return
		}
		if !w.sleep(ctx, wake, earliest(decision.Wake, w.retryAt)) {
			return
		}
	}
}

// lookLater keeps an observation that got no answer due without waking up for it.
func (w *worker) lookLater() {
	w.mu.Lock()
	w.mail.look = true
	w.mu.Unlock()
	if _, shown := w.s.View(w.key); !shown {
		w.publish(pods.Decision{Waiting: "waiting for the engine to answer"})
	}
}

// sleep waits for mail or until the time given; zero: only for mail.
func (w *worker) sleep(ctx context.Context, timer *time.Timer, until time.Time) bool {
	var c <-chan time.Time
	if !until.IsZero() {
		timer.Reset(max(0, until.Sub(w.s.Now())))
		c = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.poke:
	case <-c:
		if w.retryAt.Equal(until) {
			w.retryAt = time.Time{}
		}
	}
	return true
}

// readMail takes in what arrived and reports whether to observe.
func (w *worker) readMail() (look bool) {
	w.mu.Lock()
	m := w.mail
	w.mail.fresh, w.mail.look, w.mail.records, w.mail.results = false, false, nil, nil
	w.mail.ops -= len(m.results)
	w.mu.Unlock()

	w.target = m.target
	w.want, w.known = m.target.want(w.key)
	for _, r := range m.records {
		in := newInstance(r)
		in.saved, in.adopted = true, true
		w.add(in)
	}
	for _, r := range m.results {
		look = w.take(r) || look
	}
	return look || m.look
}

func (w *worker) add(in *instance) {
	w.instances[in.Record.UID] = in
	w.s.begun(in.Record.UID)
}

func newInstance(r pods.Record) *instance {
	if r.Containers == nil {
		r.Containers = map[string]pods.Memory{}
	}
	return &instance{
		Instance: pods.Instance{
			Record:    r,
			Observed:  pods.Observed{UID: r.UID},
			Images:    map[string]pods.Image{},
			Failures:  map[string]pods.Failure{},
			Ops:       map[string]pods.Op{},
			Signalled: map[string]pods.Signalled{},
		},
		cancels: map[string]context.CancelFunc{},
	}
}

// observe asks the engine; false when there was no answer.
func (w *worker) observe(ctx context.Context) bool {
	w.retryAt = time.Time{}
	if !w.s.up.Load() {
		return false // EngineUp has every worker look again
	}
	seen, err := w.s.Engine.Observe(ctx, w.key)
	if err != nil {
		if !errors.Is(err, pods.ErrEngineAway) && ctx.Err() == nil {
			w.s.Log.Warn().Err(err).Str("pod", w.key.String()).Msg("pod could not be observed; trying again")
		}
		w.retryAt = w.s.Now().Add(observeRetry)
		return false
	}
	for _, in := range w.instances {
		in.Observed = pods.Observed{UID: in.Record.UID}
	}
	for _, o := range seen {
		in := w.instances[o.UID]
		if in == nil {
			in = w.found(o)
			w.add(in)
		}
		in.Observed = o
		w.tellTakenOver(in)
		if len(o.Sandboxes) > 0 && len(o.Sandboxes[0].IPs) > 0 {
			in.setIPs(o.Sandboxes[0].IPs)
		}
	}
	return true
}

// found makes an instance of what the engine holds without a record. It is a
// stray unless it turns out to be wanted, see claim.
func (w *worker) found(o pods.Observed) *instance {
	in := newInstance(pods.Record{Key: w.key, UID: o.UID})
	in.Stray = true
	return in
}

// claim gives the wanted instance its record back if it has none: islet died
// before it was written, or the record was lost.
func (w *worker) claim() {
	if w.want == nil || w.want.Hold || w.want.Pod == nil {
		return
	}
	in := w.instances[w.want.Pod.UID]
	if in == nil || !in.Stray || in.forgotten || len(in.Signalled) > 0 {
		return
	}
	in.Stray, in.dirty = false, true
	in.Record = pods.RecoverRecord(w.s.Now(), w.key, w.want, in.Observed)
}

func (in *instance) setIPs(ips []string) {
	if len(in.Record.IPs) == len(ips) {
		same := true
		for i := range ips {
			same = same && in.Record.IPs[i] == ips[i]
		}
		if same {
			return
		}
	}
	in.Record.IPs = ips
	in.dirty = true
}

// plan asks what to do. Nothing is decided about a pod of which it is not yet
// known whether it is wanted, nor about strays before every source is known.
func (w *worker) plan() pods.Decision {
	if !w.known {
		return pods.Decision{Waiting: "waiting until every source has been read"}
	}
	if w.want != nil && w.want.Pod != nil {
		if in := w.instances[w.want.Pod.UID]; in != nil && in.forgotten {
			return pods.Decision{Waiting: "waiting until the last trace of the instance before is erased"}
		}
	}
	w.claim()
	w.admitted = w.admit()
	if w.mustWait() {
		return pods.Decision{Waiting: "waiting until the pod it takes the place of is gone"}
	}
	have := pods.Have{Dead: w.s.Dead}
	for _, in := range w.ordered() {
		if in.Stray && w.want == nil && !w.target.Clean {
			continue
		}
		have.Instances = append(have.Instances, in.Instance)
	}
	return pods.Plan(w.s.Now(), w.admitted, have)
}

// mustWait reports whether the wanted pod takes the place of one of another
// name that is not gone yet. Once begun it waits for nobody.
func (w *worker) mustWait() bool {
	after, ok := w.target.After[w.key]
	return ok && len(w.instances) == 0 && w.s.waitFor(after, w)
}

// admit returns what is wanted, marked if this engine cannot run it. An instance
// that exists is never looked at again.
func (w *worker) admit() *pods.Want {
	if w.want == nil || w.want.Hold || w.want.Pod == nil || w.instances[w.want.Pod.UID] != nil {
		return w.want
	}
	reasons := pods.Admit(w.want.Pod, w.s.Engine.Facts())
	if len(reasons) == 0 {
		return w.want
	}
	want := *w.want
	want.Unsupported = strings.Join(reasons, "; ")
	return &want
}

// ordered returns the instances that take part in plans: the newest recorded
// one first, strays last.
func (w *worker) ordered() []*instance {
	list := make([]*instance, 0, len(w.instances))
	for _, in := range w.instances {
		if !in.forgotten {
			list = append(list, in)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Stray != b.Stray {
			return !a.Stray
		}
		if !a.Record.StartTime.Equal(b.Record.StartTime) {
			return a.Record.StartTime.After(b.Record.StartTime)
		}
		return a.Record.UID < b.Record.UID
	})
	return list
}

// done reports whether there is nothing wanted and nothing left.
func (w *worker) done() bool { return w.known && w.want == nil && len(w.instances) == 0 }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
