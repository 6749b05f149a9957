package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/islet-run/islet/docker/dockertest"
)

// The faults of the disk that holds the state, and what is to come of them;
// docs/faults.md is the table of them.

// mountedSite is a site whose root-dir is a small file system of its own.
func mountedSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	chaosImages(t, s.api)
	if err := os.Mkdir(s.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("islet-test", s.root, "tmpfs", 0, "size=1m,mode=0700"); errors.Is(err, syscall.EPERM) {
		t.Skipf("mounts a file system: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.clear()
		if err := syscall.Unmount(s.root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill takes what space there is, also a second time, and returns what gives it
// back.
func (s *site) fill() (free func()) {
	s.t.Helper()
	path := filepath.Join(s.root, "lost+found")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		s.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
	}
}

// readOnly makes the state directory read-only for whoever comes by its path,
// and returns what ends that.
func (s *site) readOnly() (writable func()) {
	s.t.Helper()
	if err := syscall.Mount(s.root, s.root, "", syscall.MS_BIND, ""); errors.Is(err, syscall.EPERM) {
		s.t.Skipf("mounts a file system: %v", err)
	} else if err != nil {
		s.t.Fatal(err)
	}
	undo := func() {
		if err := syscall.Unmount(s.root, syscall.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	}
	if err := syscall.Mount("", s.root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		undo()
		s.t.Fatal(err)
	}
	return undo
}

// Nothing can be written: what runs goes on, also over a restart of islet and
// also when one of its containers dies; what is removed ends; everything else
// waits, is told of, and happens by itself once there is room.
func TestFaultStateDirectoryFull(t *testing.T) {
	t.Parallel()
	s := mountedSite(t)
	s.changesWait(s.fill, "no space left on device", true)
}

// The same where the file system has become read-only. Here islet cannot start
// either; it says so, and the pods go on without it.
func TestFaultStateDirectoryReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	chaosImages(t, s.api)
	s.changesWait(s.readOnly, "read-only file system", false)
}

// changesWait has a fault of the state directory come and go while manifests
// change.
func (s *site) changesWait(fault func() (repair func()), words string, starts bool) {
	s.t.Helper()
	plain := chaosPod{shape: 1}
	pods := []string{"keep", "relabel", "replace", "leave", "dies"}
	for _, name := range pods {
		s.write(name+".yaml", plain.text(name, 0))
	}
	s.start()
	s.good(pods...)
	before := s.allIDs(pods...)

	repair := fault()
	repaired := false
	s.t.Cleanup(func() {
		if !repaired {
			repair()
		}
	})
	leaves := filepath.Join(s.root, "pods", s.uid("leave"))
	s.remove("leave.yaml")
	if starts {
		s.until("what is not wanted any more has ended", func() bool {
			_, err := os.Stat(leaves)
			return len(s.ids("leave")) == 0 && os.IsNotExist(err)
		})
		fault() // the removal has made some room
	}
	s.write("relabel.yaml", chaosPod{shape: 1, label: 1}.text("relabel", 0))
	s.write("replace.yaml", chaosPod{shape: 1, env: 1}.text("replace", 0))
	s.write("come.yaml", plain.text("come", 0))
	s.until("islet says that it cannot write", func() bool { return s.logged("cannot keep identities") && s.logged(words) })
	s.until("status says so too", func() bool { return s.shows(words) })
	if starts {
		s.dies("dies", before)
		s.kill()
		s.start()
		s.until("status says it after a restart", func() bool { return s.shows(words) })
		s.dies("dies", s.allIDs("dies"))
	} else {
		s.kill()
		s.launch()
		<-s.done
		s.cmd = nil
		s.until("islet says why it does not start", func() bool { return strings.Count(s.log.String(), words) > 1 })
	}
	s.same(before, "keep", "relabel", "replace")
	if now := s.ids("come"); now["c"] != "" {
		s.t.Errorf("a pod started without a record: %v", now)
	}

	repair()
	repaired = true
	if !starts {
		s.start() // as systemd would
	}
	s.until("the edit is applied", func() bool { p := s.ids("replace")["POD"]; return p != "" && p != before["replace"]["POD"] })
	s.good("keep", "relabel", "replace", "come", "dies")
	s.same(before, "keep", "relabel")
	s.until("nothing is left of what was removed", func() bool { return len(s.ids("leave")) == 0 })
	if n := strings.Count(s.log.String(), "instance record was not written"); n > 10 {
		s.t.Errorf("islet said %d times that records are not written", n)
	}
}

// dies has the container of a pod end and waits until it runs again.
func (s *site) dies(pod string, before map[string]map[string]string) {
	s.t.Helper()
	if err := s.api.ContainerKill(context.Background(), before[pod]["c"], "KILL"); err != nil {
		s.t.Fatal(err)
	}
	s.until("what died runs again", func() bool { id := s.ids(pod)["c"]; return id != "" && id != before[pod]["c"] })
}

// shows reports whether a verdict has these words.
func (s *site) shows(words string) bool {
	report, _ := s.report()
	return slices.ContainsFunc(report.Manifests, func(m manifestEntry) bool { return strings.Contains(m.Message, words) }) ||
		strings.Contains(report.NotReady, words)
}

// The state directory is deleted under a running islet. Its lock is gone with
// it, so another islet could start beside this one: it says so and ends, and
// leaves the pods alone. The next start makes a new one and takes them over.
func TestFaultStateDirectoryRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("web.yaml", podYAML("web"))
	s.start()
	s.good("web")
	before := s.allIDs("web")
	owner := s.owner()
	t.Cleanup(func() {
		s.kill()
		dockertest.RemoveOwned(t, s.host, owner)
	})
	if err := os.RemoveAll(s.root); err != nil {
		t.Fatal(err)
	}
	s.until("islet ends", func() bool {
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	if code := s.cmd.ProcessState.ExitCode(); code != exitRefused {
		t.Errorf("exit code %d, want %d", code, exitRefused)
	}
	s.cmd = nil
	if !s.logged("is not this islet's any more") {
		t.Error("islet did not say why it ended")
	}
	for name, id := range before["web"] {
		if in, err := s.api.ContainerInspect(context.Background(), id); err != nil || !in.State.Running {
			t.Errorf("container %s does not run any more: %v", name, err)
		}
	}
	s.start() // as systemd would
	s.good("web")
	s.same(before, "web")
}
