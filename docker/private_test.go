package docker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/docker/pause"
	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer/enginetest"
)

// What would disturb others runs on a daemon of its own.
func TestPrivateDaemon(t *testing.T) { testPrivate(t, dockertest.Start(t)) }

// The same on a newer engine than the one that is installed.
func TestPrivateDaemonNewer(t *testing.T) { testPrivate(t, dockertest.StartNewer(t)) }

func testPrivate(t *testing.T, d *dockertest.Daemon) {
	t.Run("contract", func(t *testing.T) {
		api := dockertest.ClientAt(t, d.Host())
		subject := enginetest.Subject{Image: dockertest.Image(t, api), Absent: absent, Down: d.Stop, Up: d.Start}
		owner := dockertest.Owner(t, api)
		enginetest.Contract(t, func(t *testing.T) enginetest.Subject {
			subject.Engine = newEngine(t, d.Host(), owner)
			return subject
		})
	})
	t.Run("makes ready again", func(t *testing.T) { testMakesReadyAgain(t, d) })
	t.Run("crash", func(t *testing.T) { testCrash(t, d) })
	t.Run("starts without an engine", func(t *testing.T) { testStartsWithout(t, d) })
}

// The image of sandboxes and the network are made again when somebody has
// removed them.
func testMakesReadyAgain(t *testing.T, d *dockertest.Daemon) {
	api := dockertest.ClientAt(t, d.Host())
	r := rigAt(t, api, "")
	ctx := context.Background()
	built, err := pause.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.ImageRemove(ctx, built.Ref, image.RemoveOptions{Force: true, PruneChildren: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.e.RemoveNetwork(ctx); err != nil {
		t.Fatal(err)
	}
	first := r.sandbox(r.pod("both"))
	if err := r.e.RemoveNetwork(ctx); err == nil {
		t.Error("the network was removed from under a pod")
	}
	if err := r.e.Remove(ctx, first.ID, true); err != nil {
		t.Fatal(err)
	}
	// Behind the Engine's back, so that only the start can tell.
	if err := api.NetworkRemove(ctx, r.e.cfg.NetworkName); err != nil {
		t.Fatal(err)
	}
	pod := r.pod("network")
	if box := r.sandbox(pod); len(box.IPs) == 0 {
		t.Errorf("sandbox %+v", box)
	}
	if list := r.observe(keyOf(pod)); len(list[0].Sandboxes) != 1 {
		t.Errorf("the sandbox that did not start is left: %+v", list)
	}
	in, err := api.NetworkInspect(ctx, r.e.cfg.NetworkName, network.InspectOptions{})
	if err != nil || in.Labels[labelOwner] != r.e.cfg.Owner {
		t.Errorf("network %+v, %v", in.Labels, err)
	}
}

// After a crash of the daemon the facts are probed anew and what ran is seen as
// ended.
func testCrash(t *testing.T, d *dockertest.Daemon) {
	api := dockertest.ClientAt(t, d.Host())
	r := rigAt(t, api, "")
	pod := r.pod("crash")
	box := r.sandbox(pod)
	before := r.e.Facts()
	d.Crash()
	if _, err := r.e.List(context.Background()); !errors.Is(err, pods.ErrEngineAway) {
		t.Errorf("List after a crash: %v", err)
	}
	d.Start()
	var list []pods.Observed
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var err error
		list, err = r.e.Observe(context.Background(), keyOf(pod))
		if err == nil && len(list) == 1 && list[0].Sandboxes[0].State == pods.StateExited {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("observed %+v, %v", list, err)
		}
	}
	if list[0].Sandboxes[0].ID != box.ID {
		t.Errorf("observed %+v, started %+v", list, box)
	}
	if after := r.e.Facts(); after != before {
		t.Errorf("facts %+v, before %+v", after, before)
	}
}

// An engine that is away at the start is waited for; one that is there is not
// probed twice by the same Engine.
func testStartsWithout(t *testing.T, d *dockertest.Daemon) {
	d.Stop()
	e, err := New(Config{Host: d.Host(), Owner: "test-late", NetworkName: "islet-late", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.EnsureImage(t.Context(), pods.ImageRequest{Ref: "app", Policy: v1.PullNever}); !errors.Is(err, pods.ErrEngineAway) {
		t.Errorf("EnsureImage without an engine: %v", err)
	}
	var ups, downs atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Watch(ctx, func(ev pods.EngineEvent) {
			switch ev.Kind {
			case pods.EngineUp:
				ups.Add(1)
			case pods.EngineDown:
				if !errors.Is(ev.Err, pods.ErrEngineAway) {
					t.Errorf("EngineDown with %v", ev.Err)
				}
				downs.Add(1)
			}
		})
	}()
	wait := func(what string, so func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("waited for %s", what)
			}
		}
	}
	wait("EngineDown", func() bool { return downs.Load() == 1 })
	d.Start()
	wait("EngineUp", func() bool { return ups.Load() == 1 })
	if downs.Load() != 1 {
		t.Errorf("EngineDown %d times in one outage", downs.Load())
	}
	cancel()
	<-done
	left, err := dockertest.ClientAt(t, d.Host()).ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range left {
		if c.Labels[labelProbe] != "" {
			t.Errorf("a probe container is left: %s", c.ID)
		}
	}
}
