package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"pgregory.net/rapid"
)

func rule(action v1.ContainerRestartRuleAction, op v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) v1.ContainerRestartRule {
	return v1.ContainerRestartRule{Action: action, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes}}
}

const (
	opIn       = v1.ContainerRestartRuleOnExitCodesOpIn
	opNotIn    = v1.ContainerRestartRuleOnExitCodesOpNotIn
	actRestart = v1.ContainerRestartRuleActionRestart
	actAll     = v1.ContainerRestartRuleActionRestartAllContainers
)

// own gives a container of the scene a restart policy of its own, and rules.
func (s *scene) own(name string, policy v1.ContainerRestartPolicy, rules ...v1.ContainerRestartRule) {
	c, _ := ContainerByName(s.pod(), name)
	c.RestartPolicy, c.RestartPolicyRules = &policy, rules
}

// TestRestartsAreThoseOfKubernetes holds the rules against upstream's.
func TestRestartsAreThoseOfKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: rapid.SampledFrom([]v1.RestartPolicy{"Always", "OnFailure", "Never", ""}).Draw(t, "pod")}}
		c := v1.Container{Name: "c"}
		if rapid.Bool().Draw(t, "own") {
			c.RestartPolicy = ptr(rapid.SampledFrom([]v1.ContainerRestartPolicy{"Always", "OnFailure", "Never"}).Draw(t, "policy"))
			for range rapid.IntRange(0, 3).Draw(t, "rules") {
				r := rule(rapid.SampledFrom([]v1.ContainerRestartRuleAction{actRestart, actAll, "Odd"}).Draw(t, "action"),
					rapid.SampledFrom([]v1.ContainerRestartRuleOnExitCodesOperator{opIn, opNotIn, "Odd"}).Draw(t, "op"),
					rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 3).Draw(t, "codes")...)
				if rapid.IntRange(0, 9).Draw(t, "nil") == 0 {
					r.ExitCodes = nil
				}
				c.RestartPolicyRules = append(c.RestartPolicyRules, r)
			}
		}
		end := &v1.ContainerStateTerminated{ExitCode: rapid.Int32Range(0, 3).Draw(t, "exit")}
		if got, want := again(pod, &c, end), podutil.ContainerShouldRestart(c, pod.Spec, end.ExitCode); got != want {
			t.Errorf("runs again: %t, Kubernetes says %t", got, want)
		}
		upstream, ok := podutil.FindMatchingContainerRestartRule(c, end.ExitCode)
		if got := ruleFor(&c, end); ok != (got != "") || got != upstream.Action {
			t.Errorf("rule %q, Kubernetes finds %q", got, upstream.Action)
		}
		pod.Spec.Containers = []v1.Container{c}
		if got, want := mayRestartAll(pod), podutil.AllContainersCouldRestart(&pod.Spec); got != want {
			t.Errorf("all may restart: %t, Kubernetes says %t", got, want)
		}
	})
}

func TestPlanOwnRestartPolicies(t *testing.T) {
	again := func(code string) []string {
		return []string{"start-container web#1: Restarting container web: it ended with exit code " + code}
	}
	ends := func(pod v1.RestartPolicy, own v1.ContainerRestartPolicy, code int, rules ...v1.ContainerRestartRule) func(s *scene) {
		return func(s *scene) {
			s.spec(func(p *v1.Pod) { p.Spec.RestartPolicy = pod })
			s.own("web", own, rules...)
			s.ends("web", code, at(99))
			s.image("web")
		}
	}
	checkPlan(t, []planRow{
		{name: "Always in a pod that never restarts", change: ends("Never", "Always", 0), actions: again("0 (Completed)"), waiting: "starting container web"},
		{name: "Never in a pod that always restarts", change: ends("Always", "Never", 1)},
		{name: "OnFailure: failure", change: ends("Never", "OnFailure", 1), actions: again("1 (Error)"), waiting: "starting container web"},
		{name: "OnFailure: success", change: ends("Always", "OnFailure", 0)},
		{name: "a rule beats the policy", change: ends("Never", "Never", 42, rule(actRestart, opIn, 41, 42)), actions: again("42 (Error)"), waiting: "starting container web"},
		{name: "a rule that does not fit", change: ends("Never", "Never", 43, rule(actRestart, opIn, 41, 42))},
		{name: "NotIn", change: ends("Never", "Never", 43, rule(actRestart, opNotIn, 0)), actions: again("43 (Error)"), waiting: "starting container web"},
		{name: "NotIn does not fit", change: ends("Never", "Never", 0, rule(actRestart, opNotIn, 0))},
		{
			name: "back-off holds for rules too",
			change: func(s *scene) {
				ends("Never", "Never", 42, rule(actRestart, opIn, 42))(s)
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 20*time.Second, at(98) })
			},
			wake: at(119), waiting: "back-off 20s restarting failed container=web pod=web_default(u1)",
		},
		{
			name: "what vanished has no exit code: the policy decides",
			change: func(s *scene) {
				s.own("web", "Never", rule(actRestart, opNotIn, 0), rule(actAll, opNotIn, 0))
				s.vanish("web")
			},
			actions: []string{"remember web#0: container is gone from the engine and its end was not seen"},
		},
		{
			name: "a plain init container that never restarts ends the pod", from: starting,
			change: func(s *scene) {
				s.own("setup", "Never")
				s.add("setup", StateExited)
				s.ends("setup", 3, at(99))
			},
			actions: []string{"finish: a container has failed and does not run again", "kill box0: pod has finished"},
		},
		{
			name: "one with a rule runs again", from: starting,
			change: func(s *scene) {
				s.own("setup", "Never", rule(actRestart, opIn, 3))
				s.add("setup", StateExited)
				s.ends("setup", 3, at(99))
				s.image("setup")
			},
			actions: []string{"start-container setup#1: Restarting container setup: it ended with exit code 3 (Error)"},
			waiting: "starting container setup",
		},
		{
			name: "one that runs again on failure in a pod that never does", from: starting,
			change: func(s *scene) {
				s.spec(func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.own("setup", "OnFailure")
				s.add("setup", StateExited)
				s.ends("setup", 3, at(99))
				s.image("setup")
			},
			actions: []string{"start-container setup#1: Restarting container setup: it ended with exit code 3 (Error)"},
			waiting: "starting container setup",
		},
		{
			name: "the sandbox of a pod that never restarts is lost, a container has a policy of its own",
			change: func(s *scene) {
				s.spec(func(p *v1.Pod) { p.Spec.RestartPolicy, p.Spec.InitContainers = v1.RestartPolicyNever, nil })
				s.own("web", "Always")
				s.in().Observed.Sandboxes[0].State = StateExited
				s.in().Observed.Containers = s.in().Observed.Containers[2:]
				s.ends("web", 255, at(99))
				s.ends("app", 0, at(98))
				s.image("web")
			},
			actions: []string{
				"remove box0: Pod sandbox changed, it will be killed and re-created.",
				"create-sandbox #1: Pod sandbox changed, it will be killed and re-created.",
			},
			waiting: "creating its sandbox",
		},
		{
			name: "and none has",
			change: func(s *scene) {
				s.spec(func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.in().Observed.Sandboxes[0].State = StateExited
				for _, c := range []string{"log", "web", "app"} {
					s.ends(c, 255, at(99))
				}
			},
			actions: []string{"finish: a container has failed and does not run again"},
		},
	})
}

// restarting is a pod whose container web has just ended with a code that has
// all containers restart.
func restarting() *scene {
	s := running()
	s.own("web", "Never", rule(actAll, opIn, 42))
	s.ends("web", 42, at(99))
	return s
}

const why42 = "All containers restart: container web ended with exit code 42 and its restart rule says so"

func TestPlanRestartAll(t *testing.T) {
	stopped := func() *scene {
		s := restarting()
		s.ends("log", 143, at(99))
		s.ends("app", 137, at(99))
		return s
	}
	needSetup := needs("setup", "setup:1", "IfNotPresent")
	checkPlan(t, []planRow{
		{
			name: "the others are signalled, with two seconds", from: restarting,
			actions: []string{"signal log#0: " + why42, "signal app#0: " + why42},
			wake:    at(102), waiting: "all containers restart: waiting until they have stopped",
		},
		{
			name: "an end that is seen for the first time", from: restarting,
			change: func(s *scene) { s.memory("web", func(m *Memory) { *m = Memory{Run: RunStarted} }) },
			actions: []string{
				"remember web#0: container ended with exit code 42 (Error)",
				"signal log#0: " + why42, "signal app#0: " + why42,
			},
			wake: at(102), waiting: "all containers restart: waiting until they have stopped",
		},
		{
			name: "then killed", from: restarting,
			change: func(s *scene) {
				for _, id := range []string{"log0", "app0"} {
					s.in().Signalled[id] = Signalled{At: at(98), Deadline: at(100)}
				}
			},
			actions: []string{
				"kill log#0: Container log did not stop within its grace period",
				"kill app#0: Container app did not stop within its grace period",
			},
			waiting: "all containers restart: waiting until they have stopped",
		},
		{
			name: "a start under way is waited for", from: stopped,
			change:  func(s *scene) { s.under(Action{Kind: ActStartContainer, Container: "app"}, at(99)) },
			waiting: "all containers restart: waiting until they have stopped",
		},
		{
			name: "all are removed, the one that began it last", from: stopped,
			actions: []string{"remove setup#0: " + why42, "remove log#0: " + why42, "remove app#0: " + why42},
			waiting: "all containers restart: waiting until the old ones are removed",
		},
		{
			name: "now that one", from: stopped,
			change: func(s *scene) {
				for _, c := range []string{"setup", "log", "app"} {
					s.vanish(c)
				}
			},
			actions: []string{"remove web#0: " + why42},
			waiting: "all containers restart: waiting until the old ones are removed",
		},
		{
			name: "and everything starts over", from: stopped,
			change: func(s *scene) { s.in().Observed.Containers = nil },
			actions: []string{
				"remember setup#0: " + why42, "remember log#0: " + why42, "remember web#0: " + why42, "remember app#0: " + why42,
				needSetup,
			},
			waiting: `waiting for image "setup:1"`,
		},
		{
			name: "without its sandbox too", from: stopped,
			change: func(s *scene) { s.in().Observed = Observed{} },
			actions: []string{
				"remember setup#0: " + why42, "remember log#0: " + why42, "remember web#0: " + why42, "remember app#0: " + why42,
				"create-sandbox #0: no pod sandbox exists", needSetup,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "the pod must end", from: restarting,
			change:  func(s *scene) { s.want = nil },
			actions: []string{"delete: no manifest asks for the pod any more", "signal app#0: Stopping container app"},
			wake:    at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a sidecar can begin it",
			change: func(s *scene) {
				s.own("log", "Always", rule(actAll, opNotIn, 0))
				s.ends("log", 1, at(99))
			},
			actions: []string{
				"signal web#0: All containers restart: container log ended with exit code 1 and its restart rule says so",
				"signal app#0: All containers restart: container log ended with exit code 1 and its restart rule says so",
			},
			wake: at(102), waiting: "all containers restart: waiting until they have stopped",
		},
		{
			name: "a sidecar that is stopped for its edit does not",
			change: func(s *scene) {
				s.own("log", "Always", rule(actAll, opNotIn, 0))
				s.endsUnseen("log", 143, at(99))
				s.run("log").Hash = "old"
				s.image("log")
			},
			actions: []string{
				"remember log#0: container ended with exit code 143 (Error)",
				"start-container log#1: Restarting container log: its definition changed",
			},
			waiting: "starting container log",
		},
		{
			name: "a plain init container can", from: starting,
			change: func(s *scene) {
				s.own("setup", "Never", rule(actAll, opIn, 3))
				s.add("setup", StateExited)
				s.ends("setup", 3, at(99))
			},
			actions: []string{"remove setup#0: All containers restart: container setup ended with exit code 3 and its restart rule says so"},
			waiting: "all containers restart: waiting until the old ones are removed",
		},
	})
}

// TestPlanRestartAllMemory follows what is on record through a whole restart.
func TestPlanRestartAllMemory(t *testing.T) {
	s := restarting()
	s.in().Observed.Containers = nil
	s.memory("web", func(m *Memory) { m.Restarts, m.Attempt, m.Backoff, m.BackoffAt = 2, 2, 20*time.Second, at(95) })
	s.memory("app", func(m *Memory) { m.Run, m.Done, m.Backoff, m.BackoffAt = RunEnded, true, 40*time.Second, at(95) })
	s.memory("log", func(m *Memory) {
		*m = Memory{Run: RunTried, Attempt: 3, Restarts: 3, Last: vanished(at(90)), Sandbox: "box0"}
	})
	delete(s.in().Record.Containers, "setup")
	d := Plan(s.now, s.want, s.have)
	got := map[string]Memory{}
	for _, a := range d.Actions {
		if a.Kind == ActRemember {
			got[a.Container] = *a.Memory
		}
	}
	web := &v1.ContainerStateTerminated{ExitCode: 137, Reason: ReasonRestartingAll, Message: messageRestartingAll,
		StartedAt: stamp(at(3)), FinishedAt: stamp(at(99)), ContainerID: "docker://web0"}
	want := map[string]Memory{
		"web": {Restarts: 2, Attempt: 2, Run: RunReset, Trigger: true, Last: web, Backoff: 20 * time.Second, BackoffAt: at(95)},
		"app": {Run: RunReset, Last: resetEnd(nil), Backoff: 40 * time.Second, BackoffAt: at(95)},
		"log": {Run: RunTried, Attempt: 3, Restarts: 3, Last: resetEnd(vanished(at(90)))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	// Init containers have run again: now the one that began it waits its
	// back-off, the other does not.
	for name, m := range got {
		s.in().Record.Containers[name] = m
	}
	s.add("setup", StateExited)
	s.add("log", StateRunning).Attempt = 3
	s.memory("log", func(m *Memory) { m.Attempt, m.Restarts = 3, 3 })
	s.image("web")
	s.image("app")
	d = Plan(s.now, s.want, s.have)
	if diff := cmp.Diff([]string{"start-container app#1: Starting container app: all containers restart"}, lines(d)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if !d.Wake.Equal(at(119)) || d.Actions[0].Restarts != 1 || d.Actions[0].Memory.Trigger || d.Actions[0].Memory.Backoff != 40*time.Second {
		t.Errorf("wake %v, start %+v", d.Wake, d.Actions[0])
	}
	s.in().Record.Containers["app"] = Memory{Run: RunStarted, Attempt: 1, Restarts: 1}
	s.add("app", StateRunning).Attempt = 1
	s.memory("app", func(m *Memory) { m.Attempt, m.Restarts = 1, 1 })
	s.now = at(119)
	d = Plan(s.now, s.want, s.have)
	if len(d.Actions) != 1 || d.Actions[0].Container != "web" || d.Actions[0].Attempt != 3 || d.Actions[0].Memory.Backoff != 40*time.Second {
		t.Errorf("after the back-off: %v", lines(d))
	}
}

func TestPlanDeadline(t *testing.T) {
	limit := func(seconds int64) func() *scene {
		return func() *scene {
			s := running()
			s.spec(func(pod *v1.Pod) { pod.Spec.ActiveDeadlineSeconds = &seconds })
			return s
		}
	}
	over := []string{
		"finish: Pod was active on the node longer than the specified deadline",
		"signal web#0: Stopping container web",
		"signal app#0: Stopping container app",
	}
	const stopping = "finished: waiting until its containers have stopped"
	checkPlan(t, []planRow{
		{name: "not yet", from: limit(101), wake: at(101)},
		{name: "now: with the grace of the pod", from: limit(100), actions: over, wake: at(130), waiting: stopping},
		{name: "long ago", from: limit(1), actions: over, wake: at(130), waiting: stopping},
		{
			name: "it counts from the start time that the status shows", from: limit(100),
			change:  func(s *scene) { s.in().Record.StartTime = at(0.9) },
			actions: over, wake: at(130), waiting: stopping,
		},
		{
			name: "lowered in place", from: limit(1000),
			change:  func(s *scene) { s.edit(func(pod *v1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr(int64(50)) }) },
			actions: append([]string{"update: generation 2 of the spec is put in force"}, over...),
			wake:    at(130), waiting: stopping,
		},
		{
			name: "what had succeeded before has succeeded", from: limit(99),
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.ends("web", 0, at(50))
				s.ends("app", 0, at(99))
			},
			actions: []string{"finish: all containers have succeeded", "signal log#0: Stopping container log"},
			wake:    at(130), waiting: stopping,
		},
		{
			name: "what succeeded after it has not", from: limit(90),
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.ends("web", 0, at(50))
				s.ends("app", 0, at(99))
			},
			actions: []string{over[0], "signal log#0: Stopping container log"},
			wake:    at(130), waiting: stopping,
		},
		{
			name: "in the middle of a restart of all", from: limit(100),
			change:  func(s *scene) { s.own("web", "Never", rule(actAll, opIn, 42)); s.ends("web", 42, at(99)) },
			actions: []string{over[0], over[2]}, wake: at(130), waiting: stopping,
		},
		{
			name: "while the sandbox is made", from: limit(100),
			change: func(s *scene) {
				s.in().Observed = Observed{}
				s.in().Record.Containers = map[string]Memory{}
				s.under(Action{Kind: ActCreateSandbox}, at(99))
			},
			actions: []string{over[0]}, waiting: "finished: waiting until a start under way has ended",
		},
		{
			name: "a pod that ends already", from: limit(100),
			change: func(s *scene) {
				s.want = nil
				s.in().Record.Deletion = &Deletion{At: at(99), GraceSeconds: 30, Reason: "r"}
			},
			actions: over[1:], wake: at(129), waiting: "waiting until its containers have stopped",
		},
	})
}

// What an init container has done counts in its sandbox, also when nothing of
// it is left on the engine.
func TestPlanRemembersInit(t *testing.T) {
	collected := func() *scene {
		s := starting()
		s.add("setup", StateExited)
		s.memory("setup", func(m *Memory) { m.Sandbox = "box0" })
		s.vanish("setup")
		return s
	}
	needLog := needs("log", "log:1", "IfNotPresent")
	checkPlan(t, []planRow{
		{name: "collected after its success", from: collected, actions: []string{needLog}, waiting: `waiting for image "log:1"`},
		{
			name: "an earlier failure is still there", from: collected,
			change: func(s *scene) {
				m := s.in().Record.Containers["setup"]
				m.Attempt, m.Restarts = 1, 1
				c := s.add("setup", StateExited)
				c.ExitCode, c.Reason = 3, ReasonError
				s.in().Record.Containers["setup"] = m
			},
			actions: []string{needLog}, waiting: `waiting for image "log:1"`,
		},
		{
			name: "in another sandbox it counts for nothing", from: collected,
			change:  func(s *scene) { s.in().Observed.Sandboxes[0].ID = "box1"; s.image("setup") },
			actions: []string{"start-container setup#1: Starting container setup"}, waiting: "starting container setup",
		},
		{
			name: "a failure is not forgotten, nor its back-off", from: collected,
			change: func(s *scene) {
				s.memory("setup", func(m *Memory) {
					m.Done, m.Backoff, m.BackoffAt = false, 40*time.Second, at(90)
					m.Last = &v1.ContainerStateTerminated{ExitCode: 1, Reason: ReasonError, FinishedAt: stamp(at(95))}
				})
			},
			wake: at(135), waiting: "back-off 40s restarting failed container=setup pod=web_default(u1)",
		},
		{
			name: "all that had ended is collected: only what is to run again runs", change: func(s *scene) {
				s.ends("web", 1, at(99))
				for _, c := range []string{"setup", "log", "web", "app"} {
					s.memory(c, func(m *Memory) { m.Sandbox = "box0" })
				}
				s.ends("app", 0, at(99))
				s.own("app", "Never")
				s.memory("app", func(m *Memory) { m.Sandbox = "box0" })
				for _, c := range []string{"setup", "web", "app"} {
					s.vanish(c)
				}
				s.image("web")
			},
			actions: []string{"start-container web#1: Restarting container web: it ended with exit code 1 (Error)"},
			waiting: "starting container web",
		},
	})
}

func TestPlanDeadContainers(t *testing.T) {
	// Runs 0 to 3 of web have ended, 10 s apart, the last at 90 s.
	dead := func(d DeadPolicy) func() *scene {
		return func() *scene {
			s := running()
			s.vanish("web")
			for i := range 4 {
				c := s.add("web", StateExited)
				c.ID, c.Attempt, c.FinishedAt = "dead"+string(rune('0'+i)), i, at(60+10*float64(i))
			}
			c := s.add("web", StateRunning)
			c.Attempt = 4
			s.memory("web", func(m *Memory) { m.Attempt, m.Restarts = 4, 4 })
			s.have.Dead = d
			return s
		}
	}
	const one, two = "only the newest ended run of a container is kept", "only the 2 newest ended runs of a container are kept"
	checkPlan(t, []planRow{
		{name: "one is kept", from: dead(DeadPolicy{}), actions: []string{"remove web#0: " + one, "remove web#1: " + one, "remove web#2: " + one}},
		{name: "never none", from: dead(DeadPolicy{PerContainer: -1}), actions: []string{"remove web#0: " + one, "remove web#1: " + one, "remove web#2: " + one}},
		{name: "two are kept", from: dead(DeadPolicy{PerContainer: 2}), actions: []string{"remove web#0: " + two, "remove web#1: " + two}},
		{name: "all are kept", from: dead(DeadPolicy{PerContainer: 9})},
		{name: "the young ones too, for a while", from: dead(DeadPolicy{MinAge: 25 * time.Second}),
			actions: []string{"remove web#0: " + one, "remove web#1: " + one}, wake: at(105)},
		{name: "an end in the future is not waited for", from: dead(DeadPolicy{MinAge: time.Second}),
			change:  func(s *scene) { s.in().Observed.Containers[3].FinishedAt = at(9000) },
			actions: []string{"remove web#0: " + one, "remove web#1: " + one, "remove web#2: " + one}},
	})
}

// TestRecoverRecord: of a lost record the labels and times on the engine tell
// the start, the restarts and the back-off.
func TestRecoverRecord(t *testing.T) {
	s := running()
	s.endsUnseen("web", 1, at(99))
	s.run("web").Attempt, s.run("web").Restarts, s.run("web").CreatedAt = 7, 3, at(97)
	s.image("web")
	in := s.in()
	in.Record = RecoverRecord(at(100), in.Record.Key, s.want, in.Observed)
	if r := in.Record; !r.StartTime.Equal(t0) || !r.Initialized || r.UID != "u1" || len(r.Containers) != 0 {
		t.Errorf("record %+v", r)
	}
	d := Plan(s.now, s.want, s.have)
	for _, a := range d.Actions {
		if a.Kind != ActRemember {
			t.Errorf("%s %s: %s", a.Kind, a.Container, a.Reason)
		} else if a.Container == "web" && (a.Memory.Restarts != 3 || a.Memory.Attempt != 7 || a.Memory.Backoff != 40*time.Second || !a.Memory.BackoffAt.Equal(at(97))) {
			t.Errorf("memory of web: %+v", *a.Memory)
		}
	}
	if !d.Wake.Equal(at(139)) {
		t.Errorf("wake %v, want the back-off after three restarts", d.Wake)
	}
	for restarts, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 6: 300 * time.Second, 1 << 40: 300 * time.Second} {
		if got := seriesDelay(restarts); got != want {
			t.Errorf("%d restarts: %v, want %v", restarts, got, want)
		}
	}
}
