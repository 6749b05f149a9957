package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestStatusRestartAll follows the status through a restart of all containers.
func TestStatusRestartAll(t *testing.T) {
	const gone = "waiting RestartingAllContainers: The container is removed because RestartAllContainers in place"
	const started = "RestartAllContainersStarted: container exited with restart policy rule" // of a condition that is True
	s := restarting()
	s.memory("app", func(m *Memory) { m.Restarts = 4 })
	s.run("app").Restarts = 4
	before := Status(s.now, node, *running().in())
	s.in().Previous = &before

	look := func(step string, restarting v1.ConditionStatus, want brief) {
		t.Helper()
		for _, islet := range []string{"", "islet was restarted: "} {
			in := *s.in()
			if islet != "" {
				in.Previous = nil
			}
			st := Status(s.now, node, in)
			got := briefOf(st)
			delete(got.false_, v1.AllContainersRestarting)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(brief{})); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", islet, step, diff)
			}
			c := st.Conditions[len(st.Conditions)-1]
			if c.Type != v1.AllContainersRestarting || c.Status != restarting ||
				(c.Status == v1.ConditionTrue && c.Reason+": "+c.Message != started) {
				t.Errorf("%s%s: last condition %+v", islet, step, c)
			}
			if islet == "" {
				s.in().Previous = &st
			}
		}
	}
	type conds = map[v1.PodConditionType]string
	unready := func(names string) conds {
		text := "ContainersNotReady: containers with unready status: [" + names + "]"
		return conds{v1.PodReady: text, v1.ContainersReady: text}
	}

	look("web has ended", v1.ConditionTrue, brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"),
		restarts:   map[string]int32{"app": 4},
		containers: map[string]string{"setup": "ended Completed", "log": "running", "web": "ended Error", "app": "running"}})

	s.ends("app", 137, at(100))
	s.ends("log", 143, at(100))
	s.vanish("app")
	s.vanish("setup")
	look("half are removed", v1.ConditionTrue, brief{phase: v1.PodRunning,
		notReady: []string{"setup", "log", "app", "web"}, false_: unready("log web app"),
		restarts:   map[string]int32{"setup": 1, "app": 5},
		containers: map[string]string{"setup": gone, "log": "ended Error", "web": "ended Error", "app": gone},
		last:       map[string]string{"setup": "ended RestartingAllContainers", "app": "ended RestartingAllContainers"}})

	s.in().Observed.Containers = nil
	for _, a := range Plan(s.now, s.want, s.have).Actions {
		if a.Kind == ActRemember {
			s.in().Record.Containers[a.Container] = *a.Memory
		}
	}
	all := func(state string) map[string]string {
		return map[string]string{"setup": state, "log": state, "web": state, "app": state}
	}
	counts := map[string]int32{"setup": 1, "log": 1, "web": 1, "app": 5}
	look("all start over", v1.ConditionFalse, brief{phase: v1.PodRunning,
		notReady: []string{"setup", "log", "app", "web"}, false_: unready("log web app"),
		restarts: counts, containers: all(gone), last: all("ended RestartingAllContainers")})

	// A start that is tried and fails counts as the same restart.
	s.memory("setup", func(m *Memory) { m.Run, m.Attempt, m.Restarts, m.Trigger = RunTried, 1, 1, false })
	look("the first is tried", v1.ConditionFalse, brief{phase: v1.PodRunning,
		notReady: []string{"setup", "log", "app", "web"}, false_: unready("log web app"),
		restarts: counts, containers: all(gone), last: all("ended RestartingAllContainers")})

	c := s.add("setup", StateRunning)
	c.ID, c.Attempt, c.Restarts = "setup1", 1, 1
	last := resetEnd(nil)
	s.memory("setup", func(m *Memory) { m.Attempt, m.Restarts, m.Last = 1, 1, last })
	states := all(gone)
	states["setup"] = "running"
	look("init runs again: Pending, and still initialized", v1.ConditionFalse, brief{phase: v1.PodPending,
		notReady: []string{"setup", "log", "app", "web"}, false_: unready("log web app"),
		restarts: counts, containers: states, last: all("ended RestartingAllContainers")})

	c.State, c.Reason, c.FinishedAt = StateExited, ReasonCompleted, at(101)
	s.remember("setup")
	for _, name := range []string{"log", "app"} {
		n := s.in().Record.Containers[name].Restarts + 1
		c := s.add(name, StateRunning)
		c.ID, c.Attempt, c.Restarts = name+"1", 1, n
		s.memory(name, func(m *Memory) { m.Attempt, m.Restarts, m.Last = 1, n, last })
	}
	s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 10*time.Second, at(90) })
	lasts := all("ended RestartingAllContainers")
	states = map[string]string{"setup": "ended Completed", "log": "running", "app": "running",
		"web": "waiting CrashLoopBackOff: back-off 10s restarting failed container=web pod=web_default(u1)"}
	// Of an ended run the one before it is only known as long as islet runs.
	st := Status(s.now, node, *s.in())
	if diff := cmp.Diff(brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"), restarts: counts, containers: states, last: lasts},
		func() brief { b := briefOf(st); delete(b.false_, v1.AllContainersRestarting); return b }(), cmp.AllowUnexported(brief{})); diff != "" {
		t.Errorf("the one that began it waits (-want +got):\n%s", diff)
	}
}

// Only pods with such a rule have the condition; it is over when the pod is.
func TestStatusAllContainersRestarting(t *testing.T) {
	for _, c := range Status(at(100), node, *running().in()).Conditions {
		if c.Type == v1.AllContainersRestarting {
			t.Errorf("condition %+v without a rule", c)
		}
	}
	for phase, reason := range map[v1.PodPhase]string{v1.PodSucceeded: "PodCompleted", v1.PodFailed: "PodFailed"} {
		s := restarting()
		s.in().Observed = Observed{}
		s.in().Record.Outcome = &Outcome{Phase: phase, At: at(99)}
		st := Status(s.now, node, *s.in())
		if c := st.Conditions[len(st.Conditions)-1]; c.Type != v1.AllContainersRestarting || c.Status != v1.ConditionFalse || c.Reason != reason {
			t.Errorf("%s: %+v", phase, c)
		}
	}
}

func TestStatusOfRestartPolicies(t *testing.T) {
	type row struct {
		name   string
		from   func() *scene
		change func(s *scene)
		phase  v1.PodPhase
		web    string // or setup
	}
	never := func(s *scene) { s.spec(func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever }) }
	end := func(web int) func(s *scene) {
		return func(s *scene) {
			never(s)
			s.ends("app", 0, at(99))
			s.ends("web", web, at(99))
			s.ends("log", 0, at(99))
		}
	}
	for _, r := range []row{
		{"all have ended", running, end(1), v1.PodFailed, "ended Error"},
		{"one always restarts", running, func(s *scene) { end(1)(s); s.own("web", "Always") }, v1.PodRunning, "ended Error"},
		{"one restarts on failure", running, func(s *scene) { end(1)(s); s.own("web", "OnFailure") }, v1.PodRunning, "ended Error"},
		{"and has succeeded", running, func(s *scene) { end(0)(s); s.own("web", "OnFailure") }, v1.PodSucceeded, "ended Completed"},
		{"a rule has it restart", running, func(s *scene) { end(42)(s); s.own("web", "Never", rule(actRestart, opIn, 42)) }, v1.PodRunning, "ended Error"},
		{"in back-off", running, func(s *scene) {
			end(42)(s)
			s.own("web", "Never", rule(actRestart, opIn, 42))
			s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 10*time.Second, at(95) })
		}, v1.PodRunning, "waiting CrashLoopBackOff: back-off 10s restarting failed container=web pod=web_default(u1)"},
		{"a rule does not fit", running, func(s *scene) { end(43)(s); s.own("web", "Never", rule(actRestart, opIn, 42)) }, v1.PodFailed, "ended Error"},
		{"init: never", starting, func(s *scene) { s.own("setup", "Never"); s.add("setup", StateExited); s.ends("setup", 1, at(99)) }, v1.PodFailed, "ended Error"},
		{"init: a rule", starting, func(s *scene) {
			s.own("setup", "Never", rule(actRestart, opIn, 1))
			s.add("setup", StateExited)
			s.ends("setup", 1, at(99))
		}, v1.PodPending, "ended Error"},
		{"init: on failure in a pod that never restarts", starting, func(s *scene) {
			never(s)
			s.own("setup", "OnFailure")
			s.add("setup", StateExited)
			s.ends("setup", 1, at(99))
		}, v1.PodPending, "ended Error"},
		{"init is done, its container and what is known of it are gone", running, func(s *scene) {
			s.vanish("setup")
			delete(s.in().Record.Containers, "setup")
		}, v1.PodRunning, "ended Completed"},
		{"init is done, collected, nothing regular has run yet", starting, func(s *scene) { s.add("setup", StateExited); s.vanish("setup") }, v1.PodPending, "ended Completed"},
	} {
		s := r.from()
		r.change(s)
		st := Status(s.now, node, *s.in())
		name := "web"
		if len(r.name) > 4 && r.name[:4] == "init" {
			name = "setup"
		}
		if got := briefOf(st).containers[name]; st.Phase != r.phase || got != r.web {
			t.Errorf("%s: %s, %s; want %s, %s", r.name, st.Phase, got, r.phase, r.web)
		}
	}
}

// TestStatusDeadline: what runs beyond its deadline is not ready any more, and
// Failed when it has stopped.
func TestStatusDeadline(t *testing.T) {
	s := running()
	s.in().Record.Outcome = &Outcome{Phase: v1.PodFailed, Reason: ReasonDeadlineExceeded, Message: messageDeadline, At: at(99)}
	st := Status(s.now, node, *s.in())
	got := briefOf(st)
	if st.Phase != v1.PodRunning || got.false_[v1.PodReady] != "PodTerminating: "+messageDeadline || got.containers["web"] != "running" {
		t.Errorf("still stopping: %s %+v", st.Phase, got)
	}
	for _, c := range []string{"log", "web", "app"} {
		s.ends(c, 143, at(100))
	}
	s.in().Previous = &st
	st = Status(s.now, node, *s.in())
	if st.Phase != v1.PodFailed || st.Reason != "DeadlineExceeded" || st.Message != "Pod was active on the node longer than the specified deadline" {
		t.Errorf("stopped: %s %s %q", st.Phase, st.Reason, st.Message)
	}
}
