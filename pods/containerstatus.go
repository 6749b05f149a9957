package pods

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

const notLocated = "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally"

// container computes the status of one container. prev is its last one, or nil.
func (b *statusOf) container(c *v1.Container, kind ContainerType, prev *v1.ContainerStatus) v1.ContainerStatus {
	m, known := b.rec.Containers[c.Name]
	run := newestRun(&b.in.Observed, c.Name, "")
	cs := v1.ContainerStatus{Name: c.Name, Image: c.Image}
	if prev != nil {
		cs.LastTerminationState, cs.RestartCount = prev.LastTerminationState, prev.RestartCount
		cs.ImageID, cs.ContainerID = prev.ImageID, prev.ContainerID
	}
	if known {
		cs.RestartCount = max(cs.RestartCount, b.restarts(m, run))
	}
	if run != nil {
		cs.RestartCount = max(cs.RestartCount, int32(run.Restarts))
		cs.ContainerID, cs.ImageID = runtimeID(run.ID), run.ImageID
		if run.Image != "" {
			cs.Image = run.Image
		}
	}
	b.state(&cs, c, kind, run, m, prev)
	b.lastState(&cs, run, m, prev)
	b.waiting(&cs, c, kind, m, prev)
	started := cs.State.Running != nil
	cs.Started = &started
	cs.Ready = started && b.ready(c)
	if kind == TypeInit && !restartable(c) {
		cs.Ready = cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0
	}
	return cs
}

// restarts is the restart count that the record knows of. A restart that was
// only asked for has not happened yet; to be reset is one, whatever comes of it.
func (b *statusOf) restarts(m Memory, run *Container) int32 {
	n := int32(m.Restarts)
	switch {
	case run == nil && b.isReset(m) && m.Run != RunTried:
		return n + 1
	case m.Run == RunTried && !b.isReset(m):
		return n - 1
	}
	return n
}

// isReset reports whether the run before the next one is, or is about to be,
// gone because all containers of the pod restart.
func (b *statusOf) isReset(m Memory) bool {
	switch m.Run {
	case RunReset:
		return true
	case RunEnded:
		return b.restarting
	case RunTried:
		return m.Last != nil && m.Last.Reason == ReasonRestartingAll
	}
	return false
}

// ready reports whether a running container counts as ready: nothing but
// running is asked of it as long as its spec has no readiness probe.
func (b *statusOf) ready(*v1.Container) bool { return true }

// state sets what the engine shows of the newest run, or what is remembered of it.
func (b *statusOf) state(cs *v1.ContainerStatus, c *v1.Container, kind ContainerType, run *Container, m Memory, prev *v1.ContainerStatus) {
	switch {
	case run != nil && run.State == StateRunning:
		cs.State.Running = &v1.ContainerStateRunning{StartedAt: stamp(run.StartedAt)}
	case run != nil && run.State == StateExited:
		cs.State.Terminated = terminatedOf(run)
	case run != nil:
		cs.State.Waiting = b.notYet()
	case b.isReset(m):
		cs.State.Waiting = &v1.ContainerStateWaiting{Reason: ReasonRestartingAll, Message: messageRestartingAll}
		cs.LastTerminationState.Terminated = resetEnd(m.Last)
	case prev != nil && prev.State.Terminated != nil:
		cs.State.Terminated = prev.State.Terminated
	case m.Last != nil:
		cs.State.Terminated = m.Last
	case m.Run == RunStarted && b.stopping:
		cs.State.Terminated = vanished(b.now)
	case kind == TypeInit && !restartable(c) && b.ran:
		cs.State.Terminated = &v1.ContainerStateTerminated{ExitCode: 0, Reason: ReasonCompleted, Message: notLocated}
	default:
		cs.State.Waiting = b.notYet()
	}
	if cs.ContainerID == "" && cs.State.Terminated != nil {
		cs.ContainerID = cs.State.Terminated.ContainerID
	}
}

// notYet is the waiting state of a container about which there is nothing to say.
func (b *statusOf) notYet() *v1.ContainerStateWaiting {
	if len(b.rec.Pod.Spec.InitContainers) > 0 {
		return &v1.ContainerStateWaiting{Reason: ReasonPodInitializing}
	}
	return &v1.ContainerStateWaiting{Reason: ReasonContainerCreating}
}

// lastState sets how the run before the one shown ended.
func (b *statusOf) lastState(cs *v1.ContainerStatus, run *Container, m Memory, prev *v1.ContainerStatus) {
	if run == nil {
		return
	}
	var before *Container
	for i := range b.in.Observed.Containers {
		c := &b.in.Observed.Containers[i]
		if c.Name == run.Name && c.State == StateExited && newer(run, c) && (before == nil || newer(c, before)) {
			before = c
		}
	}
	switch {
	case before != nil:
		cs.LastTerminationState.Terminated = terminatedOf(before)
	case prev != nil && prev.State.Terminated != nil && prev.State.Terminated.ContainerID != runtimeID(run.ID):
		cs.LastTerminationState.Terminated = prev.State.Terminated
	case m.Last != nil && m.Last.ContainerID != runtimeID(run.ID):
		cs.LastTerminationState.Terminated = m.Last
	}
	if t := cs.LastTerminationState.Terminated; t != nil && t.ContainerID == runtimeID(run.ID) && run.State == StateExited {
		// It was shown as the last one while the container waited for its next run.
		cs.LastTerminationState = v1.ContainerState{}
	}
}

// waiting turns the status of a container that is to run again, or for the
// first time, into a waiting one when there is a reason to give: a step that
// failed, or the back-off.
func (b *statusOf) waiting(cs *v1.ContainerStatus, c *v1.Container, kind ContainerType, m Memory, prev *v1.ContainerStatus) {
	if cs.State.Running != nil || b.stopping {
		return
	}
	end := cs.State.Terminated
	if end != nil && !b.runsAgain(c, kind, end) {
		return
	}
	w := b.startFailure(c)
	switch {
	case w != nil:
	case end == nil && m.Run == RunReset && m.Trigger && m.Last != nil && backsOff(m, m.Last):
		w = b.backoff(c, m)
	case end == nil:
		return
	case end.Reason == ReasonContainerStatusUnknown:
		w = b.notYet()
	case m.Run == RunTried && prev != nil && prev.State.Waiting != nil:
		w = prev.State.Waiting
	case m.Run == RunEnded && !m.Rerun && backsOff(m, end):
		w = b.backoff(c, m)
	default:
		return
	}
	if end != nil {
		cs.LastTerminationState.Terminated = end
	}
	cs.State = v1.ContainerState{Waiting: w}
}

// backsOff reports whether the run after this end has a back-off to wait for.
func backsOff(m Memory, end *v1.ContainerStateTerminated) bool {
	return m.Backoff > 0 && end.FinishedAt.Sub(m.BackoffAt) <= resetAfter
}

func (b *statusOf) backoff(c *v1.Container, m Memory) *v1.ContainerStateWaiting {
	return &v1.ContainerStateWaiting{Reason: ReasonCrashLoopBackOff, Message: crashLoopMessage(m.Backoff, c.Name, b.rec.Pod)}
}

// runsAgain reports whether an ended container is to run again in a way that
// the status may show: init containers and sidecars that succeeded stay as
// they are.
func (b *statusOf) runsAgain(c *v1.Container, kind ContainerType, end *v1.ContainerStateTerminated) bool {
	if kind == TypeRegular {
		return b.mayRestart(c, end)
	}
	return initFailed(end) && (restartable(c) || initAgain(b.rec.Pod, c, end))
}

// startFailure is the waiting state for a start step that failed; nil if none did.
func (b *statusOf) startFailure(c *v1.Container) *v1.ContainerStateWaiting {
	f, ok := b.in.Failures[c.Name]
	if !ok || (f.Kind != ActEnsureImage && f.Kind != ActStartContainer) || (f.Image != "" && f.Image != c.Image) {
		return nil
	}
	if f.Kind == ActEnsureImage && f.Count > 1 && RetryDelay(f) != retryEvery {
		return &v1.ContainerStateWaiting{Reason: ReasonImagePullBackOff,
			Message: fmt.Sprintf("Back-off pulling image %q: %s: %s", c.Image, f.Reason, f.Message)}
	}
	return &v1.ContainerStateWaiting{Reason: f.Reason, Message: f.Message}
}
