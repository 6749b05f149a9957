package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// starting is the scene after the sandbox was made: no container has run yet.
func starting() *scene {
	s := running()
	s.in().Observed.Containers = nil
	s.in().Record.Containers = map[string]Memory{}
	s.in().Record.Initialized = false
	return s
}

func needs(name, ref, policy string) string {
	return "ensure-image " + name + `#0: image "` + ref + `" is needed with pull policy ` + policy
}

func TestPlanInitContainers(t *testing.T) {
	needSetup := needs("setup", "setup:1", "IfNotPresent")
	checkPlan(t, []planRow{
		{name: "the first one needs its image", from: starting, actions: []string{needSetup}, waiting: `waiting for image "setup:1"`},
		{
			name: "and starts", from: starting, change: func(s *scene) { s.image("setup") },
			actions: []string{"start-container setup#0: Starting container setup"}, waiting: "starting container setup",
		},
		{
			name: "nothing else while it starts", from: starting,
			change:  func(s *scene) { s.image("setup"); s.under(Action{Kind: ActStartContainer, Container: "setup"}, at(99)) },
			waiting: "starting container setup",
		},
		{
			name: "nothing else while it runs", from: starting, change: func(s *scene) { s.add("setup", StateRunning) },
			waiting: "waiting for init container setup",
		},
		{
			name: "a running one keeps running when its image is edited", from: starting,
			change: func(s *scene) {
				s.add("setup", StateRunning)
				s.edit(func(pod *v1.Pod) { pod.Spec.InitContainers[0].Image = "setup:2" })
			},
			actions: []string{"update: generation 2 of the spec is put in force"},
			waiting: "waiting for init container setup",
		},
		{
			name: "after success the sidecar", from: starting, change: func(s *scene) { s.add("setup", StateExited) },
			actions: []string{needs("log", "log:1", "IfNotPresent")}, waiting: `waiting for image "log:1"`,
		},
		{
			name: "a running sidecar opens the gate", from: starting,
			change: func(s *scene) { s.add("setup", StateExited); s.add("log", StateRunning); s.image("web") },
			actions: []string{
				"start-container web#0: Starting container web",
				needs("app", "app:1", "Always"),
			},
			waiting: "starting container web",
		},
		{
			name: "failure: immediately again", from: starting,
			change: func(s *scene) { s.add("setup", StateExited); s.ends("setup", 3, at(99)); s.image("setup") },
			actions: []string{
				"start-container setup#1: Restarting container setup: it ended with exit code 3 (Error)",
			},
			waiting: "starting container setup",
		},
		{
			name: "killed for memory is a failure even with exit code 0", from: starting,
			change: func(s *scene) {
				s.add("setup", StateExited).Reason = ReasonOOMKilled
				s.remember("setup")
				s.image("setup")
			},
			actions: []string{"start-container setup#1: Restarting container setup: it ended with exit code 0 (OOMKilled)"},
			waiting: "starting container setup",
		},
		{
			name: "failure with policy Never ends the pod", from: starting,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.add("setup", StateExited)
				s.ends("setup", 3, at(99))
			},
			actions: []string{
				"finish: a container has failed and does not run again",
				"kill box0: pod has finished",
			},
		},
		{
			name: "a failed sidecar is no way on", from: starting,
			change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.ends("log", 1, at(99))
				s.memory("log", func(m *Memory) { m.Backoff, m.BackoffAt = 10*time.Second, at(90) })
			},
			wake: at(109), waiting: "back-off 10s restarting failed container=log pod=web_default(u1)",
		},
		{
			name: "a sidecar that has opened the gate does not close it", from: starting,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { // log, setup
					in := pod.Spec.InitContainers
					in[0], in[1] = in[1], in[0]
				})
				s.add("log", StateRunning)
				s.ends("log", 1, at(99))
				s.add("setup", StateExited)
				s.image("log")
				s.image("web")
			},
			actions: []string{
				"start-container log#1: Restarting container log: it ended with exit code 1 (Error)",
				needs("app", "app:1", "Always"),
			},
			waiting: "starting container log",
		},
		{
			name: "a sidecar is started again whatever the policy and exit code",
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.ends("log", 0, at(99))
				s.image("log")
			},
			actions: []string{"start-container log#1: Restarting container log: it ended with exit code 0 (Completed)"},
			waiting: "starting container log",
		},
		{
			name: "an image edit of a sidecar restarts only it",
			change: func(s *scene) {
				s.edit(func(pod *v1.Pod) { pod.Spec.InitContainers[1].Image = "log:2" })
			},
			actions: []string{
				"update: generation 2 of the spec is put in force",
				"signal log#0: Container log definition changed, will be restarted",
				needs("log", "log:2", "IfNotPresent"),
			},
			wake: at(130), waiting: `waiting for image "log:2"`,
		},
		{
			name: "results of an old sandbox do not count",
			from: starting,
			change: func(s *scene) {
				s.add("setup", StateExited).SandboxID = "box-1"
				s.image("setup")
			},
			actions: []string{"start-container setup#1: Starting container setup"},
			waiting: "starting container setup",
		},
		{
			name:   "results removed by hand are not missed once regular containers run",
			change: func(s *scene) { s.vanish("setup") },
		},
	})
}

func TestPlanRegularContainers(t *testing.T) {
	never := func() *scene {
		s := running()
		s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
		return s
	}
	checkPlan(t, []planRow{
		{
			name: "an end is noted and the image looked up", change: func(s *scene) { s.endsUnseen("web", 1, at(99)) },
			actions: []string{
				"remember web#0: container ended with exit code 1 (Error)",
				needs("web", "web:1", "IfNotPresent"),
			},
			waiting: `waiting for image "web:1"`,
		},
		{
			name: "the first restart is immediate", change: func(s *scene) { s.ends("web", 1, at(99)); s.image("web") },
			actions: []string{"start-container web#1: Restarting container web: it ended with exit code 1 (Error)"},
			waiting: "starting container web",
		},
		{
			name: "back-off holds up only its container",
			change: func(s *scene) {
				s.ends("web", 1, at(99))
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 80*time.Second, at(98) })
				s.ends("app", 0, at(99))
				s.image("app")
			},
			actions: []string{"start-container app#1: Restarting container app: it ended with exit code 0 (Completed)"},
			wake:    at(179), waiting: "back-off 1m20s restarting failed container=web pod=web_default(u1)",
		},
		{
			name: "an end in the future is not waited for", change: func(s *scene) {
				s.ends("web", 1, at(90000))
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 80*time.Second, at(89990) })
				s.image("web")
			},
			actions: []string{"start-container web#1: Restarting container web: it ended with exit code 1 (Error)"},
			waiting: "starting container web",
		},
		{
			name: "an end without a date counts from the start", change: func(s *scene) {
				s.ends("web", 1, time.Time{})
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 10*time.Second, at(99) })
			},
			wake: at(109), waiting: "back-off 10s restarting failed container=web pod=web_default(u1)",
		},
		{
			name: "a failure in the future is not waited for", change: func(s *scene) {
				s.ends("web", 1, at(99))
				s.in().Failures["web"] = Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, At: at(90000), Count: 1}
			},
			actions: []string{needs("web", "web:1", "IfNotPresent")},
			waiting: `waiting for image "web:1"`,
		},
		{
			name: "one start at a time, in the order of the spec",
			change: func(s *scene) {
				s.ends("web", 1, at(99))
				s.ends("app", 1, at(99))
				s.image("web")
				s.image("app")
			},
			actions: []string{"start-container web#1: Restarting container web: it ended with exit code 1 (Error)"},
			waiting: "starting container web",
		},
		{
			name: "a first start waits for that of its predecessor", from: starting,
			change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.image("app")
				s.under(Action{Kind: ActEnsureImage, Container: "web", Image: "web:1"}, at(50))
			},
			waiting: `waiting for image "web:1"`,
		},
		{
			name: "a restart does not wait for a pull of another", change: func(s *scene) {
				s.ends("web", 1, at(99))
				s.ends("app", 1, at(99))
				s.image("app")
				s.under(Action{Kind: ActEnsureImage, Container: "web", Image: "web:1"}, at(50))
			},
			actions: []string{"start-container app#1: Restarting container app: it ended with exit code 1 (Error)"},
			waiting: `waiting for image "web:1"`,
		},
		{
			name: "a pull that failed rests and holds up nobody", from: starting,
			change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.image("app")
				s.in().Failures["web"] = Failure{Kind: ActEnsureImage, Image: "web:1", Reason: ReasonErrImagePull, Message: "no route", At: at(90), Count: 2}
			},
			actions: []string{"start-container app#0: Starting container app"},
			wake:    at(110), waiting: "container web: ErrImagePull: no route",
		},
		{
			name: "the failure of another image is history", from: starting,
			change: func(s *scene) {
				s.in().Failures["setup"] = Failure{Kind: ActEnsureImage, Image: "setup:typo", Reason: ReasonErrImagePull, At: at(99), Count: 9}
			},
			actions: []string{needs("setup", "setup:1", "IfNotPresent")}, waiting: `waiting for image "setup:1"`,
		},
		{
			name: "an image found for another definition does not count", from: starting,
			change:  func(s *scene) { s.in().Images["setup"] = Image{Ref: "setup:0"} },
			actions: []string{needs("setup", "setup:1", "IfNotPresent")}, waiting: `waiting for image "setup:1"`,
		},
		{
			name: "a start that failed rests for ten seconds",
			change: func(s *scene) {
				s.ends("web", 1, at(99))
				s.image("web")
				s.in().Failures["web"] = Failure{Kind: ActStartContainer, Reason: ReasonCreateContainer, Message: "no", At: at(99), Count: 5}
			},
			wake: at(109), waiting: "container web: CreateContainerError: no",
		},
		{
			name: "an interrupted start is taken over", from: starting,
			change: func(s *scene) {
				s.add("setup", StateCreated)
				s.memory("setup", func(m *Memory) { *m = Memory{} })
				s.image("setup")
			},
			actions: []string{"start-container setup#0: Starting container setup, whose start was interrupted"},
			waiting: "starting container setup",
		},
		{
			name: "a start of which nothing is left has the same attempt", change: func(s *scene) {
				s.vanish("web")
				s.memory("web", func(m *Memory) { *m = Memory{Attempt: 3, Restarts: 3} })
				s.image("web")
			},
			actions: []string{"start-container web#3: Starting container web"},
			waiting: "starting container web",
		},
		{
			name: "what was created in an old sandbox is removed", change: func(s *scene) {
				s.vanish("web")
				c := s.add("web", StateCreated)
				c.SandboxID, c.Attempt = "box-1", 2
				s.memory("web", func(m *Memory) { *m = Memory{Attempt: 2, Restarts: 2} })
				s.image("web")
			},
			actions: []string{
				"start-container web#3: Starting container web",
				"remove web#2: only the newest ended run of a container is kept",
			},
			waiting: "starting container web",
		},
		{
			name: "what vanished is noted and started again", change: func(s *scene) { s.vanish("web"); s.image("web") },
			actions: []string{
				"remember web#0: container is gone from the engine and its end was not seen",
				"start-container web#1: Restarting container web: it ended with exit code 137 (ContainerStatusUnknown)",
			},
			waiting: "starting container web",
		},
		{
			name: "what vanished under Never is not", from: never, change: func(s *scene) { s.vanish("web") },
			actions: []string{"remember web#0: container is gone from the engine and its end was not seen"},
		},
		{
			name: "an ended run removed by hand is remembered", from: never,
			change: func(s *scene) { s.ends("web", 0, at(50)); s.vanish("web") },
		},
		{
			name: "an image edit stops with grace and looks up the new image",
			change: func(s *scene) {
				s.edit(func(pod *v1.Pod) { pod.Spec.Containers[0].Image = "web:2" })
			},
			actions: []string{
				"update: generation 2 of the spec is put in force",
				"signal web#0: Container web definition changed, will be restarted",
				needs("web", "web:2", "IfNotPresent"),
			},
			wake: at(130), waiting: `waiting for image "web:2"`,
		},
		{
			name: "the edited container runs again whatever the policy", from: never,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.Containers[0].Image = "web:2" })
				s.endsUnseen("web", 0, at(99))
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 300*time.Second, at(98) })
				s.image("web")
			},
			actions: []string{
				"remember web#0: container ended with exit code 0 (Completed)",
				"start-container web#1: Restarting container web: its definition changed",
			},
			waiting: "starting container web",
		},
		{
			name: "what had ended before the edit does not", from: never,
			change: func(s *scene) {
				s.ends("web", 0, at(99))
				s.spec(func(pod *v1.Pod) { pod.Spec.Containers[0].Image = "web:2" })
			},
		},
		{
			name: "OnFailure: success is final, failure is not",
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure })
				s.ends("web", 0, at(99))
				s.ends("app", 2, at(99))
				s.image("web")
				s.image("app")
			},
			actions: []string{"start-container app#1: Restarting container app: it ended with exit code 2 (Error)"},
			waiting: "starting container app",
		},
		{
			name: "all done: the outcome is recorded and the sidecar ends", from: never,
			change: func(s *scene) { s.ends("web", 0, at(99)); s.ends("app", 1, at(99)) },
			actions: []string{
				"finish: a container has failed and does not run again",
				"signal log#0: Stopping container log",
			},
			wake: at(130), waiting: "finished: waiting until its containers have stopped",
		},
		{
			name: "a finished pod: its sandbox is stopped", from: never,
			change: func(s *scene) {
				s.ends("web", 0, at(99))
				s.ends("app", 0, at(99))
				s.ends("log", 0, at(99))
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
			},
			actions: []string{"kill box0: pod has finished"},
		},
		{
			name: "a finished pod is left alone", from: never,
			change: func(s *scene) {
				s.in().Observed = Observed{}
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
			},
		},
		{
			name: "a finished pod keeps one ended run of each container", from: never,
			change: func(s *scene) {
				s.in().Observed.Sandboxes[0].State = StateExited
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
				for _, c := range []string{"log", "web", "app"} {
					s.ends(c, 0, at(99))
				}
				s.in().Observed.Containers = append(s.in().Observed.Containers,
					Container{ID: "n", Name: "app", Attempt: 1, State: StateExited}, Container{ID: "c", Name: "app", Attempt: 2, State: StateCreated})
			},
			actions: []string{
				"remove app#0: only the newest ended run of a container is kept",
				"remove app#2: only the newest ended run of a container is kept",
			},
		},
		{
			name: "a finished pod takes new labels", from: never,
			change: func(s *scene) {
				s.in().Observed = Observed{}
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
				s.edit(func(pod *v1.Pod) { pod.Labels = map[string]string{"a": "b"} })
			},
			actions: []string{"update: generation 2 of the spec is put in force"},
		},
		{
			name: "older ended runs are removed",
			change: func(s *scene) {
				for i := range 3 {
					c := s.add("web", StateExited)
					c.ID, c.Attempt = "dead"+string(rune('a'+i)), i
				}
				c := s.add("web", StateRunning)
				c.Attempt = 3
				s.in().Observed.Containers = append(s.in().Observed.Containers[:2], s.in().Observed.Containers[3:]...) // run 0
				s.memory("web", func(m *Memory) { *m = Memory{Attempt: 3, Restarts: 3, Run: RunStarted} })
			},
			actions: []string{
				"remove web#0: only the newest ended run of a container is kept",
				"remove web#1: only the newest ended run of a container is kept",
			},
		},
		{
			name: "a second live copy is ended, and so is what the spec does not have",
			change: func(s *scene) {
				s.run("web").Attempt = 1
				s.memory("web", func(m *Memory) { m.Attempt = 1 })
				o := &s.in().Observed
				o.Containers = append(o.Containers,
					Container{ID: "twin", SandboxID: "box0", Name: "web", State: StateRunning},
					Container{ID: "odd", SandboxID: "box0", Name: "odd", State: StateRunning},
					Container{ID: "lost", SandboxID: "box-1", Name: "log", State: StateRunning})
				o.Containers[1].Attempt = 1
				s.memory("log", func(m *Memory) { m.Attempt = 1 })
			},
			actions: []string{
				"signal web#0: Container web runs twice",
				"signal odd#0: Container odd is not in the spec of the pod",
				"signal log#0: Container log runs in an old sandbox",
			},
			wake: at(130),
		},
		{
			name: "what the engine cannot name is removed by force", change: func(s *scene) { s.run("web").State = StateUnknown },
			actions: []string{"remove web#0 by force: Container is in unknown state, try killing it before restart"},
		},
	})
}

// TestPlanMemory looks at what a start and an end put on record.
func TestPlanMemory(t *testing.T) {
	s := running()
	s.endsUnseen("web", 1, at(99))
	s.memory("web", func(m *Memory) { m.Restarts, m.Attempt, m.Backoff, m.BackoffAt = 4, 4, 20*time.Second, at(10) })
	s.run("web").Attempt, s.run("web").Restarts = 4, 4
	s.image("web")
	s.now = at(119)
	d := Plan(s.now, s.want, s.have)
	if len(d.Actions) != 2 || d.Actions[1].Kind != ActStartContainer {
		t.Fatalf("got %v", lines(d))
	}
	last := terminatedOf(s.run("web"))
	want := Memory{Restarts: 4, Attempt: 4, Run: RunEnded, Sandbox: "box0", Last: last, Backoff: 20 * time.Second, BackoffAt: at(10)}
	if diff := cmp.Diff(want, *d.Actions[0].Memory); diff != "" {
		t.Errorf("memory of the end (-want +got):\n%s", diff)
	}
	want = Memory{Restarts: 5, Attempt: 5, Sandbox: "box0", Last: last, Backoff: 40 * time.Second, BackoffAt: at(119)}
	if diff := cmp.Diff(want, *d.Actions[1].Memory); diff != "" {
		t.Errorf("memory of the start (-want +got):\n%s", diff)
	}
	if a := d.Actions[1]; a.Attempt != 5 || a.Restarts != 5 || a.Image != "web:1" || a.UID != "u1" {
		t.Errorf("start: %+v", a)
	}
	if m := s.in().Record.Containers["web"]; m.Run != RunStarted {
		t.Error("Plan changed what it was given")
	}
}
