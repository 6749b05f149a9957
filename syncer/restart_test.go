package syncer_test

import (
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

// trainer has an init container, a sidecar, and two workers; exit code 42 of
// the first has all restart, 41 only itself.
func trainer(p *v1.Pod) {
	side, boss := aContainer("side"), aContainer("boss")
	side.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
	boss.RestartPolicy = ptr.To(v1.ContainerRestartPolicyNever)
	rule := func(action v1.ContainerRestartRuleAction, code int32) v1.ContainerRestartRule {
		return v1.ContainerRestartRule{Action: action, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}}}
	}
	boss.RestartPolicyRules = []v1.ContainerRestartRule{
		rule(v1.ContainerRestartRuleActionRestart, 41), rule(v1.ContainerRestartRuleActionRestartAllContainers, 42),
	}
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.InitContainers = []v1.Container{aContainer("setup"), side}
	p.Spec.Containers = []v1.Container{boss, aContainer("hand")}
}

func TestRestartAllContainers(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("setup:1", exits(0)...)
		h.engine.Program("boss:1", enginetest.Behaviour{Exits: true, Runs: 30 * time.Second, ExitCode: 42},
			enginetest.Behaviour{Exits: true, Runs: 5 * time.Second, ExitCode: 42}, enginetest.Behaviour{})
		h.engine.Program("hand:1", enginetest.Behaviour{IgnoresTerm: true})
		began := time.Now()
		h.want(aPod("a", trainer))
		h.pass(20 * time.Second)
		h.phase(v1.PodRunning)
		first := h.ids("a")
		h.pass(12 * time.Second) // boss ended at 31 s
		if c := condition(h, v1.AllContainersRestarting); c == nil || c.Status != v1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
		h.pass(3 * time.Second) // hand is killed two seconds later
		h.running("a", "boss", "hand", "side")
		h.startsAre(began, "setup 0", "side 1", "boss 1", "hand 1", "setup 33", "side 34", "boss 34", "hand 34")
		for _, name := range []string{"setup", "side", "boss", "hand"} {
			c := h.container(name)
			if last := c.LastTerminationState.Terminated; c.RestartCount != 1 || last == nil || last.Reason != pods.ReasonRestartingAll || last.ExitCode != 137 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if c := condition(h, v1.PodInitialized); c.Status != v1.ConditionTrue {
			t.Errorf("condition %+v", c)
		}
		if c := condition(h, v1.AllContainersRestarting); c.Status != v1.ConditionFalse {
			t.Errorf("condition %+v", c)
		}
		if after := h.ids("a"); len(after) != len(first) {
			t.Errorf("runs before %v, after %v", first, after)
		}
		if list := events(h, pods.ReasonRestartingAll); len(list) != 1 || !strings.Contains(list[0], "exit code 42") {
			t.Errorf("events %q", list)
		}
		if n := len(h.engine.Calls("StartSandbox")); n != 1 {
			t.Errorf("%d sandboxes were made", n)
		}

		// Boss ends again at 39 s; its back-off of 10 s holds up only itself.
		h.pass(time.Until(began.Add(45 * time.Second)))
		h.running("a", "hand", "side")
		if c := h.container("boss"); c.State.Waiting == nil || c.State.Waiting.Reason != "CrashLoopBackOff" || c.RestartCount != 2 {
			t.Errorf("boss: %+v", c)
		}
		h.pass(10 * time.Second)
		h.running("a", "boss", "hand", "side")
		if got := h.starts(began); got[len(got)-1] != "boss 49" {
			t.Errorf("started %q", got)
		}
	})
}

func condition(h *house, kind v1.PodConditionType) *v1.PodCondition {
	for _, c := range h.view("a").Pod.Status.Conditions {
		if c.Type == kind {
			return &c
		}
	}
	return nil
}

// A restart of all containers goes on wherever islet, or the machine, was
// stopped in it.
func TestRestartAllContainersIsFinished(t *testing.T) {
	for _, disturb := range []string{"islet", "machine", "collect"} {
		for at := 30; at <= 36; at++ {
			t.Run(fmt.Sprint(disturb, " at ", at), func(t *testing.T) {
				in(t, func(h *house) {
					h.engine.Program("setup:1", exits(0)...)
					h.engine.Program("boss:1", enginetest.Behaviour{Exits: true, Runs: 30 * time.Second, ExitCode: 42}, enginetest.Behaviour{})
					h.engine.Program("hand:1", enginetest.Behaviour{IgnoresTerm: true})
					h.want(aPod("a", trainer))
					h.pass(time.Duration(at)*time.Second + 500*time.Millisecond)
					switch disturb {
					case "islet":
						h.restarted()
					case "machine":
						h.reboot()
					case "collect":
						h.collect("a")
						h.restarted()
					}
					h.pass(10 * time.Minute)
					if disturb == "machine" && (at == 30 || at >= 33) {
						h.phase(v1.PodFailed) // the reboot cut off a pod that never restarts
						return
					}
					h.running("a", "boss", "hand", "side")
					for _, name := range []string{"setup", "side", "boss", "hand"} {
						if c := h.container(name); c.RestartCount != 1 {
							t.Errorf("%s: %d restarts", name, c.RestartCount)
						}
					}
				})
			})
		}
	}
}

func TestRestartRules(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("setup:1", exits(0)...)
		h.engine.Program("boss:1", exits(41, 41, 7)...)
		h.engine.Program("hand:1", enginetest.Behaviour{Exits: true, Runs: time.Minute})
		began := time.Now()
		h.want(aPod("a", trainer))
		h.pass(50 * time.Second)
		h.startsAre(began, "setup 0", "side 1", "boss 1", "hand 1", "boss 2", "boss 13")
		h.phase(v1.PodRunning)
		h.restarted()
		h.pass(time.Minute)
		h.phase(v1.PodFailed)
		h.running("a")
		if c := h.container("boss"); c.RestartCount != 2 || c.State.Terminated == nil || c.State.Terminated.ExitCode != 7 {
			t.Errorf("boss: %+v", c)
		}
	})
}

func deadline(seconds int64) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = &seconds }
}

// A pod is Failed when its deadline is over, to the second, also when islet was
// restarted or down at that time; what it leaves has its grace.
func TestDeadline(t *testing.T) {
	for _, row := range []struct {
		name    string
		disturb func(h *house)
	}{
		{"undisturbed", func(*house) {}},
		{"islet restarts", func(h *house) { h.restarted() }},
		{"the machine restarts", func(h *house) { h.reboot() }},
		{"the record is lost", func(h *house) { h.loseRecord("a-1") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, func(h *house) {
				h.engine.Program("c:1", enginetest.Behaviour{IgnoresTerm: true})
				began := time.Now()
				h.want(aPod("a", deadline(100)))
				h.pass(40 * time.Second)
				row.disturb(h)
				h.pass(time.Until(began.Add(100*time.Second - time.Millisecond)))
				h.running("a", "c")
				h.engine.ForgetCalls()
				h.pass(time.Millisecond)
				if n := len(h.engine.Calls("Signal")); n != 1 {
					t.Fatalf("%d signals at the deadline", n)
				}
				h.phase(v1.PodRunning)
				h.pass(9 * time.Second)
				h.running("a", "c")
				h.pass(2 * time.Second)
				h.running("a")
				st := h.view("a").Pod.Status
				if st.Phase != v1.PodFailed || st.Reason != "DeadlineExceeded" || st.Message != "Pod was active on the node longer than the specified deadline" {
					t.Errorf("%s %s %q", st.Phase, st.Reason, st.Message)
				}
				if list := events(h, "DeadlineExceeded"); !slices.Equal(list, []string{"Pod was active on the node longer than the specified deadline"}) {
					t.Errorf("events %q", list)
				}
				h.restarted()
				h.pass(time.Hour)
				h.running("a")
				h.phase(v1.PodFailed)
			})
		})
	}
}

func TestDeadlineWhileIsletIsDown(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a", deadline(100)))
		h.pass(time.Minute)
		h.kill()
		h.pass(time.Hour)
		h.start()
		h.aim()
		h.pass(time.Second)
		h.running("a")
		h.phase(v1.PodFailed)
	})
}

func TestDeadlineIsLoweredInPlace(t *testing.T) {
	in(t, func(h *house) {
		began := time.Now()
		h.want(aPod("a", deadline(1000)))
		h.pass(20 * time.Second)
		edited := aPod("a", deadline(50))
		edited.Generation = 2
		h.want(edited)
		h.pass(time.Until(began.Add(49 * time.Second)))
		h.running("a", "c")
		h.pass(2 * time.Second)
		h.running("a")
		h.phase(v1.PodFailed)
		if n := len(h.engine.Calls("StartContainer")); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}
