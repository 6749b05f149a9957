package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// result is how an operation beside the worker ended.
type result struct {
	uid    types.UID
	action pods.Action
	image  pods.Image
	err    error
}

// carryOut does the changes of records at once and launches the rest beside.
// It reports whether anything was done, so that the plan should be asked again.
func (w *worker) carryOut(ctx context.Context, actions []pods.Action) (busy bool) {
	for _, a := range actions {
		in := w.instances[a.UID]
		if in == nil && a.Kind != pods.ActBegin {
			continue
		}
		if a.Kind.Beside() {
			if !w.launch(ctx, in, a) {
				return busy // the rest of the plan builds on it
			}
		} else {
			w.apply(ctx, in, a)
		}
		busy = true
	}
	return busy
}

// apply changes the record.
func (w *worker) apply(ctx context.Context, in *instance, a pods.Action) {
	w.log(a)
	switch a.Kind {
	case pods.ActBegin:
		in = newInstance(pods.NewRecord(w.s.Now(), w.key, w.want))
		w.add(in)
		w.s.Recorder.Record(w.key, a.UID, EventNormal, eventAccepted, "", a.Reason)
	case pods.ActUpdate:
		in.Record.Pod, in.Record.Digest = w.want.Pod, w.want.Digest
		in.Record.Source, in.Record.Path = w.want.Source, w.want.Path
		w.s.Recorder.Record(w.key, a.UID, EventNormal, "Updated", "", a.Reason)
	case pods.ActDelete:
		in.Record.Deletion = a.Deletion
		in.cancelStarts()
		w.s.Recorder.Record(w.key, a.UID, EventNormal, "Deleting", "", a.Reason)
	case pods.ActFinish:
		in.Record.Outcome = a.Outcome
		w.s.Recorder.Record(w.key, a.UID, EventNormal, finishEvent(a.Outcome), "", a.Reason)
	case pods.ActRemember:
		w.tellRemembered(in.Record.Containers[a.Container], a)
		in.Record.Containers[a.Container] = *a.Memory
	case pods.ActForget:
		w.forget(ctx, in)
		return
	}
	in.dirty = true
}

// finishEvent is the event reason of the end of a pod: what ended it from
// outside, or else how it ended.
func finishEvent(o *pods.Outcome) string {
	if o.Reason != "" {
		return o.Reason
	}
	return string(o.Phase)
}

// launch starts an operation. It reports false when it cannot start now.
func (w *worker) launch(ctx context.Context, in *instance, a pods.Action) bool {
	target := a.Target()
	if _, under := in.Ops[target]; under {
		return true
	}
	if a.Kind == pods.ActStartContainer && !w.durable(ctx, in) && !in.mayRunUnrecorded(a.Container) {
		return false // what must not run twice waits for its record
	}
	w.log(a)
	now := w.s.Now()
	do := w.operation(in, a)
	in.launched(a, now)
	if a.Container != "" && (a.Kind == pods.ActSignal || a.Kind == pods.ActKill) {
		w.s.Recorder.Record(w.key, a.UID, EventNormal, "Killing", a.Container, a.Reason)
	}
	opCtx, cancel := context.WithCancel(ctx)
	in.Ops[target] = pods.Op{Action: a, Since: now}
	in.cancels[target] = cancel
	w.mu.Lock()
	w.mail.ops++
	w.mu.Unlock()
	w.s.running.Add(1)
	go func() {
		defer w.s.running.Done()
		defer cancel()
		r := result{uid: a.UID, action: a}
		r.image, r.err = do(opCtx)
		w.send(func(m *mail) { m.results = append(m.results, r) })
	}()
	return true
}

// launched notes what Plan must know of an operation that begins.
func (in *instance) launched(a pods.Action, now time.Time) {
	switch a.Kind {
	case pods.ActSignal:
		in.Signalled[a.ID] = pods.Signalled{At: now, Deadline: a.Deadline, Reason: a.Reason}
	case pods.ActKill:
		sent := in.Signalled[a.ID]
		sent.Killed = now
		in.Signalled[a.ID] = sent
	case pods.ActStartContainer:
		if a.Memory != nil {
			in.Record.Containers[a.Container] = *a.Memory
			in.dirty = true
		}
	}
}

// durable makes sure that the record is on disk.
func (w *worker) durable(ctx context.Context, in *instance) bool {
	w.save(ctx)
	return !in.dirty
}

// mayRunUnrecorded reports whether a container may start although the newest
// record could not be written: a disk that is full for days must not keep what
// is to run for ever from being restarted. The record on disk says whose it is;
// should islet die now, the engine shows the rest, and a run too many does no
// harm.
func (in *instance) mayRunUnrecorded(name string) bool {
	c, _ := pods.ContainerByName(in.Record.Pod, name)
	if !in.saved || c == nil || len(c.RestartPolicyRules) > 0 {
		return false
	}
	if c.RestartPolicy != nil {
		return *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	}
	return in.Record.Pod.Spec.RestartPolicy == v1.RestartPolicyAlways && !pods.IsInit(in.Record.Pod, name)
}

// cancelStarts ends operations that wait for their turn or for a registry; an
// engine call that has begun goes on and is observed when it ends.
func (in *instance) cancelStarts() {
	for target, op := range in.Ops {
		switch op.Action.Kind {
		case pods.ActEnsureImage, pods.ActCreateSandbox, pods.ActStartContainer:
			in.cancels[target]()
		}
	}
}

// take reads the end of an operation and reports whether to observe.
func (w *worker) take(r result) (look bool) {
	in := w.instances[r.uid]
	if in == nil {
		return false
	}
	a := r.action
	if a.Kind == pods.ActForget {
		delete(w.instances, r.uid)
		w.s.ended(r.uid)
		return false
	}
	target := a.Target()
	delete(in.Ops, target)
	delete(in.cancels, target)
	if a.Kind == pods.ActStartContainer {
		delete(in.Images, a.Container)
	}
	if r.err == nil {
		w.succeed(in, r)
		return a.Kind != pods.ActEnsureImage
	}
	// Neither an engine that is away nor a call that was called off is a
	// failure of the pod.
	if !errors.Is(r.err, pods.ErrEngineAway) && !errors.Is(r.err, context.Canceled) {
		w.fail(in, a, r.err)
	}
	return true
}

func (w *worker) succeed(in *instance, r result) {
	a := r.action
	if in.Failures[a.Container].Kind == a.Kind {
		delete(in.Failures, a.Container)
	}
	switch a.Kind {
	case pods.ActEnsureImage:
		in.Images[a.Container] = r.image
		w.imageReady(a, r.image)
	case pods.ActStartContainer:
		if !in.Record.Initialized && !pods.IsInit(in.Record.Pod, a.Container) {
			in.Record.Initialized = true
			in.dirty = true
		}
		w.tellStarted(a)
	case pods.ActRemove:
		delete(in.Signalled, a.ID)
	}
}

// fail remembers why a step failed, says it to people and lets Plan decide
// when to try again. Failures of signals and removals concern the engine
// object, so they are kept under its container's name too.
func (w *worker) fail(in *instance, a pods.Action, err error) {
	f := in.Failures[a.Container]
	count := 1
	if f.Kind == a.Kind {
		count = f.Count + 1
	}
	reason := string(a.Kind)
	var engineErr *pods.EngineError
	if errors.As(err, &engineErr) {
		reason = engineErr.Reason
	} else if a.Kind == pods.ActCreateSandbox {
		reason = pods.ReasonFailedCreatePodSandBox
	}
	f = pods.Failure{Kind: a.Kind, Image: a.Image, Reason: reason, Message: err.Error(), At: w.s.Now(), Count: count}
	in.Failures[a.Container] = f
	w.s.Log.Warn().Err(err).Str("pod", w.key.String()).Str("uid", string(a.UID)).Str("container", a.Container).
		Str("action", string(a.Kind)).Str("reason", reason).Int("count", count).Msg("action failed")
	if a.Kind == pods.ActEnsureImage {
		w.imageFailed(a, reason, err)
		return
	}
	w.s.Recorder.Record(w.key, a.UID, EventWarning, failureEvent(a, reason), a.Container, withoutIDs(failureMessage(a, err)))
}

// failureEvent is the event reason the kubelet uses for the step.
func failureEvent(a pods.Action, reason string) string {
	switch a.Kind {
	case pods.ActStartContainer:
		return eventFailed
	case pods.ActSignal, pods.ActKill, pods.ActRemove:
		return "FailedKillPod"
	}
	return reason
}

func failureMessage(a pods.Action, err error) string {
	switch a.Kind {
	case pods.ActCreateSandbox:
		return fmt.Sprintf("Failed to create pod sandbox: %v", err)
	case pods.ActSignal, pods.ActKill, pods.ActRemove:
		return fmt.Sprintf("error killing pod: %v", err)
	}
	return fmt.Sprintf("Error: %v", err)
}

// save writes the records that changed. A record that cannot be written is
// tried again; until then nothing new starts in its instance.
func (w *worker) save(ctx context.Context) {
	for _, in := range w.instances {
		if !in.dirty || in.forgotten || in.Stray || ctx.Err() != nil {
			continue
		}
		if err := w.s.Records.Save(in.Record); err != nil {
			w.saveFailed(in, err)
			continue
		}
		in.dirty, in.saved = false, true
		if in.trouble != "" {
			in.trouble = ""
			w.s.Log.Info().Str("pod", w.key.String()).Str("uid", string(in.Record.UID)).Msg("instance record is written again")
		}
	}
}

// saveFailed has the record tried again. It is logged once, and not with each
// try: the log may lie on the very disk that is full.
func (w *worker) saveFailed(in *instance, err error) {
	w.retryAt = w.s.Now().Add(saveRetry)
	if text := err.Error(); text != in.trouble {
		in.trouble = text
		w.s.Recorder.Record(w.key, in.Record.UID, EventWarning, "FailedRecord", "",
			fmt.Sprintf("instance record was not written: %v; nothing new starts until it is", err))
		w.s.Log.Error().Err(err).Str("pod", w.key.String()).Str("uid", string(in.Record.UID)).
			Msg("instance record was not written; trying again until it works")
	}
}

func (w *worker) log(a pods.Action) {
	e := w.s.Log.Info()
	if a.Kind == pods.ActRemember || a.Kind == pods.ActEnsureImage || a.Kind == pods.ActRemove {
		e = w.s.Log.Debug()
	}
	e.Str("pod", w.key.String()).Str("uid", string(a.UID)).Str("action", string(a.Kind))
	if a.Container != "" {
		e.Str("container", a.Container)
	}
	e.Str("reason", a.Reason).Send()
}
