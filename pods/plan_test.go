package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// planRow is one change of a scene and what Plan answers to it.
type planRow struct {
	name    string
	from    func() *scene // nil: running
	change  func(s *scene)
	actions []string
	wake    time.Time
	waiting string
}

func checkPlan(t *testing.T, rows []planRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := running()
			if row.from != nil {
				s = row.from()
			}
			if row.change != nil {
				row.change(s)
			}
			d := Plan(s.now, s.want, s.have)
			if diff := cmp.Diff(row.actions, lines(d)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if !d.Wake.Equal(row.wake) {
				t.Errorf("wake: got %v, want %v", d.Wake, row.wake)
			}
			if d.Waiting != row.waiting {
				t.Errorf("waiting: got %q, want %q", d.Waiting, row.waiting)
			}
		})
	}
}

func TestPlanInstance(t *testing.T) {
	checkPlan(t, []planRow{
		{name: "a settled pod needs nothing"},
		{name: "nothing wanted, nothing there", from: fresh, change: func(s *scene) { s.want = nil }},
		{
			name: "a new pod begins at once", from: fresh,
			actions: []string{
				"begin: pod is wanted by file /m/web.yaml",
				"create-sandbox #0: no pod sandbox exists",
				`ensure-image setup#0: image "setup:1" is needed with pull policy IfNotPresent`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "a new pod that the engine cannot run waits", from: fresh,
			change:  func(s *scene) { s.want.Unsupported = "container web is privileged" },
			waiting: "UnsupportedByEngine: container web is privileged",
		},
		{
			name: "a begun pod that never ran waits too", from: fresh,
			change: func(s *scene) {
				s.have.Instances = []Instance{{Record: NewRecord(t0, KeyOf(s.want.Pod), s.want)}}
				s.want.Unsupported = "container web is privileged"
			},
			waiting: "UnsupportedByEngine: container web is privileged",
		},
		{name: "a running pod is not touched when the engine could not start it", change: func(s *scene) { s.want.Unsupported = "no" }},
		{
			name: "a held pod does not begin", from: fresh,
			change:  func(s *scene) { s.want.Hold = true },
			waiting: "held until its source has been read",
		},
		{
			name: "what runs of a held pod stays", change: func(s *scene) {
				s.replaced("u2")
				s.want.Hold = true
				s.in().Observed.Sandboxes[0].State = StateExited
			},
			waiting: "held until its source has been read",
		},
		{
			name: "the end of a container of a held pod is noted, not mended",
			change: func(s *scene) {
				s.want.Hold = true
				s.endsUnseen("web", 1, at(99))
			},
			actions: []string{"remember web#0: container ended with exit code 1 (Error)"},
			waiting: "held until its source has been read",
		},
		{
			name: "strays of a held pod stay", change: func(s *scene) {
				s.want.Hold = true
				s.in().Stray = true
			},
			waiting: "held until its source has been read",
		},
		{
			name:    "labels are put in force without a restart",
			change:  func(s *scene) { s.edit(func(pod *v1.Pod) { pod.Labels = map[string]string{"a": "b"} }) },
			actions: []string{"update: generation 2 of the spec is put in force"},
		},
		{name: "an older generation is not put in force", change: func(s *scene) { s.want.Pod = basePod(); s.pod().Generation = 2 }},
		{
			name:   "a record without a spec gets the wanted one",
			change: func(s *scene) { s.in().Record.Pod = nil },
			actions: []string{
				"update: generation 1 of the spec is put in force",
			},
		},
		{
			name: "what is seen first is noted", change: func(s *scene) { s.in().Record.Containers = nil },
			actions: []string{
				"remember setup#0: container ended with exit code 0 (Completed)",
				"remember log#0: container is running",
				"remember web#0: container is running",
				"remember app#0: container is running",
			},
		},
	})
}

func TestPlanEnd(t *testing.T) {
	deleted := func() *scene {
		s := running()
		s.want = nil
		s.in().Record.Deletion = &Deletion{At: at(100), GraceSeconds: 30, Reason: "r"}
		return s
	}
	signalled := func() *scene {
		s := deleted()
		for _, id := range []string{"web0", "app0"} {
			s.in().Signalled[id] = Signalled{At: at(100), Deadline: at(130)}
		}
		return s
	}
	checkPlan(t, []planRow{
		{
			name: "the manifest is gone", change: func(s *scene) { s.want = nil },
			actions: []string{
				"delete: no manifest asks for the pod any more",
				"signal web#0: Stopping container web",
				"signal app#0: Stopping container app",
			},
			wake: at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "the pod is replaced", change: func(s *scene) { s.replaced("u2") },
			actions: []string{
				"delete: pod is replaced by a newer version of its manifest",
				"signal web#0: Stopping container web",
				"signal app#0: Stopping container app",
			},
			wake: at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a later want does not bring it back", from: signalled,
			change: func(s *scene) { s.want = running().want },
			wake:   at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a recorded end goes on under hold", from: deleted,
			change: func(s *scene) { s.want = &Want{Pod: basePod(), Hold: true} },
			actions: []string{
				"signal web#0: Stopping container web",
				"signal app#0: Stopping container app",
			},
			wake: at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "kill at the deadline, not before", from: signalled,
			change: func(s *scene) { s.now = at(129.999) },
			wake:   at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "kill at the deadline", from: signalled,
			change: func(s *scene) { s.now = at(130); s.endsUnseen("app", 0, at(120)) },
			actions: []string{
				"kill web#0: Container web did not stop within its grace period",
			},
			waiting: "waiting until its containers have stopped",
		},
		{
			name: "kill is repeated after a while", from: signalled,
			change: func(s *scene) {
				s.now = at(133)
				s.in().Signalled["web0"] = Signalled{At: at(100), Deadline: at(130), Killed: at(130)}
				s.in().Signalled["app0"] = Signalled{At: at(100), Deadline: at(130), Killed: at(127)}
			},
			actions: []string{"kill app#0: Container app did not stop within its grace period"},
			wake:    at(135), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a kill does not wait for a signal under way", from: deleted,
			change: func(s *scene) {
				s.now = at(131)
				s.under(Action{Kind: ActSignal, ID: "web0", Deadline: at(130)}, at(100))
				s.endsUnseen("app", 0, at(120))
			},
			actions: []string{"kill web#0: Container web did not stop within its grace period"},
			waiting: "waiting until its containers have stopped",
		},
		{
			name: "a signal lost with islet is sent again, with two seconds at least", from: deleted,
			change: func(s *scene) { s.now = at(500); s.endsUnseen("app", 0, at(120)) },
			actions: []string{
				"signal web#0: Stopping container web",
			},
			wake: at(502), waiting: "waiting until its containers have stopped",
		},
		{
			name: "an end recorded by a clock that was set back since is not waited for", from: deleted,
			change: func(s *scene) {
				s.in().Record.Deletion.At = at(90000)
				s.now = at(131)
				s.in().Signalled["web0"] = Signalled{At: at(101), Deadline: at(131)}
				s.endsUnseen("app", 0, at(99))
			},
			actions: []string{"kill web#0: Container web did not stop within its grace period"},
			waiting: "waiting until its containers have stopped",
		},
		{
			name: "a signal soon after the start is repeated", from: signalled,
			change: func(s *scene) {
				s.now = at(101)
				s.run("web").StartedAt = at(99)
				s.in().Signalled["web0"] = Signalled{At: at(100), Deadline: at(130)}
			},
			actions: []string{"signal web#0: Stopping container web, again: it may not have been ready for the first signal"},
			wake:    at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a shorter grace is recorded and obeyed", from: signalled,
			change: func(s *scene) { s.now = at(105); s.in().Asked = ptr(int64(2)) },
			actions: []string{
				"delete: grace period shortened to 7s",
			},
			wake: at(107), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a longer grace is not", from: signalled,
			change: func(s *scene) { s.now = at(105); s.in().Asked = ptr(int64(60)) },
			wake:   at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "the sidecar is last", from: deleted,
			change: func(s *scene) { s.now = at(110); s.endsUnseen("web", 0, at(109)); s.endsUnseen("app", 0, at(109)) },
			actions: []string{
				"signal log#0: Stopping container log",
			},
			wake: at(130), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a sidecar after the deadline gets two seconds", from: deleted,
			change: func(s *scene) { s.now = at(130.5); s.endsUnseen("web", 137, at(130)); s.endsUnseen("app", 0, at(109)) },
			actions: []string{
				"signal log#0: Stopping container log",
			},
			wake: at(132.5), waiting: "waiting until its containers have stopped",
		},
		{
			name: "sidecars wait for a start under way", from: deleted,
			change: func(s *scene) {
				s.endsUnseen("web", 0, at(99))
				s.vanish("app")
				s.under(Action{Kind: ActStartContainer, Container: "app"}, at(99))
			},
			waiting: "waiting until its containers have stopped",
		},
		{
			name: "everything is removed at once", from: deleted,
			change: func(s *scene) {
				for _, c := range []string{"log", "web", "app"} {
					s.endsUnseen(c, 0, at(99))
				}
			},
			actions: []string{
				"remove setup#0: pod has ended",
				"remove log#0: pod has ended",
				"remove web#0: pod has ended",
				"remove app#0: pod has ended",
				"remove box0 by force: pod has ended",
			},
			waiting: "waiting until its containers are removed",
		},
		{
			name: "a removal that failed rests", from: deleted,
			change: func(s *scene) {
				s.in().Observed.Containers = nil
				s.in().Failures[""] = Failure{Kind: ActRemove, Reason: "remove", Message: "device busy", At: at(99), Count: 1}
			},
			wake: at(109), waiting: "remove failed: device busy",
		},
		{
			name: "a sandbox being made is waited for", from: deleted,
			change: func(s *scene) {
				s.in().Observed = Observed{}
				s.under(Action{Kind: ActCreateSandbox}, at(99))
			},
			waiting: "waiting until a start under way has ended",
		},
		{
			name: "nothing is left", from: deleted, change: func(s *scene) { s.in().Observed = Observed{} },
			actions: []string{"forget: nothing of the pod is left on the engine"},
		},
		{
			name: "the successor waits for the forgetting", from: deleted,
			change: func(s *scene) {
				s.replacedBy("u2")
				s.in().Observed = Observed{}
			},
			actions: []string{"forget: nothing of the pod is left on the engine"},
			waiting: "waiting until the predecessor is gone",
		},
		{
			name: "a stray is ended within two seconds",
			change: func(s *scene) {
				s.in().Stray, s.in().Record.Pod = true, nil
			},
			actions: []string{
				"signal log#0: Stopping a container of which there is no record",
				"signal web#0: Stopping a container of which there is no record",
				"signal app#0: Stopping a container of which there is no record",
			},
			wake: at(102), waiting: "waiting until its containers have stopped",
		},
		{
			name: "a live pod starts nothing while a stray is there",
			change: func(s *scene) {
				s.vanish("web")
				s.memory("web", func(m *Memory) { m.Run = RunEnded; m.Last = vanished(at(90)) })
				s.have.Instances = append(s.have.Instances, Instance{Stray: true, Record: Record{UID: "u0"},
					Observed: Observed{Containers: []Container{{ID: "x", Name: "web", State: StateExited}}}})
			},
			actions: []string{"remove web#0: pod has ended"},
			waiting: "waiting until its containers are removed",
		},
	})
}

// replacedBy wants another instance when the old one is not wanted any more.
func (s *scene) replacedBy(uid types.UID) {
	pod := basePod()
	pod.UID = uid
	s.want = &Want{Pod: pod}
}

func TestPlanSandbox(t *testing.T) {
	dead := func() *scene {
		s := running()
		s.in().Observed.Sandboxes[0].State = StateExited
		return s
	}
	deadAll := func() *scene {
		s := dead()
		for _, c := range []string{"log", "web", "app"} {
			s.ends(c, 137, at(99))
		}
		return s
	}
	const changed = "Pod sandbox changed, it will be killed and re-created."
	checkPlan(t, []planRow{
		{
			name: "containers of a dead sandbox are stopped first", from: dead,
			actions: []string{"signal web#0: " + changed, "signal app#0: " + changed},
			wake:    at(130), waiting: "pod sandbox is not ready: waiting until its containers have stopped",
		},
		{
			name: "then a new one is made and init results go", from: deadAll,
			actions: []string{
				"remove setup#0: " + changed, "remove log#0: " + changed, "remove box0: " + changed,
				"create-sandbox #1: " + changed,
				`ensure-image setup#0: image "setup:1" is needed with pull policy IfNotPresent`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "host network changed", change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.HostNetwork = true })
				for _, c := range []string{"log", "web", "app"} {
					s.ends(c, 137, at(99))
				}
			},
			actions: []string{"kill box0: " + changed},
			waiting: "network namespace mode changed and sandbox needs to be recreated: waiting until the old one has stopped",
		},
		{
			name: "two sandboxes run", change: func(s *scene) {
				s.in().Observed.Sandboxes = append(s.in().Observed.Sandboxes, Sandbox{ID: "box1", Attempt: 1, State: StateRunning})
				for _, c := range []string{"log", "web", "app"} {
					s.ends(c, 137, at(99))
				}
			},
			actions: []string{"kill box0: " + changed, "kill box1: " + changed},
			waiting: "multiple pod sandboxes are ready and need to be reconciled: waiting until the old one has stopped",
		},
		{
			name: "while it is being made the first image is looked up", from: deadAll,
			change: func(s *scene) { s.under(Action{Kind: ActCreateSandbox}, at(99)) },
			actions: []string{
				`ensure-image setup#0: image "setup:1" is needed with pull policy IfNotPresent`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "without init containers all images", from: fresh,
			change: func(s *scene) { s.spec(func(pod *v1.Pod) { pod.Spec.InitContainers = nil }) },
			actions: []string{
				"begin: pod is wanted by file /m/web.yaml",
				"create-sandbox #0: no pod sandbox exists",
				`ensure-image web#0: image "web:1" is needed with pull policy IfNotPresent`,
				`ensure-image app#0: image "app:1" is needed with pull policy Always`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "a sandbox that failed rests for ten seconds", from: deadAll,
			change: func(s *scene) {
				s.in().Failures[""] = Failure{Kind: ActCreateSandbox, Reason: ReasonFailedCreatePodSandBox, Message: "no space", At: at(95), Count: 3}
			},
			wake: at(105), waiting: "FailedCreatePodSandBox: no space",
		},
		{
			name: "OnFailure: nothing left to run, no new sandbox", from: deadAll,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure })
				s.ends("web", 0, at(99))
				s.ends("app", 0, at(99))
			},
			actions: []string{"finish: all containers have succeeded"},
		},
		{
			name: "OnFailure: only what failed runs again", from: deadAll,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) {
					pod.Spec.RestartPolicy, pod.Spec.InitContainers = v1.RestartPolicyOnFailure, nil
				})
				s.vanish("setup")
				s.vanish("log")
				s.ends("web", 0, at(99))
			},
			actions: []string{
				"remove box0: " + changed,
				"create-sandbox #1: " + changed,
				`ensure-image app#0: image "app:1" is needed with pull policy Always`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "Never: a lost sandbox ends the pod", from: deadAll,
			change:  func(s *scene) { s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever }) },
			actions: []string{"finish: a container has failed and does not run again"},
		},
		{
			name: "Never: a container that had not started is not started in another sandbox", from: deadAll,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				s.ends("web", 0, at(99))
				s.vanish("app")
				delete(s.in().Record.Containers, "app")
			},
			actions: []string{"finish: the sandbox of the pod was lost and restartPolicy Never forbids to start it again"},
		},
		{
			name: "Never: before anything ran a new sandbox is made", from: deadAll,
			change: func(s *scene) {
				s.spec(func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
				for _, c := range []string{"web", "app", "log"} {
					s.vanish(c)
					delete(s.in().Record.Containers, c)
				}
				s.in().Record.Initialized = false
			},
			actions: []string{
				"remove setup#0: " + changed, "remove box0: " + changed,
				"create-sandbox #1: " + changed,
				`ensure-image setup#0: image "setup:1" is needed with pull policy IfNotPresent`,
			},
			waiting: "creating its sandbox",
		},
		{
			name: "an old dead sandbox is removed", change: func(s *scene) {
				s.in().Observed.Sandboxes[0].Attempt = 1
				s.in().Observed.Sandboxes = append(s.in().Observed.Sandboxes, Sandbox{ID: "old", State: StateExited})
			},
			actions: []string{"remove old: only the newest sandbox is kept"},
		},
	})
}
