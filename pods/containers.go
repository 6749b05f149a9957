package pods

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// containers takes the containers in a ready sandbox one step further.
func (v *view) containers(sandbox *Sandbox) {
	v.stopMisplaced(sandbox)
	if v.initContainers(sandbox) {
		v.regularContainers(sandbox)
	}
	v.surplus(sandbox)
}

// stopMisplaced ends runs that should not be: in another sandbox, of a name
// that the pod does not have, older than another live run, or in a state the
// engine cannot name.
func (v *view) stopMisplaced(sandbox *Sandbox) {
	o := &v.in.Observed
	for i := range o.Containers {
		c := &o.Containers[i]
		if !c.alive() {
			continue
		}
		def, _ := ContainerByName(v.rec.Pod, c.Name)
		switch {
		case c.State == StateUnknown:
			v.stopOne(c, "")
		case c.SandboxID != sandbox.ID:
			v.stopOne(c, fmt.Sprintf("Container %s runs in an old sandbox", c.Name))
		case def == nil:
			v.stopOne(c, fmt.Sprintf("Container %s is not in the spec of the pod", c.Name))
		case newestRun(o, c.Name, "") != c:
			v.stopOne(c, fmt.Sprintf("Container %s runs twice", c.Name))
		}
	}
}

// stopOne ends one run with the grace of the pod.
func (v *view) stopOne(c *Container, reason string) {
	since := v.now
	if sent, ok := v.signalled(Action{Kind: ActSignal, ID: c.ID}); ok {
		since = sent.At
	}
	v.stop(c, stopping{since: since, grace: seconds(EffectiveGrace(v.rec.Pod)), reason: reason})
}

// redefined ends a run whose definition has changed and has the new image
// looked up meanwhile; it reports whether it did.
func (v *view) redefined(def *v1.Container, run *Container) bool {
	if sameDefinition(def, run.Hash) {
		return false
	}
	v.stopOne(run, fmt.Sprintf("Container %s definition changed, will be restarted", def.Name))
	v.image(def)
	v.wait("waiting until container %s has stopped: its definition changed", def.Name)
	return true
}

// initContainers takes the init containers one step further and reports
// whether the regular ones may be looked at. Only runs in this sandbox count,
// be they on the engine or on record.
// The furthest container that has a run decides: up to it plain ones have
// succeeded, and sidecars that ended are started again without holding up
// anything. Once a regular container has a run only sidecars matter.
func (v *view) initContainers(sandbox *Sandbox) bool {
	init := v.rec.Pod.Spec.InitContainers
	initialized := len(init) == 0
	for i := range v.rec.Pod.Spec.Containers {
		initialized = initialized || v.hasRun(v.rec.Pod.Spec.Containers[i].Name, sandbox)
	}
	furthest := len(init) - 1
	for !initialized && furthest >= 0 && !v.hasRun(init[furthest].Name, sandbox) {
		furthest--
	}
	for i := 0; i <= furthest; i++ {
		c := &init[i]
		gate := i == furthest && !initialized
		if restartable(c) {
			if !v.sidecar(c, sandbox) && gate {
				return false
			}
		} else if gate && !v.plainInit(c, sandbox) {
			return false
		}
	}
	if !initialized && furthest+1 < len(init) {
		v.start(&init[furthest+1], TypeInit, sandbox)
		return false
	}
	return true
}

// hasRun reports whether the container has a run in the sandbox, had one of
// which only the record knows, or is being started.
func (v *view) hasRun(name string, sandbox *Sandbox) bool {
	return newestRun(&v.in.Observed, name, sandbox.ID) != nil || v.ranIn(name, sandbox) ||
		v.busy(Action{Kind: ActStartContainer, Container: name})
}

// ranIn reports whether a run of the container in the sandbox is on record.
func (v *view) ranIn(name string, sandbox *Sandbox) bool {
	m, ok := v.memory(name)
	return ok && sandbox != nil && m.Sandbox != "" && m.Sandbox == sandbox.ID
}

// sidecar has a sidecar run and reports whether it does.
func (v *view) sidecar(c *v1.Container, sandbox *Sandbox) (running bool) {
	run := newestRun(&v.in.Observed, c.Name, sandbox.ID)
	if run != nil && run.State == StateRunning {
		return !v.redefined(c, run)
	}
	v.start(c, TypeInit, sandbox)
	return false
}

// plainInit has a plain init container succeed and reports whether it has.
func (v *view) plainInit(c *v1.Container, sandbox *Sandbox) (succeeded bool) {
	run := newestRun(&v.in.Observed, c.Name, sandbox.ID)
	if run != nil && run.State == StateRunning {
		v.wait("waiting for init container %s", c.Name)
		return false
	}
	if m, _ := v.memory(c.Name); m.Run == RunEnded && m.Done && (run == nil || run.Attempt < m.Attempt) {
		return true // somebody has collected it
	}
	if run != nil && run.State == StateExited && !initFailed(terminatedOf(run)) {
		return true
	}
	v.start(c, TypeInit, sandbox)
	return false
}

// regularContainers has every regular container run that is to.
func (v *view) regularContainers(sandbox *Sandbox) {
	for i := range v.rec.Pod.Spec.Containers {
		c := &v.rec.Pod.Spec.Containers[i]
		if run := newestRun(&v.in.Observed, c.Name, ""); run != nil && run.State == StateRunning {
			if run.SandboxID == sandbox.ID {
				v.redefined(c, run)
			}
			continue
		}
		if !v.done(c) {
			v.start(c, TypeRegular, sandbox)
		}
	}
}

// start takes a container that is to run one step towards its next run: its
// back-off, its image, its turn, the start. Without a sandbox it stops before
// the start.
func (v *view) start(c *v1.Container, kind ContainerType, sandbox *Sandbox) {
	if v.busy(Action{Kind: ActStartContainer, Container: c.Name}) {
		v.wait("starting container %s", c.Name)
		return
	}
	if anyAlive(&v.in.Observed, c.Name) {
		return // it is being ended; there are never two
	}
	n := v.nextRun(c, kind, sandbox)
	if n.due.After(v.now) {
		v.wait("%s", crashLoopMessage(n.waits, c.Name, v.rec.Pod))
		v.wakeAt(n.due)
		return
	}
	a := Action{Kind: ActStartContainer, Container: c.Name, Attempt: n.attempt, Restarts: n.restarts, Image: c.Image, Reason: n.reason}
	if until := v.failedUntil(a); until.After(v.now) {
		f := v.in.Failures[c.Name]
		v.wait("container %s: %s: %s", c.Name, f.Reason, f.Message)
		v.wakeAt(until)
		return
	}
	if ready, pending := v.image(c); !ready {
		v.inOrder = v.inOrder || (n.first && pending)
		return
	}
	if sandbox == nil || v.starting || (n.first && v.inOrder) {
		return
	}
	m, _ := v.memory(c.Name)
	m.Attempt, m.Restarts, m.Run = n.attempt, n.restarts, RunTried
	m.Done, m.Rerun, m.Trigger = false, false, false
	if n.backoff > 0 {
		m.Backoff, m.BackoffAt = n.backoff, v.now
	}
	a.Memory = &m
	v.do(a)
	v.starting = true
	v.wait("starting container %s", c.Name)
}

// image has the image of a container looked up. ready: it is at hand for the
// next start; pending: the look-up is under way; neither: it failed and rests.
func (v *view) image(c *v1.Container) (ready, pending bool) {
	if got, ok := v.in.Images[c.Name]; ok && got.Ref == c.Image {
		return true, false
	}
	a := Action{Kind: ActEnsureImage, Container: c.Name, Image: c.Image,
		Reason: fmt.Sprintf("image %q is needed with pull policy %s", c.Image, c.ImagePullPolicy)}
	if until := v.failedUntil(a); until.After(v.now) && !v.busy(a) {
		f := v.in.Failures[c.Name]
		v.wait("container %s: %s: %s", c.Name, f.Reason, f.Message)
		v.wakeAt(until)
		return false, false
	}
	v.do(a)
	v.wait("waiting for image %q", c.Image)
	return false, true
}

// next is the run of a container that comes next.
type next struct {
	attempt, restarts int
	first             bool          // no run was started before
	due               time.Time     // not before; zero: at once
	waits             time.Duration // the back-off that due is made of
	backoff           time.Duration // the back-off of the run after it; 0: unchanged
	reason            string
}

// nextRun numbers the next run of a container and says when it may start.
func (v *view) nextRun(c *v1.Container, kind ContainerType, sandbox *Sandbox) next {
	m, known := v.memory(c.Name)
	run := newestRun(&v.in.Observed, c.Name, "")
	n := next{reason: "Starting container " + c.Name, first: true}
	if run != nil && (!known || run.Attempt >= m.Attempt) {
		n.first = run.State == StateCreated && !known
		n.attempt, n.restarts = run.Attempt+1, max(run.Restarts, m.Restarts)+1
		if run.State == StateCreated {
			n.restarts = max(run.Restarts, m.Restarts)
			if sandbox != nil && run.SandboxID == sandbox.ID {
				n.attempt = run.Attempt // the engine takes the interrupted start over
				n.reason += ", whose start was interrupted"
				return n
			}
		}
	} else if known {
		n.attempt, n.restarts = m.Attempt, m.Restarts
		n.first = m.Run == RunReset || (m.Run == RunTried && m.Attempt == 0)
		if m.Run != RunTried {
			n.attempt, n.restarts = m.Attempt+1, m.Restarts+1
		}
	}
	v.backOff(&n, c, kind, sandbox, m)
	return n
}

// backOff applies the crash-loop back-off to the next run. It counts from the
// end of the newest ended run; init containers begin anew in a new sandbox, and
// so does every container with a new definition. Of containers that all restart
// only the one that began it has to wait.
func (v *view) backOff(n *next, c *v1.Container, kind ContainerType, sandbox *Sandbox, m Memory) {
	if m.Run == RunReset {
		n.reason += ": all containers restart"
		if m.Trigger && m.Last != nil {
			n.due, n.backoff = restartDelay(v.now, m, m.Last.FinishedAt.Time)
			n.waits = m.Backoff
		}
		return
	}
	exit, finished, fresh := m.Last, time.Time{}, m.Rerun
	ended := newestEnded(&v.in.Observed, c.Name)
	switch {
	case ended != nil && (m.Run != RunEnded || ended.Attempt >= m.Attempt):
		if kind == TypeInit && (sandbox == nil || ended.SandboxID != sandbox.ID) {
			return
		}
		finished, exit = ended.FinishedAt, terminatedOf(ended)
		fresh = fresh || !sameDefinition(c, ended.Hash)
	case m.Last != nil && (kind == TypeRegular || v.ranIn(c.Name, sandbox)):
		finished = m.Last.FinishedAt.Time
	default:
		return
	}
	if fresh {
		m.Backoff = 0
	}
	n.due, n.backoff = restartDelay(v.now, m, finished)
	n.waits = m.Backoff
	n.reason = fmt.Sprintf("Restarting container %s: it ended with exit code %d (%s)", c.Name, exit.ExitCode, exit.Reason)
	if fresh {
		n.reason = fmt.Sprintf("Restarting container %s: its definition changed", c.Name)
	}
}

// anyAlive reports whether any run of a container may still execute.
func anyAlive(o *Observed, name string) bool {
	for i := range o.Containers {
		if c := &o.Containers[i]; c.Name == name && c.alive() {
			return true
		}
	}
	return false
}

// newestEnded returns the newest ended run of a container, or nil.
func newestEnded(o *Observed, name string) *Container {
	var newest *Container
	for i := range o.Containers {
		c := &o.Containers[i]
		if c.Name == name && c.State == StateExited && (newest == nil || newer(c, newest)) {
			newest = c
		}
	}
	return newest
}

// crashLoopMessage is the kubelet's message for a container in back-off.
func crashLoopMessage(d time.Duration, name string, pod *v1.Pod) string {
	return fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", d, name, pod.Name, pod.Namespace, pod.UID)
}
