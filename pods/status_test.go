package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var node = Node{Name: "n1", HostIPs: []string{"192.168.1.5", "192.168.1.6", "fd00::5"}}

// brief is what a row of TestStatus looks at.
type brief struct {
	phase      v1.PodPhase
	reason     string
	containers map[string]string // state in short
	last       map[string]string // last state in short
	restarts   map[string]int32
	false_     map[v1.PodConditionType]string // conditions that are not True: reason and message
	notReady   []string
}

func short(s v1.ContainerState) string {
	switch {
	case s.Waiting != nil && s.Waiting.Message != "":
		return "waiting " + s.Waiting.Reason + ": " + s.Waiting.Message
	case s.Waiting != nil:
		return "waiting " + s.Waiting.Reason
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return "ended " + s.Terminated.Reason
	}
	return ""
}

func briefOf(st v1.PodStatus) brief {
	b := brief{phase: st.Phase, reason: st.Reason, containers: map[string]string{}}
	for _, list := range [][]v1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for _, cs := range list {
			b.containers[cs.Name] = short(cs.State)
			if l := short(cs.LastTerminationState); l != "" {
				if b.last == nil {
					b.last = map[string]string{}
				}
				b.last[cs.Name] = l
			}
			if cs.RestartCount > 0 {
				if b.restarts == nil {
					b.restarts = map[string]int32{}
				}
				b.restarts[cs.Name] = cs.RestartCount
			}
			if !cs.Ready {
				b.notReady = append(b.notReady, cs.Name)
			}
		}
	}
	for _, c := range st.Conditions {
		if c.Status != v1.ConditionTrue {
			if b.false_ == nil {
				b.false_ = map[v1.PodConditionType]string{}
			}
			b.false_[c.Type] = c.Reason
			if c.Message != "" {
				b.false_[c.Type] += ": " + c.Message
			}
		}
	}
	return b
}

func TestStatus(t *testing.T) {
	type conds = map[v1.PodConditionType]string
	unready := func(names string) conds {
		text := "ContainersNotReady: containers with unready status: [" + names + "]"
		return conds{v1.PodReady: text, v1.ContainersReady: text}
	}
	with := func(c conds, k v1.PodConditionType, text string) conds { c[k] = text; return c }
	allRun := func(change ...string) map[string]string {
		m := map[string]string{"setup": "ended Completed", "log": "running", "web": "running", "app": "running"}
		for i := 0; i+1 < len(change); i += 2 {
			m[change[i]] = change[i+1]
		}
		return m
	}
	waiting := map[string]string{"setup": "waiting PodInitializing", "log": "waiting PodInitializing", "web": "waiting PodInitializing", "app": "waiting PodInitializing"}
	rows := []struct {
		name   string
		from   func() *scene
		change func(s *scene)
		want   brief
	}{
		{name: "running", want: brief{phase: v1.PodRunning, containers: allRun()}},
		{
			name: "nothing yet", from: starting, change: func(s *scene) { s.in().Observed = Observed{} },
			want: brief{phase: v1.PodPending, containers: waiting, notReady: []string{"setup", "log", "app", "web"},
				false_: with(with(unready("log web app"), v1.PodInitialized, "ContainersNotInitialized: containers with incomplete status: [setup log]"),
					v1.PodReadyToStartContainers, "PodSandboxNotReady: no pod sandbox exists")},
		},
		{
			name: "the sandbox fails", from: starting, change: func(s *scene) {
				s.in().Observed = Observed{}
				s.in().Failures[""] = Failure{Kind: ActCreateSandbox, Reason: ReasonFailedCreatePodSandBox, Message: "port is taken", At: at(99), Count: 1}
			},
			want: brief{phase: v1.PodPending, containers: waiting, notReady: []string{"setup", "log", "app", "web"},
				false_: with(with(unready("log web app"), v1.PodInitialized, "ContainersNotInitialized: containers with incomplete status: [setup log]"),
					v1.PodReadyToStartContainers, "PodSandboxNotReady: no pod sandbox exists: FailedCreatePodSandBox: port is taken")},
		},
		{
			name: "init container runs", from: starting, change: func(s *scene) { s.add("setup", StateRunning) },
			want: brief{phase: v1.PodPending, notReady: []string{"setup", "log", "app", "web"},
				containers: map[string]string{"setup": "running", "log": "waiting PodInitializing", "web": "waiting PodInitializing", "app": "waiting PodInitializing"},
				false_:     with(unready("log web app"), v1.PodInitialized, "ContainersNotInitialized: containers with incomplete status: [setup log]")},
		},
		{
			name: "init container in back-off", from: starting, change: func(s *scene) {
				s.add("setup", StateExited)
				s.ends("setup", 1, at(99))
				s.memory("setup", func(m *Memory) { m.Backoff, m.BackoffAt = 10*time.Second, at(90) })
			},
			want: brief{phase: v1.PodPending, notReady: []string{"setup", "log", "app", "web"},
				containers: map[string]string{"setup": "waiting CrashLoopBackOff: back-off 10s restarting failed container=setup pod=web_default(u1)",
					"log": "waiting PodInitializing", "web": "waiting PodInitializing", "app": "waiting PodInitializing"},
				last:   map[string]string{"setup": "ended Error"},
				false_: with(unready("log web app"), v1.PodInitialized, "ContainersNotInitialized: containers with incomplete status: [setup log]")},
		},
		{
			name: "init container failed for good", from: starting, change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.add("setup", StateExited)
				s.ends("setup", 1, at(99))
			},
			want: brief{phase: v1.PodFailed, notReady: []string{"setup", "log", "app", "web"},
				containers: map[string]string{"setup": "ended Error", "log": "waiting PodInitializing", "web": "waiting PodInitializing", "app": "waiting PodInitializing"},
				false_: conds{v1.PodReady: "PodFailed", v1.ContainersReady: "PodFailed",
					v1.PodInitialized: "ContainersNotInitialized: containers with incomplete status: [setup log]"}},
		},
		{
			name: "image cannot be pulled, the others run: Pending", from: starting, change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.add("app", StateRunning)
				s.in().Failures["web"] = Failure{Kind: ActEnsureImage, Image: "web:1", Reason: ReasonErrImagePull, Message: "no route", At: at(99), Count: 1}
			},
			want: brief{phase: v1.PodPending, notReady: []string{"web"}, containers: allRun("web", "waiting ErrImagePull: no route"), false_: unready("web")},
		},
		{
			name: "and again", from: starting, change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.add("app", StateRunning)
				s.in().Failures["web"] = Failure{Kind: ActEnsureImage, Image: "web:1", Reason: ReasonErrImagePull, Message: "no route", At: at(99), Count: 2}
			},
			want: brief{phase: v1.PodPending, notReady: []string{"web"}, false_: unready("web"),
				containers: allRun("web", `waiting ImagePullBackOff: Back-off pulling image "web:1": ErrImagePull: no route`)},
		},
		{
			name: "image must not be pulled", from: starting, change: func(s *scene) {
				s.add("setup", StateExited)
				s.add("log", StateRunning)
				s.add("app", StateRunning)
				s.in().Failures["web"] = Failure{Kind: ActEnsureImage, Reason: ReasonErrImageNeverPull, Message: "m", At: at(99), Count: 7}
			},
			want: brief{phase: v1.PodPending, notReady: []string{"web"}, containers: allRun("web", "waiting ErrImageNeverPull: m"), false_: unready("web")},
		},
		{
			name: "crash loop", change: func(s *scene) {
				s.ends("web", 2, at(99))
				s.run("web").Restarts = 3
				s.memory("web", func(m *Memory) { m.Restarts, m.Backoff, m.BackoffAt = 3, 40*time.Second, at(98) })
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"), restarts: map[string]int32{"web": 3},
				containers: allRun("web", "waiting CrashLoopBackOff: back-off 40s restarting failed container=web pod=web_default(u1)"),
				last:       map[string]string{"web": "ended Error"}},
		},
		{
			name: "ended, the first restart comes at once", change: func(s *scene) { s.ends("web", 2, at(99)) },
			want: brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"), containers: allRun("web", "ended Error")},
		},
		{
			name: "a restart that cannot be created", change: func(s *scene) {
				s.ends("web", 2, at(98))
				s.memory("web", func(m *Memory) { m.Run, m.Attempt, m.Restarts = RunTried, 1, 1 })
				s.in().Failures["web"] = Failure{Kind: ActStartContainer, Reason: ReasonCreateContainer, Message: "no", At: at(99), Count: 1}
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"),
				containers: allRun("web", "waiting CreateContainerError: no"), last: map[string]string{"web": "ended Error"}},
		},
		{
			name: "restarted", change: func(s *scene) {
				s.ends("web", 2, at(50))
				c := s.add("web", StateRunning)
				c.ID, c.Attempt, c.Restarts = "web1", 1, 1
			},
			want: brief{phase: v1.PodRunning, containers: allRun(), last: map[string]string{"web": "ended Error"}, restarts: map[string]int32{"web": 1}},
		},
		{
			name: "restarted, the ended run is gone", change: func(s *scene) {
				s.ends("web", 2, at(50))
				last := s.in().Record.Containers["web"].Last
				s.vanish("web")
				c := s.add("web", StateRunning)
				c.ID, c.Attempt, c.Restarts = "web1", 1, 1
				s.memory("web", func(m *Memory) { m.Last = last })
			},
			want: brief{phase: v1.PodRunning, containers: allRun(), last: map[string]string{"web": "ended Error"}, restarts: map[string]int32{"web": 1}},
		},
		{
			name: "vanished", change: func(s *scene) {
				s.vanish("web")
				s.memory("web", func(m *Memory) { m.Run, m.Last = RunEnded, vanished(at(99)) })
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"web"}, false_: unready("web"),
				containers: allRun("web", "waiting PodInitializing"), last: map[string]string{"web": "ended ContainerStatusUnknown"}},
		},
		{
			name: "init result removed by hand", change: func(s *scene) { s.vanish("setup"); delete(s.in().Record.Containers, "setup") },
			want: brief{phase: v1.PodRunning, containers: allRun()},
		},
		{
			name: "a sidecar that succeeded never shows back-off", change: func(s *scene) {
				s.ends("log", 0, at(99))
				s.memory("log", func(m *Memory) { m.Backoff, m.BackoffAt = 40*time.Second, at(98) })
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"log"}, false_: unready("log"), containers: allRun("log", "ended Completed")},
		},
		{
			name: "the end is decided: not ready at once", change: func(s *scene) {
				s.in().Record.Deletion = &Deletion{At: at(99), GraceSeconds: 30, Reason: "no manifest asks for the pod any more"}
			},
			want: brief{phase: v1.PodRunning, containers: allRun(), false_: conds{v1.PodReady: "PodTerminating: no manifest asks for the pod any more"}},
		},
		{
			name: "ending: what has ended does not wait for anything", change: func(s *scene) {
				s.ends("web", 143, at(99))
				s.memory("web", func(m *Memory) { m.Backoff, m.BackoffAt = 40*time.Second, at(98) })
				s.in().Record.Deletion = &Deletion{At: at(99), GraceSeconds: 30, Reason: "r"}
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"web"}, containers: allRun("web", "ended Error"),
				false_: conds{v1.PodReady: "PodTerminating: containers with unready status: [web]", v1.ContainersReady: "ContainersNotReady: containers with unready status: [web]"}},
		},
		{
			name: "ending: what was removed stays as it was shown", change: func(s *scene) {
				s.in().Record.Deletion = &Deletion{At: at(99), GraceSeconds: 30, Reason: "r"}
				for _, c := range []string{"web", "app", "log"} {
					s.endsUnseen(c, 143, at(99))
				}
				shown := Status(s.now, node, *s.in())
				s.in().Previous, s.in().Observed = &shown, Observed{}
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"log", "app", "web"}, containers: allRun("web", "ended Error", "app", "ended Error", "log", "ended Error"),
				false_: conds{v1.PodReady: "PodTerminating: containers with unready status: [log web app]",
					v1.ContainersReady:           "ContainersNotReady: containers with unready status: [log web app]",
					v1.PodReadyToStartContainers: "PodSandboxNotReady: no pod sandbox exists"}},
		},
		{
			name: "finished while the sidecar still runs", change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.ends("web", 0, at(99))
				s.ends("app", 0, at(99))
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
			},
			want: brief{phase: v1.PodRunning, notReady: []string{"app", "web"}, false_: unready("web app"),
				containers: allRun("web", "ended Completed", "app", "ended Completed")},
		},
		{
			name: "Succeeded", change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				for _, c := range []string{"web", "app", "log"} {
					s.ends(c, 0, at(99))
				}
				s.in().Record.Outcome = &Outcome{Phase: v1.PodSucceeded, At: at(99)}
				s.in().Observed.Sandboxes[0].State = StateExited
			},
			want: brief{phase: v1.PodSucceeded, notReady: []string{"log", "app", "web"},
				containers: allRun("web", "ended Completed", "app", "ended Completed", "log", "ended Completed"),
				false_: conds{v1.PodReady: "PodCompleted", v1.ContainersReady: "PodCompleted",
					v1.PodReadyToStartContainers: "PodSandboxNotReady: pod sandbox is not ready"}},
		},
		{
			name: "Failed, nothing left on the engine", change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				for _, c := range []string{"web", "app", "log"} {
					s.ends(c, 1, at(99))
				}
				s.in().Record.Outcome = &Outcome{Phase: v1.PodFailed, Reason: "R", At: at(99)}
				s.in().Observed = Observed{}
			},
			want: brief{phase: v1.PodFailed, reason: "R", notReady: []string{"log", "app", "web"},
				containers: allRun("web", "ended Error", "app", "ended Error", "log", "ended Error"),
				false_: conds{v1.PodReady: "PodFailed", v1.ContainersReady: "PodFailed",
					v1.PodReadyToStartContainers: "PodSandboxNotReady: no pod sandbox exists"}},
		},
		{
			name: "a terminal phase stays", change: func(s *scene) {
				s.in().Previous = &v1.PodStatus{Phase: v1.PodFailed, Reason: "R"}
			},
			want: brief{phase: v1.PodFailed, reason: "R", containers: allRun(), false_: conds{v1.PodReady: "PodFailed", v1.ContainersReady: "PodFailed"}},
		},
		{
			name: "restart counts do not go back", change: func(s *scene) {
				s.in().Previous = &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "web", RestartCount: 9}}}
			},
			want: brief{phase: v1.PodRunning, containers: allRun(), restarts: map[string]int32{"web": 9}},
		},
		{
			name: "readiness gates are never met", change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "x/y"}} })
			},
			want: brief{phase: v1.PodRunning, containers: allRun(),
				false_: conds{v1.PodReady: `ReadinessGatesNotReady: corresponding condition of pod readiness gate "x/y" does not exist.`}},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := running()
			if row.from != nil {
				s = row.from()
			}
			if row.change != nil {
				row.change(s)
			}
			st := Status(s.now, node, *s.in())
			if diff := cmp.Diff(row.want, briefOf(st), cmp.AllowUnexported(brief{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := Status(s.now, node, *s.in()); !cmp.Equal(st, again) {
				t.Error("two calls differ")
			}
			s.in().Previous = &st
			next := Status(at(1000), node, *s.in())
			if diff := cmp.Diff(st, next); diff != "" {
				t.Errorf("the next status differs though nothing happened:\n%s", diff)
			}
		})
	}
}

// TestStatusWhole looks at every field of one status.
func TestStatusWhole(t *testing.T) {
	s := running()
	s.spec(func(pod *v1.Pod) { pod.Spec.InitContainers = nil; pod.Spec.Containers = pod.Spec.Containers[:1] })
	got := Status(s.now, node, *s.in())
	cond := func(kind v1.PodConditionType, when time.Time) v1.PodCondition {
		return v1.PodCondition{Type: kind, Status: v1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(when)}
	}
	start := metav1.NewTime(t0)
	want := v1.PodStatus{
		ObservedGeneration: 1,
		Phase:              v1.PodRunning,
		QOSClass:           v1.PodQOSBestEffort,
		StartTime:          &start,
		HostIP:             "192.168.1.5",
		HostIPs:            []v1.HostIP{{IP: "192.168.1.5"}, {IP: "fd00::5"}},
		PodIP:              "10.0.0.2",
		PodIPs:             []v1.PodIP{{IP: "10.0.0.2"}},
		Conditions: []v1.PodCondition{
			cond(v1.PodReadyToStartContainers, at(1)), cond(v1.PodInitialized, t0),
			cond(v1.PodReady, at(3)), cond(v1.ContainersReady, at(3)), cond(v1.PodScheduled, t0),
		},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "web", Image: "web:1", ImageID: "docker://sha-web", ContainerID: "docker://web0", Ready: true, Started: ptr(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(at(3))}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusTimes(t *testing.T) {
	s := running()
	first := Status(s.now, node, *s.in())
	s.in().Previous = &first
	s.ends("web", 1, at(200))
	s.now = at(201)
	second := Status(s.now, node, *s.in())
	for i, c := range second.Conditions {
		want := first.Conditions[i].LastTransitionTime
		if c.Type == v1.PodReady || c.Type == v1.ContainersReady {
			want = metav1.NewTime(at(201))
		}
		if !c.LastTransitionTime.Equal(&want) {
			t.Errorf("%s: %s, want %s", c.Type, c.LastTransitionTime, want)
		}
	}
}

func TestStatusAddresses(t *testing.T) {
	s := running()
	s.in().Observed.Sandboxes = nil
	s.in().Record.IPs = []string{"10.0.0.9", "fd01::9", "10.0.0.10", "junk"}
	st := Status(s.now, node, *s.in())
	if diff := cmp.Diff([]v1.PodIP{{IP: "10.0.0.9"}, {IP: "fd01::9"}}, st.PodIPs); diff != "" || st.PodIP != "10.0.0.9" {
		t.Errorf("remembered: %s %s", st.PodIP, diff)
	}
	s.spec(func(pod *v1.Pod) { pod.Spec.HostNetwork = true })
	st = Status(s.now, node, *s.in())
	if diff := cmp.Diff([]v1.PodIP{{IP: "192.168.1.5"}, {IP: "fd00::5"}}, st.PodIPs); diff != "" {
		t.Errorf("host network: %s", diff)
	}
}

func TestPendingStatus(t *testing.T) {
	s := fresh()
	st := PendingStatus(t0, node, s.want)
	if st.Phase != v1.PodPending || st.StartTime != nil || st.PodIP != "" || len(st.ContainerStatuses) != 2 || st.QOSClass == "" {
		t.Errorf("got %+v", st)
	}
	s.want.Unsupported = "container web is privileged"
	st = PendingStatus(t0, node, s.want)
	if st.Phase != v1.PodPending || st.Reason != ReasonUnsupportedByEngine || st.Message != s.want.Unsupported {
		t.Errorf("got %+v", st)
	}
	if got := short(st.ContainerStatuses[0].State); got != "waiting UnsupportedByEngine: container web is privileged" {
		t.Errorf("container state: %s", got)
	}
	if got := PendingStatus(t0, node, nil); got.Phase != v1.PodPending {
		t.Errorf("without a want: %+v", got)
	}
}

func TestStatusWithoutSpec(t *testing.T) {
	got := Status(t0, node, Instance{Stray: true})
	if diff := cmp.Diff(v1.PodStatus{Phase: v1.PodUnknown}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
