package pods

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// genHave draws instances without any regard to what can be.
func genHave(t *rapid.T) Have {
	names := rapid.SampledFrom([]string{"", "init0", "init1", "main0", "main1", "odd"})
	states := rapid.SampledFrom([]State{StateCreated, StateRunning, StateExited, StateUnknown, "", "odd"})
	boxes := rapid.SampledFrom([]string{"", "b0", "b1"})
	ids := rapid.SampledFrom([]string{"", "i0", "i1", "i2", "b0"})
	when := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return at(float64(rapid.IntRange(-2000, 2000).Draw(t, "at")))
	})
	have := Have{Dead: DeadPolicy{PerContainer: rapid.IntRange(-1, 3).Draw(t, "per container"),
		MinAge: time.Duration(rapid.IntRange(-1, 60).Draw(t, "min age")) * time.Second}}
	for range rapid.IntRange(0, 3).Draw(t, "instances") {
		in := Instance{Stray: rapid.IntRange(0, 4).Draw(t, "stray") == 0}
		in.Record.UID = types.UID(rapid.SampledFrom([]string{"", "u1", "u2"}).Draw(t, "uid"))
		if rapid.IntRange(0, 5).Draw(t, "pod") > 0 {
			in.Record.Pod = genPod(t)
			in.Record.Pod.UID = in.Record.UID
			in.Record.Pod.Generation = int64(rapid.IntRange(0, 3).Draw(t, "generation"))
		}
		in.Record.StartTime = when.Draw(t, "start")
		if rapid.IntRange(0, 3).Draw(t, "deletion") == 0 {
			in.Record.Deletion = &Deletion{At: when.Draw(t, "at"), GraceSeconds: int64(rapid.IntRange(-5, 50).Draw(t, "grace"))}
		}
		if rapid.IntRange(0, 5).Draw(t, "outcome") == 0 {
			in.Record.Outcome = &Outcome{Phase: v1.PodFailed, At: when.Draw(t, "at")}
		}
		if rapid.Bool().Draw(t, "records") {
			in.Record.Containers = map[string]Memory{}
			for range rapid.IntRange(0, 4).Draw(t, "memories") {
				m := Memory{Restarts: rapid.IntRange(-1, 9).Draw(t, "n"), Attempt: rapid.IntRange(-1, 3).Draw(t, "n"),
					Run:     rapid.SampledFrom([]RunState{RunTried, RunStarted, RunEnded, RunReset, "odd"}).Draw(t, "run"),
					Sandbox: boxes.Draw(t, "ran in"), Trigger: rapid.Bool().Draw(t, "trigger"),
					Done: rapid.Bool().Draw(t, "done"), Rerun: rapid.Bool().Draw(t, "rerun"),
					Backoff: time.Duration(rapid.IntRange(-1, 400).Draw(t, "backoff")) * time.Second, BackoffAt: when.Draw(t, "at")}
				if rapid.Bool().Draw(t, "last") {
					m.Last = &v1.ContainerStateTerminated{ExitCode: int32(rapid.IntRange(0, 2).Draw(t, "code")),
						Reason: rapid.SampledFrom([]string{"", ReasonRestartingAll, ReasonContainerStatusUnknown}).Draw(t, "reason")}
				}
				in.Record.Containers[names.Draw(t, "name")] = m
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "boxes") {
			in.Observed.Sandboxes = append(in.Observed.Sandboxes, Sandbox{ID: boxes.Draw(t, "box"), Attempt: rapid.IntRange(0, 2).Draw(t, "n"), State: states.Draw(t, "state")})
		}
		for range rapid.IntRange(0, 6).Draw(t, "containers") {
			in.Observed.Containers = append(in.Observed.Containers, Container{
				ID: ids.Draw(t, "id"), SandboxID: boxes.Draw(t, "box"), Name: names.Draw(t, "name"), State: states.Draw(t, "state"),
				Attempt: rapid.IntRange(0, 3).Draw(t, "n"), ExitCode: rapid.IntRange(0, 1).Draw(t, "code"), StartedAt: when.Draw(t, "at"),
				Hash: rapid.SampledFrom([]string{"", "x"}).Draw(t, "hash"), FinishedAt: when.Draw(t, "at")})
		}
		in.Ops, in.Signalled, in.Failures = map[string]Op{}, map[string]Signalled{}, map[string]Failure{}
		kinds := rapid.SampledFrom([]ActionKind{ActEnsureImage, ActCreateSandbox, ActStartContainer, ActSignal, ActKill, ActRemove, "odd"})
		for range rapid.IntRange(0, 3).Draw(t, "ops") {
			a := Action{Kind: kinds.Draw(t, "kind"), Container: names.Draw(t, "name"), ID: ids.Draw(t, "id")}
			in.Ops[a.Target()] = Op{Action: a, Since: when.Draw(t, "at")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "failures") {
			in.Failures[names.Draw(t, "name")] = Failure{Kind: kinds.Draw(t, "kind"), At: when.Draw(t, "at"), Count: rapid.IntRange(-1, 9).Draw(t, "n")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "signals") {
			in.Signalled[ids.Draw(t, "id")] = Signalled{At: when.Draw(t, "at"), Deadline: when.Draw(t, "at"), Killed: when.Draw(t, "at")}
		}
		if rapid.Bool().Draw(t, "previous") {
			st := Status(at(0), Node{}, in)
			in.Previous = &st
		}
		have.Instances = append(have.Instances, in)
	}
	return have
}

// TestPlanIsTotal: no state makes Plan or Status panic, repeat what is under
// way, ask to be woken in the past, or act on what is not there.
func TestPlanIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := genHave(t)
		var want *Want
		if rapid.IntRange(0, 3).Draw(t, "want") > 0 {
			want = &Want{Hold: rapid.IntRange(0, 4).Draw(t, "hold") == 0}
			if rapid.IntRange(0, 5).Draw(t, "wanted") > 0 {
				want.Pod = genPod(t)
				want.Pod.UID = "u1"
			}
		}
		now := at(0)
		d := Plan(now, want, have)
		if !d.Wake.IsZero() && !d.Wake.After(now) {
			t.Fatalf("wake %s is not after %s", d.Wake, now)
		}
		began := false
		seen := map[string]bool{}
		for _, a := range d.Actions {
			began = began || a.Kind == ActBegin
			if a.Reason == "" {
				t.Fatalf("%s without a reason", a.Kind)
			}
			if want != nil && want.Hold && (a.Kind == ActStartContainer || a.Kind == ActCreateSandbox || a.Kind == ActEnsureImage || a.Kind == ActBegin) {
				t.Fatalf("%s under hold", a.Kind)
			}
			for i := range have.Instances {
				in := &have.Instances[i]
				if in.Record.UID != a.UID || !a.Kind.Beside() || len(have.Instances) > 1 {
					continue
				}
				if _, ok := in.Ops[a.Target()]; ok {
					t.Fatalf("%s is under way", a.Target())
				}
				if in.Record.Deletion != nil && (a.Kind == ActStartContainer || a.Kind == ActCreateSandbox) {
					t.Fatalf("%s after the end was decided", a.Kind)
				}
				if a.Kind == ActStartContainer && anyAlive(&in.Observed, a.Container) {
					t.Fatalf("start of %s beside a live run", a.Container)
				}
			}
			if a.Kind == ActStartContainer {
				if seen["start"] {
					t.Fatal("two starts at once")
				}
				seen["start"] = true
			}
		}
		if began && len(have.Instances) > 0 {
			t.Fatal("begin beside an instance")
		}
		for _, in := range have.Instances {
			st := Status(now, Node{}, in)
			if in.Record.Pod != nil && len(st.ContainerStatuses) != len(in.Record.Pod.Spec.Containers) {
				t.Fatal("a container has no status")
			}
		}
	})
}
