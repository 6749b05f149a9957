package syncer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer/enginetest"
)

// restarted is islet started again, and told what is wanted.
func (h *house) restarted() {
	h.restart()
	h.aim()
	h.pass(time.Second)
}

// reboot is a restart of the machine, islet included.
func (h *house) reboot() {
	h.kill()
	h.engine.Down(errors.New("the machine restarts"))
	h.engine.Restart(fmt.Sprint("boot ", time.Now()))
	h.engine.Up()
	h.start()
	h.aim()
	h.pass(time.Second)
}

// collect removes the ended containers of a pod behind islet's back.
func (h *house) collect(name string) {
	for _, o := range h.engine.Peek(key(name)) {
		for _, c := range o.Containers {
			if c.State == pods.StateExited {
				h.engine.Vanish(c.ID)
			}
		}
	}
}

// starts is when containers of a pod were started, "name seconds".
func (h *house) starts(began time.Time) (list []string) {
	for _, c := range h.engine.Calls("StartContainer") {
		list = append(list, fmt.Sprintf("%s %d", c.Container, int(c.At.Sub(began).Round(time.Second).Seconds())))
	}
	return list
}

func (h *house) startsAre(began time.Time, want ...string) {
	h.t.Helper()
	if got := h.starts(began); !slices.Equal(got, want) {
		h.t.Errorf("started %q, want %q (waiting: %q)", got, want, h.view("a").Waiting)
	}
}

func (h *house) phase(want v1.PodPhase) {
	h.t.Helper()
	if v := h.view("a"); v.Pod == nil || v.Pod.Status.Phase != want {
		h.t.Errorf("phase %+v, want %s (waiting: %q)", v.Pod, want, v.Waiting)
	}
}

func (h *house) container(name string) v1.ContainerStatus {
	h.t.Helper()
	st := h.view("a").Pod.Status
	for _, c := range append(slices.Clone(st.InitContainerStatuses), st.ContainerStatuses...) {
		if c.Name == name {
			return c
		}
	}
	h.t.Fatalf("no status of container %s", name)
	return v1.ContainerStatus{}
}

// loseRecord ends islet and erases what it wrote down of an instance.
func (h *house) loseRecord(uid string) {
	h.kill()
	if err := h.store.ErasePod(uid); err != nil {
		h.t.Fatal(err)
	}
	h.start()
	h.aim()
	h.pass(time.Second)
}

func policy(p v1.RestartPolicy) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.RestartPolicy = p }
}

// exits is what a run does that ends by itself after a second.
func exits(codes ...int) (list []enginetest.Behaviour) {
	for _, c := range codes {
		list = append(list, enginetest.Behaviour{Exits: true, Runs: time.Second, ExitCode: c})
	}
	return list
}

// What ran once and ended does not run again, whatever happens: islet is
// restarted three times, the engine and the machine once, and the ended
// containers are collected. A removed manifest forgets it.
func TestOnceIsOnce(t *testing.T) {
	for _, row := range []struct {
		name   string
		policy v1.RestartPolicy
		codes  []int
		runs   int
		phase  v1.PodPhase
	}{
		{"Never, success", v1.RestartPolicyNever, []int{0}, 1, v1.PodSucceeded},
		{"Never, failure", v1.RestartPolicyNever, []int{1}, 1, v1.PodFailed},
		{"OnFailure, success", v1.RestartPolicyOnFailure, []int{0}, 1, v1.PodSucceeded},
		{"OnFailure, failed twice", v1.RestartPolicyOnFailure, []int{1, 1, 0}, 3, v1.PodSucceeded},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, func(h *house) {
				h.engine.Program("c:1", exits(row.codes...)...)
				pod := aPod("a", policy(row.policy))
				h.want(pod)
				h.pass(time.Minute)
				h.phase(row.phase)
				restarts := h.container("c").RestartCount
				check := func(after string) {
					t.Helper()
					h.pass(10 * time.Minute)
					if n := len(h.engine.Calls("StartContainer")); n != row.runs {
						t.Fatalf("after %s: started %d times, want %d", after, n, row.runs)
					}
					h.phase(row.phase)
					if c := h.container("c"); c.RestartCount != restarts || c.State.Terminated == nil || int(c.State.Terminated.ExitCode) != row.codes[len(row.codes)-1] {
						t.Errorf("after %s: %+v", after, c)
					}
				}
				for range 3 {
					h.restarted()
				}
				check("restarts of islet")
				h.engine.Down(errors.New("restarts"))
				h.pass(time.Minute)
				h.engine.Up()
				check("a restart of the engine")
				h.reboot()
				check("a reboot")
				h.collect("a")
				check("the containers were collected")
				h.restarted()
				check("and islet restarted")
				h.reboot()
				check("and the machine")

				h.drop("a")
				h.pass(time.Minute)
				h.gone("a")
				h.want(aPod("a", policy(row.policy), instance(2)))
				h.pass(time.Minute)
				if n := len(h.engine.Calls("StartContainer")); n != 2*row.runs {
					t.Errorf("a new instance: %d starts in all, want %d", n, 2*row.runs)
				}
			})
		})
	}
}

// What a reboot cuts off has failed: Never does not run again, OnFailure does.
func TestRebootUnderWay(t *testing.T) {
	for p, runs := range map[v1.RestartPolicy]int{v1.RestartPolicyNever: 1, v1.RestartPolicyOnFailure: 2, v1.RestartPolicyAlways: 2} {
		t.Run(string(p), func(t *testing.T) {
			in(t, func(h *house) {
				h.want(aPod("a", policy(p)))
				h.pass(time.Minute)
				h.reboot()
				h.pass(10 * time.Minute)
				if n := len(h.engine.Calls("StartContainer")); n != runs {
					t.Errorf("%d starts, want %d", n, runs)
				}
				if p == v1.RestartPolicyNever {
					h.phase(v1.PodFailed)
					return
				}
				h.phase(v1.PodRunning)
				if c := h.container("c"); c.RestartCount != 1 || c.LastTerminationState.Terminated == nil || c.LastTerminationState.Terminated.ExitCode != 255 {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// An init container that has succeeded is done for its sandbox, also when it
// was collected and islet restarted; in a new sandbox it runs again.
func TestInitIsRemembered(t *testing.T) {
	in(t, func(h *house) {
		began := time.Now()
		h.engine.Program("setup:1", exits(0)...)
		h.engine.Program("second:1", enginetest.Behaviour{Exits: true, Runs: time.Minute})
		h.want(aPod("a", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{aContainer("setup"), aContainer("second")}
		}))
		h.pass(30 * time.Second)
		h.startsAre(began, "setup 0", "second 1")
		h.collect("a")
		h.restarted()
		h.pass(40 * time.Second)
		h.startsAre(began, "setup 0", "second 1", "c 61")
		h.collect("a")
		h.restarted()
		h.pass(time.Minute)
		h.startsAre(began, "setup 0", "second 1", "c 61")
		if c := h.container("second"); !c.Ready || c.State.Terminated == nil {
			t.Errorf("status of the collected init container: %+v", c)
		}
		h.phase(v1.PodRunning)
		h.engine.Vanish(h.live("a")["c"].ID) // even the last witness
		h.restarted()
		h.startsAre(began, "setup 0", "second 1", "c 61", "c 132")
	})
}

// An init container collected before the next one began does not run again.
func TestInitIsRememberedBeforeTheNextBegins(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("setup:1", exits(0)...)
		h.engine.SetImage("c:1", enginetest.ImageBehaviour{Absent: true, PullFails: -1})
		h.want(aPod("a", func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{aContainer("setup")} }))
		h.pass(30 * time.Second)
		h.collect("a")
		h.restarted()
		h.engine.SetImage("c:1", enginetest.ImageBehaviour{})
		h.pass(10 * time.Minute)
		h.running("a", "c")
		if n := len(h.engine.Calls("StartContainer")); n != 2 {
			t.Errorf("%d starts, want setup once and c once", n)
		}
		if c := h.container("setup"); c.RestartCount != 0 || !c.Ready {
			t.Errorf("setup: %+v", c)
		}
	})
}

// The table of restart delays; exit code 0 counts like any other, a run of more
// than ten minutes begins anew. A restart of islet changes none of it, nor do
// collected containers; of a lost record the labels tell as much.
func TestBackoffTable(t *testing.T) {
	want := []string{"c 0", "c 1", "c 12", "c 33", "c 74", "c 155", "c 316", "c 617"} // each runs for 1 s
	for _, row := range []struct {
		name    string
		disturb func(h *house)
	}{
		{"undisturbed", func(*house) {}},
		{"islet restarts", func(h *house) { h.restarted() }},
		{"collected", func(h *house) { h.collect("a"); h.restarted() }},
		{"the record is lost", func(h *house) { h.loseRecord("a-1") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, func(h *house) {
				h.engine.Program("c:1", exits(0)...)
				began := time.Now()
				h.want(aPod("a"))
				for range 4 {
					h.pass(time.Duration(time.Until(began.Add(200*time.Second)))/2 + 3*time.Second)
					row.disturb(h)
				}
				h.pass(time.Until(began.Add(700 * time.Second)))
				h.startsAre(began, want...)
				c := h.container("c")
				if c.RestartCount != 7 || c.State.Waiting == nil || c.State.Waiting.Message != "back-off 5m0s restarting failed container=c pod=a_default(a-1)" {
					t.Errorf("status %+v", c)
				}
			})
		})
	}
}

func TestBackoffEndsAfterTenGoodMinutes(t *testing.T) {
	in(t, func(h *house) {
		runs := append(exits(1, 1, 1), enginetest.Behaviour{Exits: true, Runs: 11 * time.Minute, ExitCode: 1})
		h.engine.Program("c:1", append(runs, exits(1)...)...)
		began := time.Now()
		h.want(aPod("a"))
		h.pass(5 * time.Minute)
		h.restarted()
		h.pass(10 * time.Minute)
		// The fourth runs from 33 to 693 s; then it begins anew: 0, 10, 20 s.
		h.startsAre(began, "c 0", "c 1", "c 12", "c 33", "c 693", "c 704", "c 725", "c 766", "c 847")
	})
}

// Restart counts survive islet, the machine and the collection of containers.
func TestRestartCountsSurvive(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("c:1", append(exits(1, 1, 1), enginetest.Behaviour{})...)
		h.want(aPod("a"))
		h.pass(2 * time.Minute)
		h.restarted()
		check := func(after string, want int32) {
			t.Helper()
			if c := h.container("c"); c.RestartCount != want {
				t.Errorf("after %s: %d restarts, want %d", after, c.RestartCount, want)
			}
		}
		check("a restart of islet", 3)
		h.reboot()
		h.pass(10 * time.Minute)
		check("a reboot", 4)
		h.collect("a")
		h.engine.Vanish(h.live("a")["c"].ID)
		h.restarted()
		h.pass(10 * time.Minute)
		check("all was removed", 5)
		h.loseRecord("a-1")
		check("the record was lost", 5)
	})
}

// A sidecar starts before, outlives crashes of the others, ends last, and keeps
// no pod alive.
func TestSidecar(t *testing.T) {
	sidecar := func(p *v1.Pod) {
		log := aContainer("log")
		log.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = []v1.Container{log, aContainer("mig")}
	}
	in(t, func(h *house) {
		h.engine.Program("mig:1", exits(0)...)
		h.engine.Program("c:1", enginetest.Behaviour{Exits: true, Runs: 2 * time.Second, ExitCode: 7})
		began := time.Now()
		h.want(aPod("a", sidecar))
		h.pass(20 * time.Second)
		h.startsAre(began, "log 0", "mig 0", "c 1", "c 3", "c 15")
		log := h.live("a")["log"]
		h.restarted()
		h.pass(2 * time.Minute)
		if now := h.live("a")["log"]; now.ID != log.ID {
			t.Error("the sidecar was restarted with the main container")
		}
		h.pass(time.Until(began.Add(162 * time.Second))) // c runs again since 161 s
		h.running("a", "c", "log")
		h.engine.ForgetCalls()
		h.drop("a")
		h.pass(time.Minute)
		h.gone("a")
		var signals []string
		for _, c := range h.engine.Calls("Signal") {
			if c.Container != "" && c.Container != "POD" {
				signals = append(signals, c.Container)
			}
		}
		if !slices.Equal(signals, []string{"c", "log"}) {
			t.Errorf("stopped in the order %q", signals)
		}
	})
	in(t, func(h *house) {
		h.engine.Program("mig:1", exits(0)...)
		h.engine.Program("c:1", exits(7)...)
		h.want(aPod("a", sidecar, policy(v1.RestartPolicyNever)))
		h.pass(time.Minute)
		h.phase(v1.PodFailed)
		h.running("a")
	})
}

func events(h *house, reason string) (list []string) {
	for _, e := range h.syncer.Recorder.Events(key("a")) {
		if e.Reason == reason {
			list = append(list, strings.TrimPrefix(e.Container+": "+e.Message, ": "))
		}
	}
	return list
}
