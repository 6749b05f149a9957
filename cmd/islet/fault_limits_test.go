package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// islet may open no more files: what runs goes on, islet says what is wrong,
// and does all that was asked of it meanwhile once it may open files again.
func TestFaultTooManyFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	chaosImages(t, s.api)
	plain := chaosPod{shape: 1}
	s.write("keep.yaml", plain.text("keep", 0))
	s.write("replace.yaml", plain.text("replace", 0))
	s.start()
	s.good("keep", "replace")
	before := s.allIDs("keep", "replace")

	var old unix.Rlimit
	pid := s.cmd.Process.Pid
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	// Fewer than are open: not even a socket that is closed makes room.
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}, nil); err != nil {
		t.Fatal(err)
	}
	s.write("replace.yaml", chaosPod{shape: 1, env: 1}.text("replace", 0))
	s.write("come.yaml", plain.text("come", 0))
	s.until("islet says what is wrong", func() bool { return s.logged("too many open files") })
	s.same(before, "keep", "replace")
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil); err != nil {
		t.Fatal(err)
	}

	s.until("the edit is applied", func() bool { p := s.ids("replace")["POD"]; return p != "" && p != before["replace"]["POD"] })
	s.good("keep", "replace", "come")
	s.same(before, "keep")
	if s.cmd.Process.Pid != pid {
		t.Error("islet was restarted")
	}
}

// islet may have no more threads. A program in Go needs one for each call that
// blocks, and its runtime ends it, in words of its own, where it gets none; the
// pods go on without it, and the next start takes them over.
func TestFaultTooManyProcesses(t *testing.T) {
	t.Parallel()
	group := pidsCgroup(t) // before the site, whose islet is in it to its end
	s := newSite(t)
	chaosImages(t, s.api)
	s.write("keep.yaml", chaosPod{shape: 1}.text("keep", 0))
	s.start()
	s.good("keep")
	before := s.allIDs("keep")

	write(t, filepath.Join(group, "cgroup.procs"), strconv.Itoa(s.cmd.Process.Pid))
	now, err := os.ReadFile(filepath.Join(group, "pids.current"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(group, "pids.max"), string(now))
	s.mayLog = []string{"fatal error:"}
	for i := range 5 {
		s.write(fmt.Sprintf("p%d.yaml", i), chaosPod{shape: 1}.text(fmt.Sprintf("p%d", i), 0))
	}
	all := []string{"keep", "p0", "p1", "p2", "p3", "p4"}
	s.until("islet has done its work without, or has ended and said why", func() bool {
		select {
		case <-s.done:
			return s.logged("failed to create new OS thread") || s.logged("pthread_create failed") // with cgo
		default:
		}
		report, err := s.report()
		return err == nil && report.NotReady == "" && len(report.Pods.Items) == len(all)
	})
	s.same(before, "keep")
	write(t, filepath.Join(group, "pids.max"), "max")
	select {
	case <-s.done:
		s.start() // as systemd would
	default:
	}
	s.good(all...)
	s.same(before, "keep")
}

// pidsCgroup makes a cgroup that can bound how many processes are in it.
func pidsCgroup(t *testing.T) string {
	t.Helper()
	mount := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(mount); err != nil {
		mount = "/sys/fs/cgroup" // version 2
	}
	dir, err := os.MkdirTemp(mount, "islet-test-")
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		t.Skipf("makes a cgroup: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pids.max")); err != nil {
		os.Remove(dir) //nolint:errcheck // it is the skip that counts
		t.Skipf("needs the pids controller: %v", err)
	}
	t.Cleanup(func() {
		deadline := time.Now().Add(eventually)
		for err := os.Remove(dir); err != nil; err = os.Remove(dir) {
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				t.Error(err)
				return
			}
			time.Sleep(10 * time.Millisecond) // the kernel reaps the last threads
		}
	})
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}
