package syncer_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/syncer/enginetest"
)

// The wall clock of the machine is set by an hour, forth and back. What was
// noted by the old clock, on the engine and in the records, is then an hour old
// or lies an hour ahead; islet counts the time that passes by the clock that is
// never set. docs/faults.md has the outcomes.
func eachJump(t *testing.T, test func(t *testing.T, jump time.Duration)) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) { test(t, jump) })
	}
}

// jump sets the clock by d.
func (h *house) jump(d time.Duration) {
	h.engine.SetClock(-d)
	h.records.setClock(-d)
}

// setClock moves what is on record by d.
func (r *faultyRecords) setClock(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, _, err := r.Load()
	if err != nil {
		panic(err)
	}
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	for _, rec := range all {
		move(&rec.StartTime)
		if rec.Deletion != nil {
			move(&rec.Deletion.At)
		}
		if rec.Outcome != nil {
			move(&rec.Outcome.At)
		}
		for name, m := range rec.Containers {
			move(&m.BackoffAt)
			if m.Last != nil {
				move(&m.Last.StartedAt.Time)
				move(&m.Last.FinishedAt.Time)
			}
			rec.Containers[name] = m
		}
		if err := r.Stored.Save(rec); err != nil {
			panic(err)
		}
	}
}

func TestFaultClockOfIdlePods(t *testing.T) {
	eachJump(t, func(t *testing.T, jump time.Duration) {
		in(t, func(h *house) {
			h.engine.Program("done:1", enginetest.Behaviour{Exits: true, Runs: time.Second})
			h.want(aPod("a"), aPod("done", func(p *v1.Pod) {
				p.Spec.RestartPolicy = v1.RestartPolicyNever
				p.Spec.Containers[0].Image = "done:1"
			}))
			h.pass(time.Minute)
			before := h.ids("a")
			for range 2 { // with islet running, then over a restart
				h.jump(jump)
				h.pass(5 * time.Minute)
				h.restart()
				h.aim()
				h.pass(5 * time.Minute)
			}
			if now := h.ids("a"); len(now) == 0 || !slices.Equal(now, before) {
				t.Errorf("running %v, before %v", now, before)
			}
			if n := len(h.engine.Calls("StartContainer")); n != 2 {
				t.Errorf("%d starts, want 2: nothing restarts", n)
			}
			if phase := h.view("done").Pod.Status.Phase; phase != v1.PodSucceeded {
				t.Errorf("phase of the finished pod: %s", phase)
			}
		})
	})
}

// A container that waits out its back-off starts no later than that, whatever
// the clock says.
func TestFaultClockInBackOff(t *testing.T) {
	for _, restart := range []bool{false, true} {
		eachJump(t, func(t *testing.T, jump time.Duration) {
			in(t, func(h *house) {
				h.engine.Program("c:1", enginetest.Behaviour{Exits: true, Runs: time.Second, ExitCode: 1})
				h.want(aPod("a"))
				h.pass(80 * time.Second) // starts at 0, 1, 12, 33, 74: the next is due at 155
				starts := len(h.engine.Calls("StartContainer"))
				if starts != 5 {
					t.Fatalf("%d starts", starts)
				}
				h.jump(jump)
				if restart {
					h.restart()
					h.aim()
				}
				h.pass(76 * time.Second)
				if n := len(h.engine.Calls("StartContainer")); n <= starts {
					t.Errorf("no start within the back-off")
				} else if n > starts+4 {
					t.Errorf("%d starts within one back-off", n-starts)
				}
				h.pass(20 * time.Minute) // and the series goes on
				if n := len(h.engine.Calls("StartContainer")); n < starts+4 || n > starts+12 {
					t.Errorf("%d starts in the 20 minutes after", n-starts)
				}
			})
		})
	}
}

// A pod that is ending gets its whole grace from an islet that goes on, and at
// most that once more from one that was restarted; it never waits for the clock.
func TestFaultClockInGracePeriod(t *testing.T) {
	for _, restart := range []bool{false, true} {
		eachJump(t, func(t *testing.T, jump time.Duration) {
			in(t, func(h *house) {
				h.engine.Program("c:1", enginetest.Behaviour{IgnoresTerm: true})
				h.want(aPod("a"))
				h.pass(time.Minute)
				began := time.Now()
				h.drop("a")
				h.pass(4 * time.Second)
				h.jump(jump)
				if restart {
					h.restart()
					h.aim()
				}
				h.pass(time.Minute)
				h.gone("a")
				killed := time.Duration(0)
				for _, c := range h.engine.Calls("Signal") {
					if c.Signal == "KILL" && killed == 0 {
						killed = c.At.Sub(began)
					}
				}
				least, most := 10*time.Second, 10*time.Second
				if restart {
					// Forth: the grace of 10 s looks used up, and the signal of
					// the new islet gets the least there is. Back: it begins anew.
					least, most = 4*time.Second, 15*time.Second
				}
				if killed < least || killed > most {
					t.Errorf("killed after %v, want %v to %v", killed, least, most)
				}
			})
		})
	}
}

// A step that failed is tried again in time.
func TestFaultClockInRetry(t *testing.T) {
	eachJump(t, func(t *testing.T, jump time.Duration) {
		in(t, func(h *house) {
			h.engine.SetImage("c:1", enginetest.ImageBehaviour{Absent: true, PullFails: 2})
			h.want(aPod("a"))
			h.pass(12 * time.Second) // the next pull is due at 30 s
			h.jump(jump)
			h.pass(30 * time.Second)
			h.running("a", "c")
		})
	})
}

// The clock that islet is given jumps itself, in the midst of waiting.
func TestFaultClockThatIsletReads(t *testing.T) {
	eachJump(t, func(t *testing.T, jump time.Duration) {
		in(t, func(h *house) {
			h.engine.Program("crash:1", enginetest.Behaviour{Exits: true, Runs: time.Second, ExitCode: 1})
			h.want(aPod("a"), aPod("crash", func(p *v1.Pod) { p.Spec.Containers[0].Image = "crash:1" }))
			h.pass(80 * time.Second)
			before, starts := h.ids("a"), len(h.engine.Calls("StartContainer"))
			h.skew.Store(int64(jump))
			h.pass(90 * time.Second)
			if now := h.ids("a"); len(now) == 0 || !slices.Equal(now, before) {
				t.Errorf("running %v, before %v", now, before)
			}
			if len(h.engine.Calls("StartContainer")) == starts {
				t.Error("no start within the back-off")
			}
			h.want(aPod("new"))
			h.pass(time.Second)
			h.running("new", "c")
			h.drop("new")
			h.pass(15 * time.Second)
			h.gone("new")
		})
	})
}
