package pods

import (
	"net/netip"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is what the status of a pod needs to know of the machine.
type Node struct {
	Name    string
	HostIPs []string // primary first
}

// Status computes the status of an instance, as the kubelet would report it,
// from its record, what is observed and what failed. It is deterministic in
// its arguments and changes none of them; the result shares nothing with them
// that anybody changes.
//
// What a status must not lose between two looks comes from in.Previous, the
// last result for this instance: the times of conditions that did not change,
// a terminal phase, restart counts, and ends of containers that the engine has
// forgotten. Without it (islet has just started) the times are those of the
// facts themselves: when the sandbox started, when the last container did.
func Status(now time.Time, node Node, in Instance) v1.PodStatus {
	b := newStatus(now, node, &in)
	pod := b.rec.Pod
	if pod == nil {
		return v1.PodStatus{Phase: v1.PodUnknown, StartTime: b.startTime()}
	}
	st := v1.PodStatus{
		ObservedGeneration: pod.Generation,
		QOSClass:           QOS(pod),
		StartTime:          b.startTime(),
	}
	b.addresses(&st)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st.InitContainerStatuses = append(st.InitContainerStatuses, b.container(c, TypeInit, previousOf(b.prev.InitContainerStatuses, c.Name)))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		st.ContainerStatuses = append(st.ContainerStatuses, b.container(c, TypeRegular, previousOf(b.prev.ContainerStatuses, c.Name)))
	}
	sort.Slice(st.ContainerStatuses, func(i, j int) bool {
		return st.ContainerStatuses[i].Name < st.ContainerStatuses[j].Name
	})
	b.phase(&st)
	b.conditions(&st)
	return st
}

// PendingStatus is the status of a wanted pod that has no instance yet: it
// waits for the end of its predecessor, for its source, or for good because
// the engine cannot run it.
func PendingStatus(now time.Time, node Node, want *Want) v1.PodStatus {
	if want == nil || want.Pod == nil {
		return v1.PodStatus{Phase: v1.PodPending}
	}
	in := Instance{Record: Record{Key: KeyOf(want.Pod), UID: want.Pod.UID, Pod: want.Pod}}
	st := Status(now, node, in)
	st.StartTime = nil
	if want.Unsupported == "" {
		return st
	}
	st.Reason, st.Message = ReasonUnsupportedByEngine, want.Unsupported
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: ReasonUnsupportedByEngine, Message: want.Unsupported}}
	for i := range st.InitContainerStatuses {
		st.InitContainerStatuses[i].State = waiting
	}
	for i := range st.ContainerStatuses {
		st.ContainerStatuses[i].State = waiting
	}
	return st
}

// statusOf builds one status.
type statusOf struct {
	now      time.Time
	node     Node
	in       *Instance
	rec      *Record
	prev     v1.PodStatus
	sandbox  *Sandbox // the ready one
	why      string   // there is no ready one
	ran      bool     // a regular container has run
	runs     bool     // any container may still execute
	stopping bool     // being deleted or finished: nothing runs again
	// restarting: all containers are to restart and are not all removed yet.
	restarting bool
}

func newStatus(now time.Time, node Node, in *Instance) *statusOf {
	b := &statusOf{now: now, node: node, in: in, rec: &in.Record}
	b.stopping = in.Record.Deletion != nil || in.Record.Outcome != nil
	if in.Previous != nil {
		b.prev = *in.Previous
	}
	if b.rec.Pod == nil {
		return b
	}
	b.why = sandboxChanged(b.rec.Pod, &in.Observed)
	if b.why == "" {
		b.sandbox, _ = newestSandbox(&in.Observed)
	}
	for i := range in.Observed.Containers {
		c := &in.Observed.Containers[i]
		b.runs = b.runs || c.alive()
		b.ran = b.ran || (c.State != StateCreated && !IsInit(b.rec.Pod, c.Name))
	}
	for name, m := range b.rec.Containers {
		b.ran = b.ran || (m.Run != RunTried && !IsInit(b.rec.Pod, name))
	}
	b.ran = b.ran || b.rec.Initialized
	b.restarting = !b.stopping && trigger(b.rec.Pod, b.memory) != nil
	return b
}

func (b *statusOf) memory(name string) (Memory, bool) {
	m, ok := b.rec.Containers[name]
	return m, ok
}

// startTime is when the instance began; nil when it has not.
func (b *statusOf) startTime() *metav1.Time {
	if b.rec.StartTime.IsZero() {
		return b.prev.StartTime
	}
	t := stamp(b.rec.StartTime)
	return &t
}

// addresses fills in the addresses of the machine and of the pod: at most one
// per family, and once known shown until the end.
func (b *statusOf) addresses(st *v1.PodStatus) {
	for _, ip := range onePerFamily(b.node.HostIPs) {
		st.HostIPs = append(st.HostIPs, v1.HostIP{IP: ip})
	}
	if len(st.HostIPs) > 0 {
		st.HostIP = st.HostIPs[0].IP
	}
	var ips []string
	switch {
	case b.rec.StartTime.IsZero():
		return
	case b.rec.Pod.Spec.HostNetwork:
		ips = b.node.HostIPs
	case b.sandbox != nil && len(b.sandbox.IPs) > 0:
		ips = b.sandbox.IPs
	default:
		ips = b.rec.IPs
	}
	for _, ip := range onePerFamily(ips) {
		st.PodIPs = append(st.PodIPs, v1.PodIP{IP: ip})
	}
	if len(st.PodIPs) == 0 {
		st.PodIPs = b.prev.PodIPs
	}
	if len(st.PodIPs) > 0 {
		st.PodIP = st.PodIPs[0].IP
	}
}

func onePerFamily(ips []string) (kept []string) {
	var v4, v6 bool
	for _, s := range ips {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			continue
		}
		seen := &v6
		if ip.Unmap().Is4() {
			seen = &v4
		}
		if !*seen {
			*seen = true
			kept = append(kept, s)
		}
	}
	return kept
}

func previousOf(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// phase derives the phase from the container statuses. A terminal phase is
// shown only when nothing runs any more, and then stays.
func (b *statusOf) phase(st *v1.PodStatus) {
	if b.prev.Phase == v1.PodSucceeded || b.prev.Phase == v1.PodFailed {
		st.Phase, st.Reason, st.Message = b.prev.Phase, b.prev.Reason, b.prev.Message
		return
	}
	if o := b.rec.Outcome; o != nil {
		if b.runs {
			st.Phase = v1.PodRunning
			return
		}
		st.Phase, st.Reason, st.Message = o.Phase, o.Reason, o.Message
		return
	}
	st.Phase = b.phaseOf(st)
	if b.runs && (st.Phase == v1.PodSucceeded || st.Phase == v1.PodFailed) {
		st.Phase = v1.PodRunning
	}
}

func (b *statusOf) phaseOf(st *v1.PodStatus) v1.PodPhase {
	pod := b.rec.Pod
	pending := false
	for i := range pod.Spec.InitContainers {
		c, cs := &pod.Spec.InitContainers[i], &st.InitContainerStatuses[i]
		if restartable(c) {
			pending = pending || (cs.State.Waiting != nil && cs.LastTerminationState.Terminated == nil) || (!b.ran && cs.State.Running == nil)
			continue
		}
		end := endOf(cs)
		switch {
		case end != nil && initFailed(end) && !initAgain(pod, c, end):
			return v1.PodFailed
		case cs.State.Running != nil:
			pending = true
		case b.ran:
		case cs.State.Terminated == nil && cs.LastTerminationState.Terminated == nil,
			end != nil && initFailed(end):
			pending = true
		}
	}
	var running, stopped, failed, restarts int
	for i := range st.ContainerStatuses {
		cs := &st.ContainerStatuses[i]
		end := endOf(cs)
		switch {
		case cs.State.Running != nil:
			running++
		case end == nil:
			pending = true
		default:
			stopped++
			if end.ExitCode != 0 {
				failed++
			}
			if c, _ := ContainerByName(pod, cs.Name); c != nil && b.mayRestart(c, end) {
				restarts++
			}
		}
	}
	switch {
	case pending:
		return v1.PodPending
	case running > 0 || restarts > 0:
		return v1.PodRunning
	case stopped == 0:
		return v1.PodPending
	case failed > 0:
		return v1.PodFailed
	}
	return v1.PodSucceeded
}

// mayRestart reports whether a regular container with this end runs again.
func (b *statusOf) mayRestart(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	if b.rec.Containers[c.Name].Rerun {
		return true
	}
	return again(b.rec.Pod, c, end)
}

// endOf is the end of the run that the status shows last; nil while it runs
// and before the first.
func endOf(cs *v1.ContainerStatus) *v1.ContainerStateTerminated {
	switch {
	case cs.State.Terminated != nil:
		return cs.State.Terminated
	case cs.State.Running != nil:
		return nil
	}
	return cs.LastTerminationState.Terminated
}
