package pods

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// restartable reports whether an init container is a sidecar.
func restartable(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// policyOf is the restart policy of a regular or plain init container: its
// own, or else the pod's.
func policyOf(pod *v1.Pod, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// ruleFor is the action of the first restart rule of a container that fits the
// end of a run; "" when none does. Rules need a policy of the container's own,
// and an exit code: that of a run whose end nobody saw is made up.
func ruleFor(c *v1.Container, end *v1.ContainerStateTerminated) v1.ContainerRestartRuleAction {
	if c.RestartPolicy == nil || end.Reason == ReasonContainerStatusUnknown || end.Reason == ReasonRestartingAll {
		return ""
	}
	for i := range c.RestartPolicyRules {
		rule := &c.RestartPolicyRules[i]
		if rule.ExitCodes == nil {
			continue
		}
		in := slices.Contains(rule.ExitCodes.Values, end.ExitCode)
		switch rule.ExitCodes.Operator {
		case v1.ContainerRestartRuleOnExitCodesOpIn:
			if in {
				return rule.Action
			}
		case v1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !in {
				return rule.Action
			}
		}
	}
	return ""
}

// ruled reports whether a rule says by itself that the container runs again.
// Either action does; one that is not known leaves it to the policy.
func ruled(c *v1.Container, end *v1.ContainerStateTerminated) bool {
	switch ruleFor(c, end) {
	case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
		return true
	}
	return end.Reason == ReasonRestartingAll
}

// again reports whether a regular container runs again after a run that ended
// like this: its rules decide, then its own policy, then the pod's.
func again(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	if ruled(c, end) {
		return true
	}
	switch policyOf(pod, c) {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return end.ExitCode != 0
	}
	return true
}

// initAgain reports whether a plain init container runs again after a run that
// failed like this.
func initAgain(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return ruled(c, end) || policyOf(pod, c) != v1.RestartPolicyNever
}

// initFailed reports whether a plain init container has failed: the memory
// killer counts as failure even with exit code 0, as a child may have been hit.
func initFailed(t *v1.ContainerStateTerminated) bool {
	return t.ExitCode != 0 || t.Reason == ReasonOOMKilled
}

// mayRestartAll reports whether any rule of the pod can have all its containers
// restarted.
func mayRestartAll(pod *v1.Pod) bool {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for j := range list[i].RestartPolicyRules {
				if list[i].RestartPolicyRules[j].Action == v1.ContainerRestartRuleActionRestartAllContainers {
					return true
				}
			}
		}
	}
	return false
}

// triggers reports whether the end that is remembered of a container has all
// containers of its pod restart. That is so until the container is reset, so
// it outlasts islet. A run that was stopped because its definition changed did
// not end by itself.
func triggers(c *v1.Container, m Memory) bool {
	return m.Run == RunEnded && m.Last != nil && !m.Rerun &&
		ruleFor(c, m.Last) == v1.ContainerRestartRuleActionRestartAllContainers
}

// trigger returns the first container whose end has all containers restart,
// init containers first; nil if none does.
func trigger(pod *v1.Pod, memory func(name string) (Memory, bool)) *v1.Container {
	if !mayRestartAll(pod) {
		return nil
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if m, ok := memory(list[i].Name); ok && triggers(&list[i], m) {
				return &list[i]
			}
		}
	}
	return nil
}

// restartAll takes a pod of which all containers are to restart one step
// further: what runs is ended at once, everything is removed, those that began
// it last, and each container is put on record as reset. It reports whether the
// pod may go on, as if none of its containers had run yet.
func (v *view) restartAll() (done bool) {
	by := trigger(v.rec.Pod, v.memory)
	if by == nil {
		return true
	}
	m, _ := v.memory(by.Name)
	reason := fmt.Sprintf("All containers restart: container %s ended with exit code %d and its restart rule says so", by.Name, m.Last.ExitCode)
	if v.endForRestart(reason) || v.anyUnder(ActStartContainer, ActCreateSandbox) {
		v.wait("all containers restart: waiting until they have stopped")
		return false
	}
	if v.removeForRestart(reason) || v.anyUnder(ActSignal, ActKill, ActRemove) {
		v.wait("all containers restart: waiting until the old ones are removed")
		return false
	}
	for _, list := range [][]v1.Container{v.rec.Pod.Spec.InitContainers, v.rec.Pod.Spec.Containers} {
		for i := range list {
			v.reset(&list[i], reason)
		}
	}
	return true
}

// endForRestart ends what runs, all at once and with the least grace there is,
// which leaves no time for preStop hooks. It reports whether anything may still execute.
func (v *view) endForRestart(reason string) (alive bool) {
	for i := range v.in.Observed.Containers {
		if c := &v.in.Observed.Containers[i]; c.alive() {
			alive = true
			v.stop(c, stopping{since: v.now, reason: reason})
		}
	}
	return alive
}

// removeForRestart removes all containers; those whose end began it go last, so
// that even the engine alone tells what is going on. It reports whether any is
// left.
func (v *view) removeForRestart(reason string) (left bool) {
	remove := func(begun bool) {
		for i := range v.in.Observed.Containers {
			c := &v.in.Observed.Containers[i]
			def, _ := ContainerByName(v.rec.Pod, c.Name)
			source := false
			if def != nil {
				m, ok := v.memory(c.Name)
				source = ok && triggers(def, m) && newestRun(&v.in.Observed, c.Name, "") == c
			}
			if source == begun {
				left = true
				v.do(Action{Kind: ActRemove, Container: c.Name, ID: c.ID, Attempt: c.Attempt, Reason: reason})
			}
		}
	}
	if remove(false); !left {
		remove(true)
	}
	return left
}

// reset puts on record that a container starts over. One that never ran has
// nothing to start over, and one whose restart came to nothing has its next run
// numbered already.
func (v *view) reset(c *v1.Container, reason string) {
	m, known := v.memory(c.Name)
	if !known || (m.Run == RunTried && m.Last == nil) {
		return
	}
	began := triggers(c, m)
	if m.Run != RunTried {
		m.Run = RunReset
	}
	m.Trigger, m.Done, m.Rerun, m.Sandbox, m.Last = began, false, false, "", resetEnd(m.Last)
	v.note(c.Name, m, reason)
}

// resetEnd is how the status shows the end of a run that was removed because
// all containers restart; when and what it was stays true.
func resetEnd(last *v1.ContainerStateTerminated) *v1.ContainerStateTerminated {
	end := &v1.ContainerStateTerminated{ExitCode: 137, Reason: ReasonRestartingAll, Message: messageRestartingAll}
	if last != nil {
		end.StartedAt, end.FinishedAt, end.ContainerID = last.StartedAt, last.FinishedAt, last.ContainerID
	}
	return end
}
