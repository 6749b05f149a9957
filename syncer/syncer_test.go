package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer/enginetest"
)

func TestAWantedPodRunsAndAnUnwantedOneEnds(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.running("a", "c")
		h.pass(time.Second)
		if v := h.view("a"); v.Pod.Status.Phase != v1.PodRunning || v.Waiting != "" {
			t.Errorf("phase %s, waiting %q", v.Pod.Status.Phase, v.Waiting)
		}
		h.drop("a")
		h.pass(time.Second)
		h.gone("a")
		if _, there := h.syncer.View(key("a")); there {
			t.Error("the view of the ended pod is still there")
		}
		if _, err := os.Stat(h.records.Dir("a-1")); !os.IsNotExist(err) {
			t.Errorf("directory of the ended pod: %v", err)
		}
		if !slices.Contains(h.cgroups.removed, "a-1") {
			t.Errorf("cgroups removed: %v", h.cgroups.removed)
		}
		if !h.syncer.Idle() {
			t.Error("not idle with nothing wanted and nothing left")
		}
	})
}

func TestAnIdlePodCostsTheEngineNothing(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"), aPod("b"))
		h.pass(90 * time.Second)
		h.engine.ForgetCalls()
		h.pass(10 * time.Minute)
		for _, c := range h.engine.Calls() {
			if c.Method != "List" {
				t.Errorf("%s %s was called for nothing", c.Method, c.Key)
			}
		}
		if n := len(h.engine.Calls("List")); n < 9 || n > 11 {
			t.Errorf("%d listings in 10 minutes, want one a minute", n)
		}
	})
}

func TestReplacementWaitsForTheWholeGraceAndStartsAtOnce(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("c:1", enginetest.Behaviour{IgnoresTerm: true}, enginetest.Behaviour{})
		h.want(aPod("a"))
		h.running("a", "c")
		h.pass(time.Minute)
		began := time.Now()
		h.want(aPod("a", instance(2)))
		h.pass(9 * time.Second)
		if got := h.live("a")["c"]; got.ID == "" || len(h.engine.Peek(key("a"))) != 1 {
			t.Fatal("the old instance did not get its grace, or the new one did not wait")
		}
		if h.view("a").Pod.UID != "a-1" || h.view("a").Pod.DeletionTimestamp == nil {
			t.Error("the ending instance is not shown as such")
		}
		h.pass(2 * time.Second)
		h.running("a", "c")
		if v := h.view("a"); v.Pod.UID != "a-2" {
			t.Fatalf("shown %s after the replacement", v.Pod.UID)
		}
		for _, c := range h.engine.Calls("StartSandbox") {
			if c.UID == "a-2" && (c.At.Sub(began) < 10*time.Second || c.At.Sub(began) > 10*time.Second+300*time.Millisecond) {
				t.Errorf("the new sandbox came %v after the edit, want right after the grace of 10 s", c.At.Sub(began))
			}
		}
	})
}

func TestRestartOfIsletChangesNothing(t *testing.T) {
	in(t, func(h *house) {
		for i := range 10 {
			h.want(aPod(fmt.Sprint("p", i)))
		}
		h.pass(time.Minute)
		before := map[string][]string{}
		for i := range 10 {
			name := fmt.Sprint("p", i)
			before[name] = h.ids(name)
		}
		h.engine.Behave(func(pods.ContainerRequest) enginetest.Behaviour { return enginetest.Behaviour{} })
		h.kill()
		delete(h.wants, key("p1")) // removed while islet was down
		edited := aPod("p2", instance(2))
		h.wants[key("p2")] = &pods.Want{Pod: edited, Source: "file"}
		h.start()
		h.pass(10 * time.Second)
		if got := h.ids("p1"); !slices.Equal(got, before["p1"]) {
			t.Error("a pod was touched before it was known whether it is wanted")
		}
		h.aim()
		h.pass(20 * time.Second)
		h.gone("p1")
		for i := range 10 {
			name := fmt.Sprint("p", i)
			same := slices.Equal(h.ids(name), before[name])
			if name != "p1" && same != (name != "p2") {
				t.Errorf("%s: ids before %v, after %v", name, before[name], h.ids(name))
			}
		}
	})
}

func TestHeldPodsAreLeftAlone(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(time.Minute)
		before := h.ids("a")
		h.kill()
		h.wants[key("a")].Hold = true
		held := *h.wants[key("a")]
		held.Pod = aPod("a", instance(2))
		h.wants[key("a")] = &held
		h.start()
		h.aim()
		h.pass(time.Minute)
		if got := h.ids("a"); !slices.Equal(got, before) {
			t.Errorf("ids before %v, after %v", before, got)
		}
	})
}

func TestAHungPodDelaysNoOtherAndCanBeDeleted(t *testing.T) {
	in(t, func(h *house) {
		hang := func(p *v1.Pod) { p.Spec.Containers[0].Image = "hang:1" }
		h.engine.Program("hang:1", enginetest.Behaviour{StartHangs: true})
		h.want(aPod("hung", hang))
		h.pass(time.Second)
		h.want(aPod("a"), aPod("b"))
		h.pass(time.Second)
		h.running("a", "c")
		h.running("b", "c")
		h.drop("a") // kills never wait behind starts
		h.pass(time.Second)
		h.gone("a")
		h.drop("hung")
		h.pass(3 * time.Minute) // the start is given up after 2 minutes
		h.gone("hung")
	})
}

func TestKillsDoNotWaitBehindStarts(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("victim"))
		h.pass(time.Minute)
		h.engine.BehaveSandbox(func(pods.SandboxRequest) enginetest.SandboxBehaviour {
			return enginetest.SandboxBehaviour{StartTakes: 30 * time.Second}
		})
		for i := range 20 {
			h.want(aPod(fmt.Sprint("p", i)))
		}
		h.pass(time.Second)
		h.drop("victim")
		h.pass(time.Second)
		h.gone("victim")
		running := 0
		for _, c := range h.engine.Calls("StartSandbox") {
			if c.Done.IsZero() {
				running++
			}
		}
		if running != 2 {
			t.Errorf("%d starts at once, want the 2 that the gate admits", running)
		}
	})
}

func TestCrashLoopBacksOffAndIsShown(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("c:1", enginetest.Behaviour{Exits: true, Runs: time.Second, ExitCode: 7})
		began := time.Now()
		h.want(aPod("a"))
		h.pass(11*time.Minute + 30*time.Second)
		var starts []time.Duration
		for _, c := range h.engine.Calls("StartContainer") {
			starts = append(starts, c.At.Sub(began).Round(time.Second))
		}
		// It runs for 1 s; then waits 0, 10, 20, 40, 80, 160, 300 s.
		var want []time.Duration
		for _, s := range []int{0, 1, 12, 33, 74, 155, 316, 617} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(starts, want) {
			t.Errorf("starts at %v, want %v", starts, want)
		}
		st := h.view("a").Pod.Status.ContainerStatuses[0]
		if st.State.Waiting == nil || st.State.Waiting.Reason != "CrashLoopBackOff" || st.RestartCount != 7 ||
			st.LastTerminationState.Terminated == nil || st.LastTerminationState.Terminated.ExitCode != 7 {
			t.Errorf("status %+v", st)
		}
	})
}

func TestRunOnceMeansOnceAcrossRestarts(t *testing.T) {
	in(t, func(h *house) {
		once := func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever }
		h.engine.Program("c:1", enginetest.Behaviour{Exits: true, Runs: time.Second})
		h.want(aPod("a", once))
		h.pass(time.Minute)
		for _, o := range h.engine.Peek(key("a")) {
			for _, c := range o.Containers {
				h.engine.Vanish(c.ID) // collected by somebody else
			}
		}
		h.restart()
		h.aim()
		h.pass(time.Minute)
		if n := len(h.engine.Calls("StartContainer")); n != 1 {
			t.Errorf("started %d times", n)
		}
		if phase := h.view("a").Pod.Status.Phase; phase != v1.PodSucceeded {
			t.Errorf("phase %s", phase)
		}
	})
}

func TestEngineAwayIsWaitedForAndNotCounted(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(time.Minute)
		before := h.ids("a")
		h.engine.Down(errors.New("gone fishing"))
		h.want(aPod("b"))
		h.pass(5 * time.Minute)
		if w := h.view("b").Waiting; !strings.Contains(w, "engine") {
			t.Errorf("b waits for %q", w)
		}
		h.engine.Up()
		h.pass(time.Second)
		h.running("b", "c")
		if got := h.ids("a"); !slices.Equal(got, before) {
			t.Errorf("a: ids before %v, after %v", before, got)
		}
		for _, e := range h.syncer.Recorder.Events(key("b")) {
			if e.Type != "Normal" {
				t.Errorf("event %+v", e)
			}
		}
	})
}

func TestStraysEndOnlyWhenEverySourceIsKnown(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(time.Minute)
		h.kill()
		if err := h.store.ErasePod("a-1"); err != nil { // the state is lost
			t.Fatal(err)
		}
		delete(h.wants, key("a"))
		h.start()
		h.send(true, false)
		h.pass(5 * time.Minute)
		h.running("a", "c")
		h.send(true, true)
		h.pass(time.Minute)
		h.gone("a")
	})
}

func TestAWantedPodWithoutRecordIsTakenOver(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(time.Minute)
		before := h.ids("a")
		h.kill()
		if err := h.store.ErasePod("a-1"); err != nil {
			t.Fatal(err)
		}
		h.start()
		h.aim()
		h.pass(time.Minute)
		if got := h.ids("a"); !slices.Equal(got, before) {
			t.Errorf("ids before %v, after %v", before, got)
		}
		if records, _, err := h.records.Load(); err != nil || len(records) != 1 || records[0].UID != "a-1" {
			t.Errorf("records %+v, %v", records, err)
		}
	})
}

func TestNothingStartsWithoutARecord(t *testing.T) {
	in(t, func(h *house) {
		h.records.fail(errors.New("no space left on device"))
		h.want(aPod("a"))
		h.pass(time.Minute)
		h.running("a")
		if n := len(h.engine.Calls("StartContainer")); n != 0 {
			t.Errorf("%d container starts without a record", n)
		}
		h.records.fail(nil)
		h.pass(5 * time.Second)
		h.running("a", "c")
	})
}

func TestSuccessorOfAnotherNameWaits(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("c:1", enginetest.Behaviour{StopTakes: 5 * time.Second}, enginetest.Behaviour{})
		h.want(aPod("old"))
		h.pass(time.Minute)
		h.after[key("new")] = "old-1"
		delete(h.wants, key("old"))
		h.want(aPod("new"))
		h.pass(4 * time.Second)
		h.running("new")
		h.pass(2 * time.Second)
		h.running("new", "c")
		h.gone("old")
	})
}

func TestUnsupportedPodWaitsUntilTheFactsChange(t *testing.T) {
	in(t, func(h *house) {
		poor := h.engine.Facts()
		rich := poor
		tiny := aPod("a")
		reasons := func(f pods.Facts) []string { return pods.Admit(tiny, f) }
		poor.Privileged = false
		tiny.Spec.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: new(bool)}
		*tiny.Spec.Containers[0].SecurityContext.Privileged = true
		if len(reasons(poor)) == 0 || len(reasons(rich)) != 0 {
			t.Fatalf("admission: poor %v, rich %v", reasons(poor), reasons(rich))
		}
		h.engine.SetFacts(poor)
		h.want(tiny)
		h.pass(time.Minute)
		h.running("a")
		if v := h.view("a"); v.Pod.Status.Phase != v1.PodPending || v.Pod.Status.Reason != pods.ReasonUnsupportedByEngine {
			t.Errorf("status %+v", v.Pod.Status)
		}
		h.engine.Down(errors.New("replaced"))
		h.engine.SetFacts(rich)
		h.engine.Up()
		h.pass(time.Second)
		h.running("a", "c")
	})
}

func TestACrashBetweenCreateAndStartRunsOnce(t *testing.T) {
	in(t, func(h *house) {
		once := func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyOnFailure }
		h.engine.Program("c:1", enginetest.Behaviour{StartTakes: 30 * time.Second, Exits: true, Runs: time.Second})
		h.want(aPod("a", once))
		h.pass(time.Second)
		h.restart()
		h.aim()
		h.pass(5 * time.Minute)
		if phase := h.view("a").Pod.Status.Phase; phase != v1.PodSucceeded {
			t.Errorf("phase %s, waiting %q", phase, h.view("a").Waiting)
		}
		if runs := h.engine.Peek(key("a")); len(runs) != 1 || len(runs[0].Containers) != 1 {
			t.Errorf("runs %+v, want one", runs)
		}
	})
}

func TestEraseIsTriedAgain(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(time.Minute)
		h.cgroups.mu.Lock()
		h.cgroups.err = errors.New("device or resource busy")
		h.cgroups.mu.Unlock()
		h.want(aPod("a", instance(2))) // the successor does not wait for it
		h.pass(time.Second)
		h.running("a", "c")
		h.cgroups.mu.Lock()
		h.cgroups.err = nil
		h.cgroups.mu.Unlock()
		h.pass(15 * time.Second)
		if records, _, err := h.records.Load(); err != nil || len(records) != 1 || records[0].UID != "a-2" {
			t.Errorf("records %+v, %v", records, err)
		}
	})
}

func TestFailedStartsAreTriedAgainAndTold(t *testing.T) {
	in(t, func(h *house) {
		failures := 2
		h.engine.SetFault(func(_ context.Context, c enginetest.Call) error {
			if c.Method == "StartSandbox" && failures > 0 {
				failures--
				return errors.New("address pool is empty")
			}
			return nil
		})
		h.want(aPod("a"))
		h.pass(time.Second)
		h.running("a")
		if w := h.view("a").Waiting; !strings.Contains(w, "address pool is empty") {
			t.Errorf("waits for %q", w)
		}
		h.pass(30 * time.Second)
		h.running("a", "c")
		var told []string
		for _, e := range h.syncer.Recorder.Events(key("a")) {
			told = append(told, e.Reason+": "+e.Message)
		}
		if !slices.Contains(told, "FailedCreatePodSandBox: Failed to create pod sandbox: address pool is empty") {
			t.Errorf("told %q", told)
		}
	})
}

// The listing is the net below the event stream: a change whose event was lost
// is found by it.
func TestAChangeWithoutAnEventIsFound(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.pass(90 * time.Second)
		before := h.live("a")["c"]
		h.engine.Mute(true)
		h.engine.Exit(before.ID, 1)
		h.pass(20 * time.Second)
		h.running("a") // nobody could know yet
		h.pass(41 * time.Second)
		h.running("a", "c")
	})
}
