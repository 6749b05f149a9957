package syncer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer/enginetest"
)

// story is the events of a pod about its images: type, reason, count, message.
func (h *house) story(name string) []string {
	var out []string
	for _, e := range h.syncer.Recorder.Events(key(name)) {
		switch e.Reason {
		case "Pulling", "Pulled", "Failed", "BackOff", "InspectFailed", "ErrImageNeverPull", "ImagePlatform":
			if e.Container != "c" {
				h.t.Errorf("event of container %q: %+v", e.Container, e)
			}
			out = append(out, fmt.Sprintf("%s %s %d %s", e.Type, e.Reason, e.Count, e.Message))
		}
	}
	return out
}

func (h *house) wantStory(name string, want ...string) {
	h.t.Helper()
	if got := h.story(name); !slices.Equal(got, want) {
		h.t.Errorf("story of %s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// waiting is the waiting state of the container of a pod.
func (h *house) waiting(name string) v1.ContainerStateWaiting {
	h.t.Helper()
	for _, s := range h.view(name).Pod.Status.ContainerStatuses {
		if s.State.Waiting != nil {
			return *s.State.Waiting
		}
	}
	return v1.ContainerStateWaiting{}
}

const started = "Normal Pulled 1 Container image \"c:1\" already present on machine and can be accessed by the pod"

func TestAPresentImageIsNotPulled(t *testing.T) {
	in(t, func(h *house) {
		h.want(aPod("a"))
		h.running("a", "c")
		h.wantStory("a", started)
	})
}

func TestAPullIsTold(t *testing.T) {
	in(t, func(h *house) {
		h.engine.SetImage("c:1", enginetest.ImageBehaviour{Absent: true, PullTakes: 1500 * time.Millisecond})
		h.want(aPod("a"))
		h.pass(time.Second)
		h.wantStory("a", `Normal Pulling 1 Pulling image "c:1"`)
		h.pass(time.Second)
		h.running("a", "c")
		h.wantStory("a", `Normal Pulling 1 Pulling image "c:1"`,
			`Normal Pulled 1 Successfully pulled image "c:1" in 1.5s (1.5s including waiting). Image size: 4194304 bytes.`)
	})
}

// A registry that fails is asked again after 10, 20, 40, 80, 160 and then
// every 300 s, each time from the end of the try before. What it says is told
// once, with how often, and the pod comes up by itself.
func TestPullBackOffSeries(t *testing.T) {
	in(t, func(h *house) {
		h.engine.SetImage("c:1", enginetest.ImageBehaviour{Absent: true, PullTakes: time.Second, PullFails: 8, Error: "denied: no"})
		h.want(aPod("a"))
		h.pass(5 * time.Second)
		if w := h.waiting("a"); w.Reason != pods.ReasonErrImagePull || w.Message != "denied: no" {
			t.Errorf("after the first try: %+v", w)
		}
		h.pass(10 * time.Second)
		if w := h.waiting("a"); w.Reason != pods.ReasonImagePullBackOff || w.Message != `Back-off pulling image "c:1": ErrImagePull: denied: no` {
			t.Errorf("after the second try: %+v", w)
		}
		failing := []string{
			`Normal Pulling 2 Pulling image "c:1"`, `Warning Failed 2 Failed to pull image "c:1": denied: no`,
			`Warning Failed 2 Error: ErrImagePull`, `Normal BackOff 2 Back-off pulling image "c:1"`,
		}
		h.wantStory("a", failing...)
		h.pass(21 * time.Minute)
		h.running("a", "c")
		var gaps []time.Duration
		calls := h.engine.Calls("EnsureImage")
		for i := 1; i < len(calls); i++ {
			gaps = append(gaps, calls[i].At.Sub(calls[i-1].Done).Round(time.Second))
		}
		want := []time.Duration{10, 20, 40, 80, 160, 300, 300, 300}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(gaps, want) {
			t.Errorf("tried again after %v, want %v", gaps, want)
		}
		h.wantStory("a", `Warning Failed 8 Failed to pull image "c:1": denied: no`, `Warning Failed 8 Error: ErrImagePull`,
			`Normal BackOff 8 Back-off pulling image "c:1"`, `Normal Pulling 9 Pulling image "c:1"`,
			`Normal Pulled 1 Successfully pulled image "c:1" in 1s (1s including waiting). Image size: 4194304 bytes.`)
	})
}

func TestWhyAnImageIsNotThere(t *testing.T) {
	for _, row := range []struct {
		name   string
		image  string
		policy v1.PullPolicy
		does   enginetest.ImageBehaviour
		reason string
		story  []string
	}{
		{"no name", "Not A Name", v1.PullIfNotPresent, enginetest.ImageBehaviour{}, pods.ReasonInvalidImageName, []string{
			`Warning InspectFailed 1 Failed to apply default image tag "Not A Name": invalid reference format: repository name (library/Not A Name) must be lowercase`,
			`Warning Failed 1 Error: InvalidImageName`}},
		{"never", "c:1", v1.PullNever, enginetest.ImageBehaviour{Absent: true}, pods.ReasonErrImageNeverPull, []string{
			`Warning ErrImageNeverPull 1 Container image "c:1" is not present with pull policy of Never`,
			`Warning Failed 1 Error: ErrImageNeverPull`}},
		{"registry away", "c:1", v1.PullIfNotPresent, enginetest.ImageBehaviour{Absent: true, PullFails: -1, Error: "503", Reason: pods.ReasonRegistryUnavailable},
			pods.ReasonRegistryUnavailable, []string{
				`Normal Pulling 1 Pulling image "c:1"`, `Warning Failed 1 Failed to pull image "c:1": 503`,
				`Warning Failed 1 Error: RegistryUnavailable`, `Normal BackOff 1 Back-off pulling image "c:1"`}},
	} {
		in(t, func(h *house) {
			h.engine.SetImage(row.image, row.does)
			h.want(aPod("a", func(p *v1.Pod) {
				p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = row.image, row.policy
			}))
			h.pass(5 * time.Second)
			if w := h.waiting("a"); w.Reason != row.reason {
				t.Errorf("%s: waiting %+v", row.name, w)
			}
			h.wantStory("a", row.story...)
			h.pass(15 * time.Second) // tried again: told again, not listed again
			if n := len(h.story("a")); n != len(row.story) {
				t.Errorf("%s: %d events, want %d", row.name, n, len(row.story))
			}
		})
	}
}

// A pod that is deleted while it waits for an image leaves at once.
func TestDeletedWhileItPulls(t *testing.T) {
	in(t, func(h *house) {
		h.engine.SetImage("c:1", enginetest.ImageBehaviour{Absent: true, PullTakes: time.Hour})
		h.want(aPod("a"), aPod("b"))
		h.pass(time.Minute)
		h.drop("a")
		h.pass(3 * time.Second)
		h.gone("a")
		h.pass(time.Hour)
		h.running("b", "c")
	})
}
