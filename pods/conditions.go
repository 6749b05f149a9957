package pods

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of conditions, as the kubelet words them.
const (
	reasonPodCompleted             = "PodCompleted"
	reasonPodFailed                = "PodFailed"
	reasonSandboxNotReady          = "PodSandboxNotReady"
	reasonContainersNotReady       = "ContainersNotReady"
	reasonContainersNotInitialized = "ContainersNotInitialized"
	reasonReadinessGates           = "ReadinessGatesNotReady"
	reasonRestartAllStarted        = "RestartAllContainersStarted"
	// reasonTerminating is islet's own: a pod is not ready from the moment its
	// end is decided, whatever its containers still do.
	reasonTerminating = "PodTerminating"
)

// conditions fills in the conditions in the order in which the kubelet has them.
func (b *statusOf) conditions(st *v1.PodStatus) {
	containers := b.containersReady(st)
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}
	type dated struct {
		cond v1.PodCondition
		fact time.Time
	}
	list := []dated{
		{b.sandboxReady(), b.sandboxTime()},
		{b.initialized(st), b.initTime(st)},
		{b.podReady(containers), b.readyTime(st)},
		{containers, containersTime(st)},
		{scheduled, time.Time{}},
	}
	if mayRestartAll(b.rec.Pod) {
		list = append(list, dated{b.allRestarting(st), time.Time{}})
	}
	for _, c := range list {
		c.cond.ObservedGeneration = b.rec.Pod.Generation
		c.cond.LastTransitionTime = b.since(c.cond, c.fact)
		st.Conditions = append(st.Conditions, c.cond)
	}
}

// since is when a condition got its status: the time shown before if it has
// not changed, now if it has, and if nothing was shown before the time of the
// fact behind it.
func (b *statusOf) since(c v1.PodCondition, fact time.Time) metav1.Time {
	for i := range b.prev.Conditions {
		p := &b.prev.Conditions[i]
		if p.Type != c.Type {
			continue
		}
		if p.Status == c.Status {
			return p.LastTransitionTime
		}
		return stamp(b.now)
	}
	switch {
	case !fact.IsZero():
		return stamp(fact)
	case !b.rec.StartTime.IsZero():
		return stamp(b.rec.StartTime)
	}
	return stamp(b.now)
}

func (b *statusOf) sandboxReady() v1.PodCondition {
	if b.sandbox != nil {
		return v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
	}
	message := b.why
	if f, ok := b.in.Failures[""]; ok && f.Kind == ActCreateSandbox && !b.stopping {
		message = fmt.Sprintf("%s: %s: %s", message, f.Reason, f.Message)
	}
	return v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionFalse, Reason: reasonSandboxNotReady, Message: message}
}

func (b *statusOf) sandboxTime() time.Time {
	if b.sandbox == nil {
		return time.Time{}
	}
	return b.sandbox.StartedAt
}

func (b *statusOf) initialized(st *v1.PodStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if st.Phase == v1.PodSucceeded {
		c.Reason = reasonPodCompleted
		return c
	}
	if b.ran {
		return c
	}
	var incomplete []string
	for i := range st.InitContainerStatuses {
		cs := &st.InitContainerStatuses[i]
		done := cs.Ready
		if restartable(&b.rec.Pod.Spec.InitContainers[i]) {
			done = *cs.Started
		}
		if !done {
			incomplete = append(incomplete, cs.Name)
		}
	}
	if len(incomplete) > 0 && !b.wasInitialized() {
		c.Status, c.Reason = v1.ConditionFalse, reasonContainersNotInitialized
		c.Message = fmt.Sprintf("containers with incomplete status: %s", incomplete)
	}
	return c
}

// wasInitialized: once a pod was initialized it stays so, also while its init
// containers run again because all containers restart.
func (b *statusOf) wasInitialized() bool {
	for i := range b.prev.Conditions {
		if c := &b.prev.Conditions[i]; c.Type == v1.PodInitialized {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// allRestarting says whether all containers are on their way to a restart. Only
// pods with a rule that asks for it have this condition.
func (b *statusOf) allRestarting(st *v1.PodStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	switch {
	case st.Phase == v1.PodSucceeded:
		c.Reason = reasonPodCompleted
	case st.Phase == v1.PodFailed:
		c.Reason = reasonPodFailed
	case b.restarting:
		c.Status, c.Reason, c.Message = v1.ConditionTrue, reasonRestartAllStarted, "container exited with restart policy rule"
	}
	return c
}

// initTime is when the last init container got as far as it has to.
func (b *statusOf) initTime(st *v1.PodStatus) (t time.Time) {
	for i := range st.InitContainerStatuses {
		cs := &st.InitContainerStatuses[i]
		if s := cs.State.Terminated; s != nil {
			t = later(t, s.FinishedAt.Time)
		}
		if s := cs.State.Running; s != nil {
			t = later(t, s.StartedAt.Time)
		}
	}
	return t
}

func (b *statusOf) containersReady(st *v1.PodStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	switch st.Phase {
	case v1.PodSucceeded:
		c.Reason = reasonPodCompleted
		return c
	case v1.PodFailed:
		c.Reason = reasonPodFailed
		return c
	}
	var unready []string
	for i := range st.InitContainerStatuses {
		if cs := &st.InitContainerStatuses[i]; restartable(&b.rec.Pod.Spec.InitContainers[i]) && !cs.Ready {
			unready = append(unready, cs.Name)
		}
	}
	for i := range b.rec.Pod.Spec.Containers { // in spec order, as the kubelet
		if cs := previousOf(st.ContainerStatuses, b.rec.Pod.Spec.Containers[i].Name); cs != nil && !cs.Ready {
			unready = append(unready, cs.Name)
		}
	}
	if len(unready) > 0 {
		c.Reason = reasonContainersNotReady
		c.Message = fmt.Sprintf("containers with unready status: %s", unready)
		return c
	}
	c.Status = v1.ConditionTrue
	return c
}

// containersTime is when the last container changed.
func containersTime(st *v1.PodStatus) (t time.Time) {
	for i := range st.ContainerStatuses {
		cs := &st.ContainerStatuses[i]
		if s := cs.State.Running; s != nil {
			t = later(t, s.StartedAt.Time)
		}
		if s := endOf(cs); s != nil {
			t = later(t, s.FinishedAt.Time)
		}
	}
	return t
}

func (b *statusOf) podReady(containers v1.PodCondition) v1.PodCondition {
	c := containers
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		if b.rec.Deletion != nil && c.Reason == reasonContainersNotReady {
			c.Reason = reasonTerminating
		}
		return c
	}
	if d := b.rec.Deletion; d != nil {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, reasonTerminating, d.Reason
		return c
	}
	if o := b.rec.Outcome; o != nil {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, reasonTerminating, o.Message
		return c
	}
	var missing []string
	for _, g := range b.rec.Pod.Spec.ReadinessGates {
		missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", g.ConditionType))
	}
	if len(missing) > 0 {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, reasonReadinessGates, strings.Join(missing, ", ")
	}
	return c
}

func (b *statusOf) readyTime(st *v1.PodStatus) time.Time {
	if d := b.rec.Deletion; d != nil {
		return d.At
	}
	if o := b.rec.Outcome; o != nil {
		return o.At
	}
	return containersTime(st)
}
