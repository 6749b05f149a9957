package enginetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

func (s *suite) testFacts(t *testing.T) {
	f := s.Engine.Facts()
	if f.EngineName == "" || f.EngineVersion == "" || f.APIVersion == "" || f.CgroupDriver == "" || f.BootID == "" {
		t.Errorf("facts have gaps: %+v", f)
	}
	if f.CgroupVersion != 1 && f.CgroupVersion != 2 || f.CPUs <= 0 || f.MemoryBytes <= 0 {
		t.Errorf("facts cannot be: %+v", f)
	}
	if f.NegativeOOM != (f.MinOOM < 0) {
		t.Errorf("negative OOM scores: %v, and the lowest is %d", f.NegativeOOM, f.MinOOM)
	}
}

func (s *suite) testImages(t *testing.T) {
	ctx := context.Background()
	for _, policy := range []v1.PullPolicy{v1.PullIfNotPresent, v1.PullNever} {
		image, err := s.Engine.EnsureImage(ctx, pods.ImageRequest{Ref: s.Image, Policy: policy})
		if err != nil || image.Ref != s.Image || image.ID == "" {
			t.Errorf("%s, present: %+v, %v", policy, image, err)
		}
		if image.Pulled || image.Size <= 0 {
			t.Errorf("%s, present: %+v, want it not pulled and its size", policy, image)
		}
	}
	for _, row := range []struct {
		ref    string
		policy v1.PullPolicy
		reason string
	}{
		{s.Absent, v1.PullNever, pods.ReasonErrImageNeverPull},
		{s.Absent, v1.PullIfNotPresent, pods.ReasonErrImagePull},
		{s.Absent, v1.PullAlways, pods.ReasonErrImagePull},
		{"Not A Name", v1.PullIfNotPresent, pods.ReasonInvalidImageName},
		{"", v1.PullNever, pods.ReasonInvalidImageName},
	} {
		told := 0
		_, err := s.Engine.EnsureImage(ctx, pods.ImageRequest{Ref: row.ref, Policy: row.policy, Pulling: func() { told++ }})
		wantReason(t, err, row.reason)
		if pulls := row.reason == pods.ReasonErrImagePull; pulls != (told == 1) || told > 1 {
			t.Errorf("%q, %s: told %d times that it is pulled", row.ref, row.policy, told)
		}
	}
}

func (s *suite) testSandbox(t *testing.T) {
	in := s.pod(t, "sandbox")
	if !in.observe(t).Empty() {
		t.Fatal("observed before it was started")
	}
	before := time.Now().Add(-time.Minute)
	box := in.startSandbox(t, 2)
	if box.ID == "" || box.Attempt != 2 || box.State != pods.StateRunning || box.HostNetwork || len(box.IPs) == 0 {
		t.Errorf("started sandbox: %+v", box)
	}
	if box.CreatedAt.Before(before) || box.StartedAt.Before(box.CreatedAt) || box.Boot != s.Engine.Facts().BootID {
		t.Errorf("times or boot of sandbox: %+v", box)
	}
	seen := in.observe(t).Sandboxes
	if len(seen) != 1 || seen[0].ID != box.ID || seen[0].State != pods.StateRunning || seen[0].IPs[0] != box.IPs[0] {
		t.Errorf("observed %+v, started %+v", seen, box)
	}
	again := in.startSandbox(t, 2)
	if again.ID != box.ID || len(in.observe(t).Sandboxes) != 1 {
		t.Errorf("a repeated call made another sandbox: %s beside %s", again.ID, box.ID)
	}
	found, err := s.Engine.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range found {
		if f.Key == in.key && f.UID == in.pod.UID {
			n++
		}
	}
	if n != 1 {
		t.Errorf("listed %d times: %v", n, found)
	}
}

func (s *suite) testHostNetwork(t *testing.T) {
	in := s.pod(t, "host-network")
	in.pod.Spec.HostNetwork = true
	box := in.startSandbox(t, 0)
	if !box.HostNetwork || len(box.IPs) != 0 || box.State != pods.StateRunning {
		t.Errorf("sandbox: %+v", box)
	}
	id := in.start(t, in.request(t, box.ID, "main", scriptTrue, 0))
	if c := in.awaitExit(t, id); c.ExitCode != 0 {
		t.Errorf("container: %+v", c)
	}
}

func (s *suite) testContainer(t *testing.T) {
	in := s.pod(t, "container")
	box := in.startSandbox(t, 0)
	req := in.request(t, box.ID, "main", scriptRun, 4)
	req.Type = pods.TypeInit
	req.Restarts = 3
	id := in.start(t, req)
	c, ok := in.container(t, id)
	if !ok {
		t.Fatal("not observed")
	}
	want := pods.Container{
		ID: id, SandboxID: box.ID, Name: "main", Type: pods.TypeInit, Attempt: 4, Restarts: 3, Generation: 7,
		Hash: pods.ContainerHash(req.Container), Boot: s.Engine.Facts().BootID, State: pods.StateRunning, Image: s.Image,
		ImageID: c.ImageID, CreatedAt: c.CreatedAt, StartedAt: c.StartedAt,
	}
	if c != want {
		t.Errorf("observed %+v\nwant     %+v", c, want)
	}
	if !strings.HasPrefix(c.ImageID, "docker://") && !strings.HasPrefix(c.ImageID, "docker-pullable://") {
		t.Errorf("image id %q", c.ImageID)
	}
	if c.CreatedAt.IsZero() || c.StartedAt.IsZero() {
		t.Errorf("times: %+v", c)
	}
	if again := in.start(t, req); again != id || len(in.observe(t).Containers) != 1 {
		t.Errorf("a repeated call made another container: %s beside %s", again, id)
	}
}

func (s *suite) testEnds(t *testing.T) {
	in := s.pod(t, "ends")
	box := in.startSandbox(t, 0)
	for i, row := range []struct {
		script string
		code   int
		reason string
	}{
		{scriptTrue, 0, pods.ReasonCompleted},
		{scriptFail, 3, pods.ReasonError},
	} {
		req := in.request(t, box.ID, "main", row.script, i)
		id := in.start(t, req)
		c := in.awaitExit(t, id)
		if c.ExitCode != row.code || c.Reason != row.reason || c.Signal != 0 || c.Message != "" {
			t.Errorf("%s: %+v", row.script, c)
		}
		if c.FinishedAt.IsZero() || c.StartedAt.IsZero() || c.FinishedAt.Before(c.CreatedAt) {
			t.Errorf("%s: times %v %v %v", row.script, c.CreatedAt, c.StartedAt, c.FinishedAt)
		}
		// A run is never repeated, whoever asks.
		if again := in.start(t, req); again != id {
			t.Errorf("%s: a repeated call made another container", row.script)
		}
		if after, _ := in.container(t, id); after != c {
			t.Errorf("%s: after a repeated call %+v, before %+v", row.script, after, c)
		}
	}
	seen := in.observe(t).Containers
	if len(seen) != 2 || seen[0].Attempt != 1 || seen[1].Attempt != 0 {
		t.Errorf("not highest attempt first: %+v", seen)
	}
}

func (s *suite) testMessages(t *testing.T) {
	in := s.pod(t, "messages")
	box := in.startSandbox(t, 0)
	for i, row := range []struct {
		script string
		policy v1.TerminationMessagePolicy
		want   string
	}{
		{scriptMessage, v1.TerminationMessageReadFile, "all is well"},
		{scriptLog, v1.TerminationMessageReadFile, ""},
		{scriptLog, v1.TerminationMessageFallbackToLogsOnError, "something broke\n"},
	} {
		req := in.request(t, box.ID, "main", row.script, i)
		req.Container.TerminationMessagePolicy = row.policy
		if c := in.awaitExit(t, in.start(t, req)); c.Message != row.want {
			t.Errorf("%s with policy %s: message %q, want %q", row.script, row.policy, c.Message, row.want)
		}
	}
}

func (s *suite) testFailedStart(t *testing.T) {
	in := s.pod(t, "failed-start")
	box := in.startSandbox(t, 0)
	req := in.request(t, box.ID, "main", "", 0)
	req.Command = []string{missingProgram}
	_, err := s.Engine.StartContainer(context.Background(), req)
	wantReason(t, err, pods.ReasonRunContainer)
	seen := in.observe(t).Containers
	if len(seen) != 1 {
		t.Fatalf("observed %+v", seen)
	}
	c := seen[0]
	if c.State != pods.StateExited || c.Reason != pods.ReasonContainerCannotRun || c.ExitCode != 127 ||
		!strings.Contains(c.Message, missingProgram) || c.FinishedAt.IsZero() || !c.FinishedAt.Equal(c.CreatedAt) {
		t.Errorf("observed %+v", c)
	}
	_, err = s.Engine.StartContainer(context.Background(), req)
	wantReason(t, err, pods.ReasonRunContainer)
	next := in.request(t, box.ID, "main", scriptTrue, 1)
	if c := in.awaitExit(t, in.start(t, next)); c.ExitCode != 0 {
		t.Errorf("the next attempt: %+v", c)
	}
}

func (s *suite) testSignals(t *testing.T) {
	ctx := context.Background()
	in := s.pod(t, "signals")
	box := in.startSandbox(t, 0)
	heeds := in.start(t, in.request(t, box.ID, "heeds", scriptRun, 0))
	ignores := in.start(t, in.request(t, box.ID, "ignores", scriptIgnore, 0))
	// A shell that has not set its trap yet ignores a signal as process 1, so
	// it is sent until it is heeded.
	in.await(t, "the end by the stop signal", func() bool {
		if err := s.Engine.Signal(ctx, heeds, ""); err != nil {
			t.Fatalf("Signal: %v", err)
		}
		c, _ := in.container(t, heeds)
		return c.State == pods.StateExited
	})
	if c, _ := in.container(t, heeds); c.ExitCode != 5 || c.Reason != pods.ReasonError {
		t.Errorf("stopped: %+v", c)
	}
	if err := s.Engine.Signal(ctx, ignores, ""); err != nil {
		t.Errorf("Signal: %v", err)
	}
	if c, _ := in.container(t, ignores); c.State != pods.StateRunning {
		t.Errorf("after a signal it ignores: %+v", c)
	}
	if err := s.Engine.Signal(ctx, ignores, "KILL"); err != nil {
		t.Errorf("Signal KILL: %v", err)
	}
	if c := in.awaitExit(t, ignores); c.ExitCode != 137 || c.Signal != 9 || c.Reason != pods.ReasonError {
		t.Errorf("killed: %+v", c)
	}
	for _, id := range []string{ignores, strings.Repeat("0", 64)} {
		for _, signal := range []string{"", "KILL"} {
			if err := s.Engine.Signal(ctx, id, signal); err != nil {
				t.Errorf("signal %q to %s, which does not run: %v", signal, id, err)
			}
		}
	}
}

func (s *suite) testRemove(t *testing.T) {
	ctx := context.Background()
	in := s.pod(t, "remove")
	box := in.startSandbox(t, 0)
	runs := in.start(t, in.request(t, box.ID, "runs", scriptIgnore, 0))
	ended := in.start(t, in.request(t, box.ID, "ended", scriptTrue, 0))
	in.awaitExit(t, ended)
	if err := s.Engine.Remove(ctx, runs, false); err == nil {
		t.Error("a running container was removed without force")
	}
	for _, row := range []struct {
		id    string
		force bool
	}{{ended, false}, {runs, true}, {box.ID, true}} {
		if err := s.Engine.Remove(ctx, row.id, row.force); err != nil {
			t.Errorf("Remove: %v", err)
		}
		if err := s.Engine.Remove(ctx, row.id, row.force); err != nil {
			t.Errorf("Remove of what is gone: %v", err)
		}
	}
	list, err := s.Engine.Observe(ctx, in.key)
	if err != nil || len(list) != 0 {
		t.Errorf("observed after all is gone: %+v, %v", list, err)
	}
	found, err := s.Engine.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Key == in.key {
			t.Errorf("listed after all is gone: %v", f)
		}
	}
}

func (s *suite) testEvents(t *testing.T) {
	in := s.pod(t, "events")
	other := s.pod(t, "events-other")
	box := in.startSandbox(t, 0)
	id := in.start(t, in.request(t, box.ID, "main", scriptIgnore, 0))
	told := func() int { return s.count(pods.EngineChanged, in.key) }
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the end of a container", func() error { return s.Engine.Signal(context.Background(), id, "KILL") }},
		{"the removal of a container", func() error { return s.Engine.Remove(context.Background(), id, false) }},
	} {
		before := told()
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		in.await(t, "an event about "+step.what, func() bool { return told() > before })
	}
	if n := s.count(pods.EngineChanged, other.key); n != 0 {
		t.Errorf("%d events about a pod that never was", n)
	}
}

func (s *suite) testInstances(t *testing.T) {
	first, second := s.pod(t, "instances"), s.pod(t, "instances")
	a := first.startSandbox(t, 0)
	if err := s.Engine.Signal(context.Background(), a.ID, "KILL"); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the end of the sandbox", func() bool { return first.observe(t).Sandboxes[0].State == pods.StateExited })
	b := second.startSandbox(t, 0)
	list, err := s.Engine.Observe(context.Background(), first.key)
	if err != nil || len(list) != 2 {
		t.Fatalf("observed %+v, %v, want two instances", list, err)
	}
	if got := first.observe(t).Sandboxes; len(got) != 1 || got[0].ID != a.ID {
		t.Errorf("first instance: %+v", got)
	}
	if got := second.observe(t).Sandboxes; len(got) != 1 || got[0].ID != b.ID {
		t.Errorf("second instance: %+v", got)
	}
}

func (s *suite) testDeadSandbox(t *testing.T) {
	in := s.pod(t, "dead-sandbox")
	box := in.startSandbox(t, 0)
	if err := s.Engine.Signal(context.Background(), box.ID, "KILL"); err != nil {
		t.Fatal(err)
	}
	in.await(t, "the end of the sandbox", func() bool { return in.observe(t).Sandboxes[0].State == pods.StateExited })
	if got := in.observe(t).Sandboxes[0]; len(got.IPs) != 0 {
		t.Errorf("a dead sandbox has addresses: %+v", got)
	}
	_, err := s.Engine.StartContainer(context.Background(), in.request(t, box.ID, "main", scriptRun, 0))
	wantReason(t, err, pods.ReasonRunContainer, pods.ReasonCreateContainer)
	next := in.startSandbox(t, 1)
	if seen := in.observe(t).Sandboxes; len(seen) != 2 || seen[0].ID != next.ID || seen[1].ID != box.ID {
		t.Errorf("not highest attempt first: %+v", seen)
	}
}

func (s *suite) testContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := s.pod(t, "context")
	for name, call := range s.callsOf(ctx, t, in) {
		if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, pods.ErrEngineAway) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
}

func (s *suite) testAway(t *testing.T) {
	if s.Down == nil {
		t.Skip("this engine is not taken away")
	}
	in := s.pod(t, "away")
	calls := s.callsOf(context.Background(), t, in)
	ups := s.count(pods.EngineUp, pods.Key{})
	s.Down()
	s.await(t, "EngineDown", func() bool { return s.count(pods.EngineDown, pods.Key{}) == 1 })
	for name, call := range calls {
		if err := call(); !errors.Is(err, pods.ErrEngineAway) {
			t.Errorf("%s while the engine is away: %v", name, err)
		}
	}
	s.Up()
	s.await(t, "EngineUp", func() bool { return s.count(pods.EngineUp, pods.Key{}) == ups+1 })
	if n := s.count(pods.EngineDown, pods.Key{}); n != 1 {
		t.Errorf("EngineDown %d times in one outage", n)
	}
	if box := in.startSandbox(t, 1); box.State != pods.StateRunning {
		t.Errorf("sandbox after the outage: %+v", box)
	}
}

// callsOf is every call that asks the engine, on a sandbox that is there.
func (s *suite) callsOf(ctx context.Context, t *testing.T, in *instance) map[string]func() error {
	box := in.startSandbox(t, 0)
	req := in.request(t, box.ID, "main", scriptRun, 0)
	return map[string]func() error{
		"List":    func() error { _, err := s.Engine.List(ctx); return err },
		"Observe": func() error { _, err := s.Engine.Observe(ctx, in.key); return err },
		"EnsureImage": func() error {
			_, err := s.Engine.EnsureImage(ctx, pods.ImageRequest{Ref: s.Image, Policy: v1.PullIfNotPresent})
			return err
		},
		"StartSandbox": func() error {
			_, err := s.Engine.StartSandbox(ctx, in.sandboxRequest(9))
			return err
		},
		"StartContainer": func() error { _, err := s.Engine.StartContainer(ctx, req); return err },
		"Signal":         func() error { return s.Engine.Signal(ctx, box.ID, "") },
		"Remove":         func() error { return s.Engine.Remove(ctx, box.ID, true) },
	}
}
