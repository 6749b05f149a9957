package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"

	"github.com/islet-run/islet/docker/dockertest"
)

// What others do to the containers of a pod behind islet's back. The pod has
// the containers c and other; other and the sandbox are untouched unless the
// row says so.
func TestFaultBehindTheBack(t *testing.T) {
	t.Parallel()
	s := siteAt(t, dockertest.Start(t))
	s.start()
	defer func(outer *testing.T) { s.t = outer }(s.t)
	for _, row := range []struct {
		name string
		test func(*testing.T, *site)
	}{
		{"container stopped", testContainerStopped},
		{"container removed", testContainerRemoved},
		{"container paused", testContainerPaused},
		{"pause killed", testPauseKilled},
		{"sandbox removed", testSandboxRemoved},
		{"name taken", testNameTaken},
		{"half removed", testHalfRemoved},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.t = t
			s.write("web.yaml", podYAML("web", "  - {name: other, image: "+dockertest.Busybox+
				", command: [sh, -c, 'trap \"exit 0\" TERM; while :; do sleep 1 & wait; done']}\n"))
			s.good("web")
			row.test(t, s)
		})
	}
}

// another waits until container c of the pod is another one than before, and
// the pod is good, with one restart of c; the other containers must be the same.
func (s *site) another(before map[string]string) {
	s.t.Helper()
	s.until("c runs again", func() bool { now := s.ids("web")["c"]; return now != "" && now != before["c"] })
	s.good("web")
	now := s.ids("web")
	if now["POD"] != before["POD"] || now["other"] != before["other"] {
		s.t.Errorf("containers before %v, after %v: only c was to change", before, now)
	}
	if n := s.restarts("web", "c"); n != 1 {
		s.t.Errorf("%d restarts of c, want 1", n)
	}
	if n := s.restarts("web", "other"); n != 0 {
		s.t.Errorf("%d restarts of other, want none", n)
	}
	s.runsOnce("web", 3)
}

func testContainerStopped(_ *testing.T, s *site) {
	before := s.ids("web")
	s.must(s.api.ContainerStop(context.Background(), s.full("web", "c"), container.StopOptions{}))
	s.another(before)
	s.removeAll()
}

func testContainerRemoved(_ *testing.T, s *site) {
	before := s.ids("web")
	s.must(s.api.ContainerRemove(context.Background(), s.full("web", "c"), container.RemoveOptions{Force: true}))
	s.another(before)
	s.removeAll()
}

// A paused container counts as running. Whoever paused it may go on with it,
// also over a restart of islet; the end of the pod ends it all the same.
func testContainerPaused(t *testing.T, s *site) {
	before, ctx := s.ids("web"), context.Background()
	c := s.full("web", "c")
	s.must(s.api.ContainerPause(ctx, c))
	unchanged := func(when string) {
		t.Helper()
		s.noticed()
		s.good("web")
		if now := s.ids("web"); !maps.Equal(now, before) {
			t.Errorf("%s: containers before %v, after %v", when, before, now)
		}
	}
	unchanged("paused")
	s.kill()
	s.start()
	unchanged("after a restart of islet")
	s.must(s.api.ContainerUnpause(ctx, c))
	unchanged("unpaused")
	s.must(s.api.ContainerPause(ctx, c))
	s.removeAll()
}

// Without its sandbox a pod has no network: all its containers end and run
// again in a new one. It stays the same instance.
func testPauseKilled(t *testing.T, s *site) {
	s.must(s.api.ContainerKill(context.Background(), s.full("web", "POD"), "KILL"))
	s.allAnew(t)
}

func testSandboxRemoved(t *testing.T, s *site) {
	s.must(s.api.ContainerRemove(context.Background(), s.full("web", "POD"), container.RemoveOptions{Force: true}))
	s.allAnew(t)
}

func (s *site) allAnew(t *testing.T) {
	t.Helper()
	before, uid := s.ids("web"), s.pod("web").UID
	s.until("the pod has a new sandbox and new containers", func() bool {
		now := s.ids("web")
		return len(now) == 3 && now["POD"] != before["POD"] && now["c"] != before["c"] && now["other"] != before["other"]
	})
	s.good("web")
	s.runsOnce("web", 3)
	if now := s.pod("web"); now.UID != uid || now.Status.PodIP == "" {
		t.Errorf("pod %s with address %q, before %s", now.UID, now.Status.PodIP, uid)
	}
	s.removeAll()
}

// A name that somebody else has is gone around; the one who has it is not
// touched.
func testNameTaken(t *testing.T, s *site) {
	before, uid, ctx := s.ids("web"), string(s.pod("web").UID), context.Background()
	strangers := []string{
		squat(t, s.api, "k8s_c_web_default_"+uid+"_1"),
		squat(t, s.api, "k8s_POD_web_default_"+uid+"_1"),
	}
	s.must(s.api.ContainerKill(ctx, s.full("web", "c"), "KILL"))
	s.another(before)
	s.must(s.api.ContainerKill(ctx, s.full("web", "POD"), "KILL"))
	s.allAnew(t)
	for _, id := range strangers {
		if in, err := s.api.ContainerInspect(ctx, id); err != nil || in.State.Status != container.StateCreated {
			t.Errorf("a container that is not islet's was touched: %v", err)
		}
	}
}

// A container whose removal got stuck is dead to Docker and in nobody's way: the
// next run starts, and the rest goes when it can go.
func testHalfRemoved(t *testing.T, s *site) {
	before, ctx := s.ids("web"), context.Background()
	c := s.full("web", "c")
	in, err := s.api.ContainerInspect(ctx, c)
	s.must(err)
	release := immovable(t, in.GraphDriver.Data["UpperDir"])
	if err := s.api.ContainerRemove(ctx, c, container.RemoveOptions{Force: true}); err == nil {
		t.Fatal("the container was removed although one of its files cannot be")
	}
	if in, err = s.api.ContainerInspect(ctx, c); err != nil || !in.State.Dead { // "removing" while islet tries once more
		t.Fatalf("the container is %+v, want it dead; %v", in.State, err)
	}
	s.another(before)

	s.remove("web.yaml")
	s.until("all that can go has gone", func() bool { return len(s.everything()) == 1 })
	s.until("islet says what is stuck", func() bool {
		_, why := s.islet("why", "web")
		return strings.Contains(why, "operation not permitted")
	})
	release()
	s.until("the rest has gone", func() bool { return len(s.everything()) == 0 })
	s.good()
}

// immovable puts a file into a directory that not even root can remove until it
// is released.
func immovable(t *testing.T, dir string) (release func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "immovable"))
	if err != nil {
		t.Fatal(err)
	}
	const immutable = 0x10 // FS_IMMUTABLE_FL
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		f.Close()
		t.Skipf("needs a file system with immutable files: %v", err)
	}
	released := false
	release = func() {
		if released {
			return
		}
		released = true
		if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0); err != nil {
			t.Errorf("release file: %v", err)
		}
		f.Close()
	}
	t.Cleanup(release)
	return release
}

// After a restart of the machine everything runs again as the same instance,
// also what an engine (20.10) says has ended well: it did not.
func TestFaultMachineRestarted(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	s := siteAt(t, d)
	s.boots("11111111-1111-4111-8111-111111111111")
	s.write("web.yaml", podYAML("web"))
	s.write("job.yaml", podYAML("job", "  restartPolicy: OnFailure\n"))
	s.start()
	s.good("job", "web")
	before := map[string]string{"web": string(s.pod("web").UID), "job": string(s.pod("job").UID)}

	s.kill()
	s.boots("22222222-2222-4222-8222-222222222222")
	d.Reboot()
	s.start()
	s.good("job", "web")
	for name, uid := range before {
		s.runsOnce(name, 2)
		pod := s.pod(name)
		if string(pod.UID) != uid {
			t.Errorf("pod %s is another instance", name)
		}
		status := pod.Status.ContainerStatuses[0]
		if last := status.LastTerminationState.Terminated; status.RestartCount != 1 || last == nil || last.ExitCode != 255 {
			t.Errorf("pod %s: %d restarts, want 1; last end %+v, want exit code 255", name, status.RestartCount, last)
		}
	}
}

// boots has the islet of the site read another boot id from now on.
func (s *site) boots(id string) {
	s.t.Helper()
	file, wrapper := filepath.Join(filepath.Dir(s.dir), "boot_id"), filepath.Join(filepath.Dir(s.dir), "booted")
	s.must(os.WriteFile(file, []byte(id+"\n"), 0o644))
	if s.program == wrapper {
		return
	}
	// A mount namespace of its own: nobody else sees the other id.
	script := "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"' '" + file + "' " + s.program + " \"$@\"\n"
	s.must(os.WriteFile(wrapper, []byte(script), 0o755))
	s.program = wrapper
}

// While events are lost nothing is known to change. As soon as they are back
// everything is looked at, and what changed meanwhile is put right; what did
// not change is not touched.
func TestFaultEventsLost(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	t.Run("stream cut", func(t *testing.T) { testEventsLost(t, d, streamCut, long(5*time.Second, 30*time.Second)) })
	t.Run("stream silent", func(t *testing.T) {
		if !soak() {
			t.Skip("takes a minute, until the next listing: run make soak")
		}
		testEventsLost(t, d, streamSilent, 0)
	})
}

func testEventsLost(t *testing.T, d *dockertest.Daemon, how fate, during time.Duration) {
	s := siteAt(t, d)
	p := newEventProxy(t, d.Host())
	s.host = p.host
	for _, name := range []string{"ends", "goes", "stays"} {
		s.write(name+".yaml", podYAML(name))
	}
	s.start()
	s.good("ends", "goes", "stays")
	stays := s.ids("stays")
	before := []string{s.ids("ends")["c"], s.ids("goes")["c"]}

	p.set(how)
	ctx := context.Background()
	s.must(s.api.ContainerKill(ctx, s.full("ends", "c"), "KILL"))
	s.must(s.api.ContainerRemove(ctx, s.full("goes", "c"), container.RemoveOptions{Force: true}))
	pass(during)
	if how == streamCut {
		p.set(streamWhole)
	}
	limit := time.Now().Add(eventually + 15*time.Second) // a listing a minute is the safety net
	for {
		ends, goes := s.ids("ends")["c"], s.ids("goes")["c"]
		if ends != "" && goes != "" && ends != before[0] && goes != before[1] {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("what happened while events were lost was not found: %q %q", ends, goes)
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.good("ends", "goes", "stays")
	for _, name := range []string{"ends", "goes", "stays"} {
		s.runsOnce(name, 2)
	}
	if now := s.ids("stays"); !maps.Equal(now, stays) {
		t.Errorf("the pod to which nothing happened: containers before %v, after %v", stays, now)
	}
	p.set(streamWhole)
	s.removeAll()
}
