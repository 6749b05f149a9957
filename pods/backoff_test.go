package pods

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// crash runs a pod with one container that lives as given and returns how long
// after each end the next run started, together with the time the start took.
func crash(t *testing.T, lives time.Duration, code, restarts int, change func(m *model, n int)) []time.Duration {
	t.Helper()
	m := newModel()
	m.latency = func(ActionKind) time.Duration { return time.Millisecond }
	m.behave = func(string) behaviour { return behaviour{lives: lives, exit: code} }
	pod := basePod()
	pod.Spec.InitContainers, pod.Spec.Containers = nil, pod.Spec.Containers[:1]
	m.want = &Want{Pod: pod}
	var waits []time.Duration
	var ended time.Time
	for len(waits) < restarts {
		m.settle()
		n := m.next()
		if n.IsZero() || len(m.faults) > 0 {
			t.Fatalf("nothing happens any more after %d restarts; %v", len(waits), m.faults)
		}
		m.now = later(m.now, n)
		m.happen()
		for _, r := range m.runs {
			switch {
			case r.State == StateExited && r.FinishedAt.Equal(m.now):
				ended = m.now
				if change != nil {
					m.settle()
					change(m, len(waits))
				}
			case r.State == StateRunning && r.StartedAt.Equal(m.now) && !ended.IsZero():
				waits = append(waits, r.StartedAt.Sub(ended).Truncate(time.Second))
				ended = time.Time{}
			}
		}
	}
	return waits
}

func TestCrashLoopSeries(t *testing.T) {
	series := []time.Duration{0, 10, 20, 40, 80, 160, 300, 300, 300}
	for _, row := range []struct {
		name   string
		lives  time.Duration
		code   int
		change func(m *model, n int)
		want   []time.Duration
	}{
		{name: "failure", lives: time.Second, code: 1, want: series},
		{name: "success counts too", lives: time.Second, want: series},
		{name: "ten minutes of life are still a crash", lives: 10*time.Minute - 10*time.Millisecond, code: 1, want: series},
		{name: "more than ten minutes begin anew", lives: 11 * time.Minute, code: 1, want: []time.Duration{0, 0, 0, 0}},
		{name: "islet restarts in between", lives: time.Second, code: 1, want: series, change: func(m *model, _ int) { m.isletDies() }},
		{
			name: "a new image begins anew", lives: time.Second, code: 1,
			change: func(m *model, n int) {
				if n == 3 {
					pod := m.want.Pod.DeepCopy()
					pod.Generation++
					pod.Spec.Containers[0].Image = "web:2"
					m.want = &Want{Pod: pod}
				}
			},
			want: []time.Duration{0, 10, 20, 0, 10, 20, 40},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := crash(t, row.lives, row.code, len(row.want), row.change)
			for i := range row.want {
				want := row.want[i]
				if want < time.Second {
					want *= time.Second
				}
				if got[i] != want {
					t.Fatalf("restart %d waited %s, want %s (all: %v)", i+1, got[i], want, got)
				}
			}
		})
	}
}

func TestRetryDelay(t *testing.T) {
	for _, row := range []struct {
		f    Failure
		want time.Duration
	}{
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, Count: 1}, 10 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, Count: 2}, 20 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, Count: 5}, 160 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, Count: 6}, 300 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull, Count: 1 << 60}, 300 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImagePull}, 10 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonErrImageNeverPull, Count: 9}, 10 * time.Second},
		{Failure{Kind: ActEnsureImage, Reason: ReasonInvalidImageName, Count: 9}, 10 * time.Second},
		{Failure{Kind: ActStartContainer, Reason: ReasonRunContainer, Count: 9}, 10 * time.Second},
		{Failure{Kind: ActCreateSandbox, Count: 9}, 10 * time.Second},
		{Failure{}, 10 * time.Second},
	} {
		if got := RetryDelay(row.f); got != row.want {
			t.Errorf("%+v: %s, want %s", row.f, got, row.want)
		}
	}
}

func TestEffectiveGrace(t *testing.T) {
	if got := EffectiveGrace(nil); got != 30 {
		t.Errorf("unknown pod: %d", got)
	}
	pod := &v1.Pod{}
	if got := EffectiveGrace(pod); got != 30 {
		t.Errorf("unset: %d", got)
	}
	for in, want := range map[int64]int64{-5: 1, 0: 1, 1: 1, 2: 2, 3600: 3600} {
		pod.Spec.TerminationGracePeriodSeconds = &in
		if got := EffectiveGrace(pod); got != want {
			t.Errorf("%d: %d, want %d", in, got, want)
		}
	}
}
