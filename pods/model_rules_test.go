package pods

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// check reports an action that breaks a rule at the moment it is begun.
func (m *model) check(in *Instance, a Action) {
	switch a.Kind {
	case ActStartContainer:
		m.checkStart(in, a)
	case ActCreateSandbox:
		if in.Record.Deletion != nil || in.Record.Outcome != nil || in.Stray {
			m.fault("sandbox for %s after its end was decided", a.UID)
		}
		for _, r := range m.runs {
			if r.State == StateRunning {
				m.fault("new sandbox while %s runs", r.Name)
			}
		}
	case ActSignal:
		m.checkSignal(in, a)
	case ActKill:
		if r := m.run(a.ID); r != nil {
			if in.Signalled[a.ID].At.IsZero() || m.now.Before(m.first[a.ID].Add(minKill)) {
				m.fault("kill of %s %s after its signal", r.Name, m.now.Sub(m.first[a.ID]))
			}
		}
	}
}

func (m *model) checkStart(in *Instance, a Action) {
	if in.Record.Deletion != nil || in.Record.Outcome != nil || in.Stray {
		m.fault("start of %s after the end of %s was decided", a.Container, a.UID)
		return
	}
	for _, op := range m.under {
		if op.a.Kind == ActStartContainer && !op.lost {
			m.fault("start of %s while %s starts", a.Container, op.a.Container)
		}
	}
	for _, r := range m.runs {
		if r.Name == a.Container && r.State == StateRunning {
			m.fault("start of %s while a copy runs", a.Container)
		}
		if r.uid != a.UID && r.State == StateRunning {
			m.fault("start of %s while %s of another instance runs", a.Container, r.Name)
		}
	}
	if img := in.Images[a.Container]; img.Ref != a.Image || img.Ref == "" {
		m.fault("start of %s without its image", a.Container)
	}
	box, ok := ReadySandbox(in.Observed)
	if !ok {
		m.fault("start of %s without a sandbox", a.Container)
		return
	}
	pod := in.Record.Pod
	for _, r := range m.runs {
		if r.uid == a.UID && m.restartsAll(pod, r) {
			m.fault("start of %s although %s ended with %d and has all restart", a.Container, r.Name, r.ExitCode)
		}
	}
	_, kind := ContainerByName(pod, a.Container)
	started := m.regularStarted(in, box.ID)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if kind == TypeInit && c.Name == a.Container {
			break
		}
		if started {
			break // only restarts of sidecars and regular ones from here on
		}
		if !m.passed[box.ID+"/"+c.Name] {
			m.fault("start of %s before init container %s allows it", a.Container, c.Name)
		}
	}
	if kind == TypeRegular {
		m.checkOnce(in, a)
	}
}

func (m *model) regularStarted(in *Instance, box string) bool {
	for _, r := range m.runs {
		if r.uid == in.Record.UID && r.SandboxID == box && r.Type == TypeRegular {
			return true
		}
	}
	return false
}

// checkOnce: what has ended by itself does not run again against its rules and
// policies.
func (m *model) checkOnce(in *Instance, a Action) {
	mem, code := in.Record.Containers[a.Container], m.ended[a.UID][a.Container]
	c, _ := ContainerByName(in.Record.Pod, a.Container)
	if code == nil || mem.Rerun || mem.Run != RunEnded || mem.Last.Reason == ReasonContainerStatusUnknown {
		return
	}
	if !podutil.ContainerShouldRestart(*c, in.Record.Pod.Spec, int32(*code)) && mem.Last.ExitCode == int32(*code) {
		m.fault("%s runs again although it ended with %d and its policy forbids it", a.Container, *code)
	}
}

// restartsAll reports whether a run has ended in a way that has all containers
// restart.
func (m *model) restartsAll(pod *v1.Pod, r *modelRun) bool {
	c, _ := ContainerByName(pod, r.Name)
	if c == nil || r.State != StateExited || !sameDefinition(c, r.Hash) {
		return false
	}
	for _, other := range m.runs {
		if other.uid == r.uid && other.Name == r.Name && other.Attempt > r.Attempt {
			return false
		}
	}
	rule, ok := podutil.FindMatchingContainerRestartRule(*c, int32(r.ExitCode))
	return ok && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// checkReset: containers start over only when a rule says so, and when nothing
// of them is left; init containers have to run again then.
func (m *model) checkReset(in *Instance, a Action) {
	if a.Memory.Run != RunReset || in.Record.Containers[a.Container].Run == RunReset {
		return
	}
	m.say("%s %s starts over", a.UID, a.Container)
	for _, r := range m.runs {
		if r.uid == a.UID {
			m.fault("%s starts over while %s #%d is still there", a.Container, r.Name, r.Attempt)
		}
	}
	if a.Memory.Trigger {
		c, _ := ContainerByName(in.Record.Pod, a.Container)
		last := in.Record.Containers[a.Container].Last
		rule, ok := podutil.FindMatchingContainerRestartRule(*c, last.ExitCode)
		if !ok || rule.Action != v1.ContainerRestartRuleActionRestartAllContainers {
			m.fault("%s ended with %d and had all containers restart", a.Container, last.ExitCode)
		}
	}
	for _, box := range m.boxes {
		delete(m.passed, box.ID+"/"+a.Container)
	}
}

// checkOutcome: a deadline ends a pod when it is over and not before; nothing
// else ends it while a regular container is to run again.
func (m *model) checkOutcome(in *Instance, o *Outcome) {
	if o.Reason == ReasonDeadlineExceeded {
		if m.now.Before(m.overdue(in)) {
			m.fault("%s ends for its deadline %s too early", in.Record.UID, m.overdue(in).Sub(m.now))
		}
		return
	}
	pod := in.Record.Pod
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		mem := in.Record.Containers[c.Name]
		if !restartable(c) && mem.Run == RunEnded && initFailed(mem.Last) && !restartsAfter(pod, c, mem.Last) {
			return
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		mem := in.Record.Containers[c.Name]
		if mem.Run == RunStarted || (mem.Run == RunEnded && (mem.Rerun || restartsAfter(pod, c, mem.Last))) {
			m.fault("%s finishes although %s is to run again", in.Record.UID, c.Name)
		}
	}
}

// restartsAfter is what Kubernetes says of an end; one that nobody saw has no
// exit code for the rules.
func restartsAfter(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	own := *c
	if end.Reason == ReasonContainerStatusUnknown {
		own.RestartPolicyRules = nil
	}
	return podutil.ContainerShouldRestart(own, pod.Spec, end.ExitCode)
}

// overdue is when the deadline of an instance is over; zero if it has none.
func (m *model) overdue(in *Instance) time.Time {
	limit := in.Record.Pod.Spec.ActiveDeadlineSeconds
	if limit == nil {
		return time.Time{}
	}
	return in.Record.StartTime.Truncate(time.Second).Add(time.Duration(*limit) * time.Second)
}

func (m *model) checkSignal(in *Instance, a Action) {
	if in.Record.Deletion == nil && in.Record.Outcome == nil {
		return
	}
	turn := sidecarIndex(in.Record.Pod, a.Container)
	if turn < 0 {
		return
	}
	for _, r := range m.runs {
		if r.uid != a.UID || r.State != StateRunning || r.ID == a.ID {
			continue
		}
		if n := sidecarIndex(in.Record.Pod, r.Name); n < 0 || n > turn {
			m.fault("sidecar %s is stopped before %s", a.Container, r.Name)
		}
	}
}

// checkEnds reports instances whose containers took longer to end than their
// grace and two seconds for each turn, besides the time of the calls.
func (m *model) checkEnds(sidecars int, perCall time.Duration) {
	for uid, at := range m.stopAt {
		end, ok := m.lastStop[uid]
		if !ok || end.Before(at) || m.podOf(uid) != nil {
			continue
		}
		// Each death of islet loses what was signalled: two seconds more.
		turns := time.Duration(sidecars + 1 + m.deaths)
		bound := later(m.deadline[uid], at).Add(turns * (minKill + 4*perCall))
		if end.After(bound) {
			m.fault("%s took until %s to end, allowed %s", uid, end, bound)
		}
	}
}

// wanted reports how the state differs from what is wanted; "" if it does not.
func (m *model) wanted() string {
	if len(m.under) > 0 {
		return "something is still under way"
	}
	if m.want == nil || m.want.Pod == nil {
		if len(m.insts) > 0 || len(m.boxes) > 0 || len(m.runs) > 0 {
			return fmt.Sprintf("%d instances, %d sandboxes and %d containers are left", len(m.insts), len(m.boxes), len(m.runs))
		}
		return ""
	}
	in := m.insts[m.want.Pod.UID]
	if in == nil || len(m.insts) != 1 {
		return fmt.Sprintf("%d instances, the wanted one is there: %t", len(m.insts), in != nil)
	}
	if in.Record.Pod.Generation != m.want.Pod.Generation {
		return "the newest generation is not in force"
	}
	if due := m.overdue(in); !due.IsZero() && in.Record.Outcome == nil && !m.now.Before(due) {
		return "its deadline was over at " + due.String()
	}
	if in.Record.Outcome != nil {
		for _, r := range m.runs {
			if r.State == StateRunning {
				return r.Name + " runs in a finished pod"
			}
		}
		return ""
	}
	if _, ok := ReadySandbox(in.Observed); !ok || len(m.boxes) != 1 {
		return fmt.Sprintf("%d sandboxes, ready: %t", len(m.boxes), ok)
	}
	return m.containersWanted(in)
}

func (m *model) containersWanted(in *Instance) string {
	var bad []string
	pod := in.Record.Pod
	look := func(c *v1.Container, mustRun bool) {
		var alive, dead int
		for _, r := range m.runs {
			if r.Name != c.Name {
				continue
			}
			if r.State == StateRunning {
				alive++
				if r.Hash != ContainerHash(c) && mustRun {
					bad = append(bad, c.Name+" runs an old definition")
				}
			} else {
				dead++
			}
		}
		if mustRun && alive != 1 {
			bad = append(bad, fmt.Sprintf("%s: %d runs", c.Name, alive))
		}
		if dead > 1 {
			bad = append(bad, fmt.Sprintf("%s: %d ended runs are kept", c.Name, dead))
		}
	}
	for i := range pod.Spec.InitContainers {
		look(&pod.Spec.InitContainers[i], restartable(&pod.Spec.InitContainers[i]))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		mem := in.Record.Containers[c.Name]
		done := mem.Run == RunEnded && mem.Last != nil && !mem.Rerun && !restartsAfter(pod, c, mem.Last)
		look(c, !done)
	}
	return strings.Join(bad, ", ")
}
