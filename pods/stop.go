package pods

import (
	"fmt"
	"time"
)

// stopping is the end of several containers of one instance: since when, and
// how long they may take.
type stopping struct {
	since  time.Time
	grace  time.Duration
	reason string // "": the kubelet's "Stopping container X"
}

// deadline is when a container that was signalled at at is killed.
func (s stopping) deadline(at time.Time) time.Time {
	return later(s.since.Add(s.grace), at.Add(minKill))
}

func (s stopping) reasonFor(name string) string {
	if s.reason != "" {
		return s.reason
	}
	return "Stopping container " + name
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// alive reports whether a run may still execute.
func (c *Container) alive() bool { return c.State == StateRunning || c.State == StateUnknown }

// stopAll ends every container: regular and plain init containers are
// signalled at once; a sidecar after all of those and all later sidecars are
// gone, so sidecars end in the reverse of their order. It reports whether
// anything may still execute.
func (v *view) stopAll(s stopping) (alive bool) {
	first := false // something that must end before the sidecars
	for i := range v.in.Observed.Containers {
		c := &v.in.Observed.Containers[i]
		if c.alive() && !IsSidecar(v.rec.Pod, c.Name) {
			first = true
			v.stop(c, s)
		}
	}
	late := -1 // the sidecar whose turn it is
	for i := range v.in.Observed.Containers {
		if c := &v.in.Observed.Containers[i]; c.alive() {
			late = max(late, sidecarIndex(v.rec.Pod, c.Name))
		}
	}
	for _, op := range v.in.Ops {
		if a := op.Action; a.Kind == ActStartContainer {
			n := sidecarIndex(v.rec.Pod, a.Container)
			late, first = max(late, n), first || n < 0
		}
	}
	if first {
		return true
	}
	if late < 0 {
		return false
	}
	for i := range v.in.Observed.Containers {
		c := &v.in.Observed.Containers[i]
		if c.alive() && c.Name == v.rec.Pod.Spec.InitContainers[late].Name {
			v.stop(c, s)
		}
	}
	return true
}

// stop takes a running container one step towards its end: the stop signal,
// and SIGKILL once its time is over.
func (v *view) stop(c *Container, s stopping) {
	if c.State == StateUnknown {
		v.do(Action{Kind: ActRemove, Container: c.Name, ID: c.ID, Force: true, Attempt: c.Attempt,
			Reason: "Container is in unknown state, try killing it before restart"})
		return
	}
	signal := Action{Kind: ActSignal, Container: c.Name, ID: c.ID, Attempt: c.Attempt, Reason: s.reasonFor(c.Name)}
	sent, ok := v.signalled(signal)
	if !ok {
		signal.Deadline = s.deadline(v.now)
		v.do(signal)
		v.wakeAt(signal.Deadline)
		return
	}
	deadline := s.deadline(sent.At)
	if !sent.Deadline.IsZero() && sent.Deadline.Before(deadline) {
		deadline = sent.Deadline
	}
	if !v.now.Before(deadline) {
		v.kill(c.ID, c.Name, fmt.Sprintf("Container %s did not stop within its grace period", c.Name))
		return
	}
	v.wakeAt(deadline)
	if !c.StartedAt.IsZero() && sent.At.Sub(c.StartedAt) < freshFor && sent.At.Add(signalAgain).Before(deadline) {
		again := sent.At.Add(signalAgain)
		if v.now.Before(again) {
			v.wakeAt(again)
			return
		}
		signal.Deadline = deadline
		signal.Reason += ", again: it may not have been ready for the first signal"
		v.do(signal)
	}
}

// signalled returns the stop under way for the target of an ActSignal.
func (v *view) signalled(signal Action) (Signalled, bool) {
	if s, ok := v.in.Signalled[signal.ID]; ok && !s.At.IsZero() {
		return s, true
	}
	if len(v.in.Ops) == 0 {
		return Signalled{}, false
	}
	op, ok := v.in.Ops[signal.Target()]
	return Signalled{At: op.Since, Deadline: op.Action.Deadline}, ok
}

// kill sends SIGKILL, and again to what survives it.
func (v *view) kill(id, name, reason string) {
	if last := v.in.Signalled[id].Killed; !last.IsZero() {
		if again := last.Add(killAgain); v.now.Before(again) {
			v.wakeAt(again)
			return
		}
	}
	v.do(Action{Kind: ActKill, Container: name, ID: id, Reason: reason})
}

// end takes an instance that is not wanted one step towards its end; it
// reports whether nothing is left of it after this answer.
func (p *planner) end(want *Want, in *Instance) (gone bool) {
	v := p.view(in)
	s := stopping{grace: minKill, reason: "Stopping a container of which there is no record"}
	if in.Stray {
		s.since = v.stoppingSince(minKill)
	} else {
		reason := "no manifest asks for the pod any more"
		if want != nil {
			reason = "pod is replaced by a newer version of its manifest" + edited(want)
		}
		if d := deletionOf(p.now, v.rec, in.Asked, reason); d != nil {
			reason := d.Reason
			if in.Record.Deletion != nil {
				reason = fmt.Sprintf("grace period shortened to %ds", d.GraceSeconds)
			}
			v.do(Action{Kind: ActDelete, Deletion: d, Reason: reason})
			v.change().Deletion = d
		}
		s = stopping{since: v.notAfterNow(v.rec.Deletion.At), grace: seconds(v.rec.Deletion.GraceSeconds)}
	}
	if v.stopAll(s) {
		v.wait("waiting until its containers have stopped")
		return false
	}
	if v.anyUnder(ActCreateSandbox, ActStartContainer) {
		v.wait("waiting until a start under way has ended")
		return false
	}
	for i := range in.Observed.Containers {
		c := &in.Observed.Containers[i]
		v.do(Action{Kind: ActRemove, Container: c.Name, ID: c.ID, Attempt: c.Attempt, Reason: "pod has ended"})
	}
	for i := range in.Observed.Sandboxes {
		b := &in.Observed.Sandboxes[i]
		v.do(Action{Kind: ActRemove, ID: b.ID, Attempt: b.Attempt, Force: b.alive(), Reason: "pod has ended"})
	}
	if !in.Observed.Empty() || v.anyUnder(ActSignal, ActKill, ActRemove) {
		v.wait("waiting until its containers are removed")
		return false
	}
	v.do(Action{Kind: ActForget, Reason: "nothing of the pod is left on the engine"})
	return true
}

// notAfterNow keeps a recorded time from lying in the future, where it lies
// after the clock was set back while islet was down.
func (v *view) notAfterNow(t time.Time) time.Time {
	if t.After(v.now) {
		return v.now
	}
	return t
}

// edited adds what an edit changed to a reason.
func edited(want *Want) string {
	if want.Edit == "" {
		return ""
	}
	return ": " + want.Edit
}

// anyUnder reports whether an action of one of the kinds is under way.
func (v *view) anyUnder(kinds ...ActionKind) bool {
	for _, op := range v.in.Ops {
		for _, k := range kinds {
			if op.Action.Kind == k {
				return true
			}
		}
	}
	return false
}

// stoppingSince is when the stop under way of several containers began, for
// stops that no record dates: the earliest signal that can belong to it.
func (v *view) stoppingSince(grace time.Duration) time.Time {
	oldest := v.now.Add(-grace - time.Duration(len(v.in.Observed.Containers)+1)*minKill)
	since := v.now
	for i := range v.in.Observed.Containers {
		c := &v.in.Observed.Containers[i]
		s, ok := v.in.Signalled[c.ID]
		if ok && s.At.Before(since) && !s.At.Before(oldest) {
			since = s.At
		}
	}
	return since
}
