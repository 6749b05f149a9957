package pods

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	reasonSandboxChanged = "Pod sandbox changed, it will be killed and re-created."
	reasonSurplus        = "only the newest ended run of a container is kept"
	messageRestartingAll = "The container is removed because RestartAllContainers in place"
	messageDeadline      = "Pod was active on the node longer than the specified deadline"

	// ReasonDeadlineExceeded is the reason of a pod that was active for too long.
	ReasonDeadlineExceeded = "DeadlineExceeded"
)

// live plans for the instance that is to run. blocked: something of another
// instance is still there, so nothing may start yet.
func (p *planner) live(want *Want, in *Instance, blocked bool) {
	v := p.view(in)
	if v.rec.Pod == nil || want.Pod.Generation > v.rec.Pod.Generation {
		v.do(Action{Kind: ActUpdate, Reason: fmt.Sprintf("generation %d of the spec is put in force", want.Pod.Generation) + edited(want)})
		v.change().Pod = want.Pod
	}
	if v.rec.Outcome != nil {
		v.finished()
		return
	}
	v.rememberAll()
	if v.overdue() {
		return
	}
	switch {
	case want.Unsupported != "" && !v.begun():
		v.wait("%s: %s", ReasonUnsupportedByEngine, want.Unsupported)
	case blocked:
		v.wait("waiting until the predecessor is gone")
	default:
		v.run()
	}
}

// run takes a pod that is to run one step further.
func (v *view) run() {
	if !v.restartAll() {
		return
	}
	reason := sandboxChanged(v.rec.Pod, &v.in.Observed)
	if reason == "" && !v.anyUnder(ActCreateSandbox) {
		if o := v.outcome(false); o != nil {
			v.finish(o)
			return
		}
		sandbox, _ := newestSandbox(&v.in.Observed)
		v.containers(sandbox)
		return
	}
	if v.anyUnder(ActCreateSandbox) {
		v.wait("creating its sandbox")
		v.prefetch()
		return
	}
	v.resandbox(reason)
}

// sandboxChanged says why the pod needs another sandbox than it has; "" if it
// does not.
func sandboxChanged(pod *v1.Pod, o *Observed) string {
	newest, running := newestSandbox(o)
	switch {
	case newest == nil:
		return "no pod sandbox exists"
	case running > 1:
		return "multiple pod sandboxes are ready and need to be reconciled"
	case newest.State != StateRunning:
		return "pod sandbox is not ready"
	case newest.HostNetwork != pod.Spec.HostNetwork:
		return "network namespace mode changed and sandbox needs to be recreated"
	}
	return ""
}

// resandbox ends all that runs in sandboxes that will not do and makes a new one.
func (v *view) resandbox(reason string) {
	grace := seconds(EffectiveGrace(v.rec.Pod))
	if v.stopAll(stopping{since: v.stoppingSince(grace), grace: grace, reason: reasonSandboxChanged}) {
		v.wait("%s: waiting until its containers have stopped", reason)
		return
	}
	if o := v.outcome(true); o != nil {
		v.finish(o)
		return
	}
	running := false
	for i := range v.in.Observed.Sandboxes {
		if b := &v.in.Observed.Sandboxes[i]; b.State == StateRunning {
			running = true
			v.kill(b.ID, "", reasonSandboxChanged)
		}
	}
	if running {
		v.wait("%s: waiting until the old one has stopped", reason)
		return
	}
	create := Action{Kind: ActCreateSandbox, Reason: reason}
	if f := v.in.Failures[""]; v.failedUntil(create).After(v.now) {
		v.wait("%s: %s", f.Reason, f.Message)
		v.wakeAt(v.failedUntil(create))
		return
	}
	v.dropInitResults()
	if newest, _ := newestSandbox(&v.in.Observed); newest != nil {
		create.Attempt = newest.Attempt + 1
		create.Reason = reasonSandboxChanged
	}
	for i := range v.in.Observed.Sandboxes {
		b := &v.in.Observed.Sandboxes[i]
		v.do(Action{Kind: ActRemove, ID: b.ID, Attempt: b.Attempt, Force: b.alive(), Reason: reasonSandboxChanged})
	}
	v.do(create)
	v.wait("creating its sandbox")
	v.prefetch()
}

// dropInitResults removes ended init containers, whose results do not count in
// a new sandbox: all of them run again there.
func (v *view) dropInitResults() {
	for i := range v.in.Observed.Containers {
		c := &v.in.Observed.Containers[i]
		if IsInit(v.rec.Pod, c.Name) {
			v.do(Action{Kind: ActRemove, Container: c.Name, ID: c.ID, Attempt: c.Attempt, Reason: reasonSandboxChanged})
		}
	}
}

// prefetch has the images of what starts first looked up while the sandbox is
// being made.
func (v *view) prefetch() {
	if init := v.rec.Pod.Spec.InitContainers; len(init) > 0 {
		v.start(&init[0], TypeInit, nil)
		return
	}
	for i := range v.rec.Pod.Spec.Containers {
		if c := &v.rec.Pod.Spec.Containers[i]; !v.done(c) {
			v.start(c, TypeRegular, nil)
		}
	}
}

// finish records the outcome and goes on with the end of what still runs.
func (v *view) finish(o *Outcome) {
	reason := "all containers have succeeded"
	if o.Phase != v1.PodSucceeded {
		reason = "a container has failed and does not run again"
	}
	if o.Message != "" {
		reason = o.Message
	}
	v.do(Action{Kind: ActFinish, Outcome: o, Reason: reason})
	v.change().Outcome = o
	v.finished()
}

// finished ends what still runs of a pod whose outcome is known: sidecars,
// then the sandbox. The newest ended run of each container stays for its log.
func (v *view) finished() {
	grace := seconds(EffectiveGrace(v.rec.Pod))
	if v.stopAll(stopping{since: v.notAfterNow(v.rec.Outcome.At), grace: grace}) {
		v.wait("finished: waiting until its containers have stopped")
		return
	}
	if v.anyUnder(ActCreateSandbox) {
		v.wait("finished: waiting until a start under way has ended")
		return
	}
	newest, _ := newestSandbox(&v.in.Observed)
	for i := range v.in.Observed.Sandboxes {
		b := &v.in.Observed.Sandboxes[i]
		if b == newest && b.State == StateRunning {
			v.kill(b.ID, "", "pod has finished")
		}
	}
	v.surplus(nil)
}

// overdue ends a pod that was active for longer than it may be: since its start
// time as the status shows it, for activeDeadlineSeconds. What had finished by
// itself before that keeps its outcome. It reports whether the pod has ended.
func (v *view) overdue() bool {
	limit := v.rec.Pod.Spec.ActiveDeadlineSeconds
	if limit == nil || v.rec.StartTime.IsZero() {
		return false
	}
	deadline := stamp(v.rec.StartTime).Add(seconds(*limit))
	if v.now.Before(deadline) {
		v.wakeAt(deadline)
		return false
	}
	o := v.outcome(false)
	if o == nil || v.lastEnd().After(deadline) {
		o = &Outcome{Phase: v1.PodFailed, Reason: ReasonDeadlineExceeded, Message: messageDeadline, At: v.now}
	}
	v.finish(o)
	return true
}

// lastEnd is when the last regular container ended.
func (v *view) lastEnd() (t time.Time) {
	for i := range v.rec.Pod.Spec.Containers {
		if m, _ := v.memory(v.rec.Pod.Spec.Containers[i].Name); m.Last != nil {
			t = later(t, m.Last.FinishedAt.Time)
		}
	}
	return t
}

// outcome decides whether the pod has finished for good. lost: its sandbox is
// gone and nothing runs; a pod that never restarts is then over once one of
// its containers had started, as the others would start in another pod life.
func (v *view) outcome(lost bool) *Outcome {
	pod := v.rec.Pod
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		m, _ := v.memory(c.Name)
		if !restartable(c) && m.Run == RunEnded && m.Last != nil && initFailed(m.Last) && !initAgain(pod, c, m.Last) {
			return &Outcome{Phase: v1.PodFailed, At: v.now}
		}
	}
	phase, open, ran, restarts := v1.PodSucceeded, false, false, false
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if anyAlive(&v.in.Observed, c.Name) || v.busy(Action{Kind: ActStartContainer, Container: c.Name}) {
			return nil
		}
		m, known := v.memory(c.Name)
		ran = ran || (known && m.Run != RunReset && (m.Run != RunTried || m.Attempt > 0))
		switch {
		case !v.done(c):
			open = true
			// Its own policy, a rule or an edit has it run again, whatever the
			// policy of the pod is.
			restarts = restarts || (m.Last != nil && (m.Rerun || again(pod, c, m.Last)))
		case m.Last.ExitCode != 0:
			phase = v1.PodFailed
		}
	}
	if !open {
		return &Outcome{Phase: phase, At: v.now}
	}
	if lost && ran && !restarts && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
		return &Outcome{Phase: v1.PodFailed, At: v.now,
			Message: "the sandbox of the pod was lost and restartPolicy Never forbids to start it again"}
	}
	return nil
}

// done reports whether a regular container has ended and does not run again.
func (v *view) done(c *v1.Container) bool {
	m, _ := v.memory(c.Name)
	return m.Run == RunEnded && m.Last != nil && !m.Rerun && !again(v.rec.Pod, c, m.Last)
}

// rememberAll notes what is seen of the containers for the first time, so that
// it survives the engine's memory.
func (v *view) rememberAll() {
	for i := range v.rec.Pod.Spec.InitContainers {
		v.remember(&v.rec.Pod.Spec.InitContainers[i], TypeInit)
	}
	for i := range v.rec.Pod.Spec.Containers {
		v.remember(&v.rec.Pod.Spec.Containers[i], TypeRegular)
	}
}

func (v *view) remember(c *v1.Container, kind ContainerType) {
	m, known := v.memory(c.Name)
	run := newestRun(&v.in.Observed, c.Name, "")
	if run == nil || (known && run.Attempt < m.Attempt) {
		if m.Run == RunStarted && !v.busy(Action{Kind: ActStartContainer, Container: c.Name}) {
			m.Run, m.Last = RunEnded, vanished(v.now)
			v.note(c.Name, m, "container is gone from the engine and its end was not seen")
		}
		return
	}
	same := known && m.Attempt == run.Attempt
	switch run.State {
	case StateRunning:
		if same && m.Run == RunStarted && m.Restarts >= run.Restarts {
			return
		}
		m.Run, m.Done, m.Rerun, m.Trigger = RunStarted, false, false, false
	case StateExited:
		if same && (m.Run == RunEnded || m.Run == RunReset) {
			return
		}
		m.Run, m.Last, m.Trigger = RunEnded, terminatedOf(run), false
		m.Rerun = (kind == TypeRegular || restartable(c)) && !sameDefinition(c, run.Hash)
		if kind == TypeRegular {
			m.Done = !m.Rerun && run.ExitCode == 0 && !again(v.rec.Pod, c, m.Last)
		} else {
			m.Done = !restartable(c) && !initFailed(m.Last)
		}
	default:
		return
	}
	if !known && run.Restarts > 0 {
		// The record was lost; how often it ran is on the label of the run.
		m.Backoff, m.BackoffAt = seriesDelay(run.Restarts), run.CreatedAt
	}
	m.Attempt, m.Restarts, m.Sandbox = run.Attempt, max(m.Restarts, run.Restarts), run.SandboxID
	v.note(c.Name, m, noteReason(m))
}

func noteReason(m Memory) string {
	if m.Run == RunStarted {
		return "container is running"
	}
	return fmt.Sprintf("container ended with exit code %d (%s)", m.Last.ExitCode, m.Last.Reason)
}

func (v *view) note(name string, m Memory, reason string) {
	if v.mem == nil {
		v.mem = map[string]Memory{}
	}
	v.mem[name] = m
	v.do(Action{Kind: ActRemember, Container: name, Attempt: m.Attempt, Restarts: m.Restarts, Memory: &m, Reason: reason})
}

// vanished stands for the end of a run that nobody saw.
func vanished(now time.Time) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode: 137, Reason: ReasonContainerStatusUnknown, FinishedAt: stamp(now),
		Message: "The container could not be located when the pod was deleted.  The container used to be Running",
	}
}
