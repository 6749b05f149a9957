package enginetest

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Call is one call of a method, as it was made. Fields that a method does not
// have are zero.
type Call struct {
	Method    string // name of the method
	Key       pods.Key
	UID       types.UID
	Container string // name; empty for a sandbox
	Attempt   int
	ID        string // engine id; of starts, what they returned
	Signal    string
	Force     bool
	Ref       string // image as written
	At        time.Time
	Done      time.Time // zero while under way
	Err       error
}

// Calls returns every call so far, in the order in which they were made.
func (f *Fake) Calls(methods ...string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Call
	for _, c := range f.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			out = append(out, *c)
		}
	}
	return out
}

// ForgetCalls empties the record of calls.
func (f *Fake) ForgetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// SetFault has the function look at every call before it is carried out. It may
// wait, and the error it returns is the call's.
func (f *Fake) SetFault(fault func(ctx context.Context, c Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// call records a call and carries it out, unless the engine is down or a fault
// is in the way.
func (f *Fake) call(ctx context.Context, made Call, run func(context.Context, *Call) error) error {
	made.At = time.Now()
	record := &made
	f.mu.Lock()
	f.calls = append(f.calls, record)
	fault, away := f.fault, f.away
	f.mu.Unlock()
	err := away
	if err == nil && fault != nil {
		err = fault(ctx, made)
	}
	if err == nil {
		err = ctx.Err()
	}
	result := made
	if err == nil {
		err = run(ctx, &result)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	record.ID = result.ID
	record.Done, record.Err = time.Now(), err
	return err
}

// wait waits for a time, for ctx, or for the engine to go down.
func (f *Fake) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return await(ctx, f, timer.C)
}

// await waits for a channel, for ctx, or for the engine to go down.
func await[T any](ctx context.Context, f *Fake, done <-chan T) error {
	f.mu.Lock()
	outage := f.outage
	f.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-outage:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.away != nil {
			return f.away
		}
		return pods.ErrEngineAway
	}
}

type watcher struct {
	queue []pods.EngineEvent
	wake  chan struct{} // has room for one
}

// Watch delivers events, in order, from its own goroutine.
func (f *Fake) Watch(ctx context.Context, notify func(pods.EngineEvent)) error {
	w := &watcher{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.watchers[w] = true
	if f.away != nil {
		w.add(pods.EngineEvent{Kind: pods.EngineDown, Err: f.away})
	} else {
		w.add(pods.EngineEvent{Kind: pods.EngineUp})
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, w)
		f.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		}
		f.mu.Lock()
		queue := w.queue
		w.queue = nil
		f.mu.Unlock()
		for _, event := range queue {
			notify(event)
		}
	}
}

// add queues an event; the fake's lock is held.
func (w *watcher) add(event pods.EngineEvent) {
	w.queue = append(w.queue, event)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (f *Fake) tellLocked(event pods.EngineEvent) {
	for w := range f.watchers {
		w.add(event)
	}
}

// Mute has changes happen without anybody being told, as when events are lost.
func (f *Fake) Mute(mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.muted = mute
}

// changedLocked tells of a change; nothing is told while the engine is down.
func (f *Fake) changedLocked(key pods.Key) {
	if f.away == nil && !f.muted {
		f.tellLocked(pods.EngineEvent{Kind: pods.EngineChanged, Key: key})
	}
}
