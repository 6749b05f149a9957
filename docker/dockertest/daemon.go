package dockertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// Daemon is a dockerd of the test's own. It shares nothing with the engine that
// was found: data, state, socket and containerd namespace are its own, and so is
// its network namespace, with all bridges, addresses and iptables rules. That
// one outlives a stop or crash of the daemon, as the machine's own does. What
// must reach pods by address or port runs in it, see [Daemon.Inside].
type Daemon struct {
	t        testing.TB
	dir      string
	args     []string
	programs string // directory of dockerd and its helpers; "": those of the machine
	network  *namespace
	log      logBuffer

	cmd    *exec.Cmd
	exited chan struct{}
}

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 60 * time.Second
)

// Start starts a private daemon with extra flags and stops it when the test
// ends. The test is skipped where that is not possible: not root, no dockerd.
func Start(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	return start(t, "", flags)
}

func start(t testing.TB, programs string, flags []string) *Daemon {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a dockerd; not run with -short")
	}
	if os.Getuid() != 0 {
		t.Skip("starts a dockerd, which takes root")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skipf("starts a dockerd: %v", err)
	}
	// Not t.TempDir: a socket's path may have about 100 characters.
	dir, err := os.MkdirTemp("", "islet-dockerd-")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{t: t, dir: dir, programs: programs}
	t.Cleanup(d.destroy)
	if d.network, err = newNetwork(); err != nil {
		t.Fatalf("make network namespace: %v", err)
	}
	namespace := "islet-test-" + randomHex(4)
	d.args = append([]string{
		"--data-root=" + filepath.Join(dir, "data"),
		"--exec-root=" + filepath.Join(dir, "exec"),
		"--pidfile=" + filepath.Join(dir, "pid"),
		"--host=" + d.Host(),
		"--containerd-namespace=" + namespace,
		"--containerd-plugins-namespace=" + namespace + "-plugins",
		"--bridge=none",
	}, flags...)
	d.Start()
	return d
}

// Host is the daemon's address, also while it is stopped.
func (d *Daemon) Host() string { return "unix://" + filepath.Join(d.dir, "sock") }

// Start starts the daemon, at first and after Stop or Crash, and waits until it
// answers.
func (d *Daemon) Start() {
	d.t.Helper()
	cmd := exec.Command(filepath.Join(d.programs, "dockerd"), d.args...)
	if d.programs != "" { // its containerd, shim and runc are looked up there
		cmd.Env = append(os.Environ(), "PATH="+d.programs+":"+os.Getenv("PATH"))
	}
	cmd.Stdout, cmd.Stderr = &d.log, &d.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.Inside(cmd.Start); err != nil {
		d.t.Fatalf("start dockerd: %v", err)
	}
	exited := make(chan struct{})
	go func() {
		cmd.Wait() //nolint:errcheck // how it ended is in its log
		close(exited)
	}()
	d.cmd, d.exited = cmd, exited
	api, err := client.NewClientWithOpts(client.WithHost(d.Host()))
	if err != nil {
		d.t.Fatal(err)
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		if _, err := api.Ping(ctx); err == nil {
			return
		}
		select {
		case <-exited:
			d.t.Fatalf("dockerd ended: %s", d.log.String())
		case <-ctx.Done():
			d.t.Fatalf("dockerd does not answer: %s", d.log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Inside runs f in the network namespace of the daemon; what it starts stays
// there. Goroutines that f starts do not.
func (d *Daemon) Inside(f func() error) error { return d.network.run(f) }

// Path is a path in the directory of the daemon, where its socket and all its
// data lie; the directory is removed at the end.
func (d *Daemon) Path(elem ...string) string {
	return filepath.Join(append([]string{d.dir}, elem...)...)
}

// Freeze stops the daemon as it is: it takes connections and does not answer,
// until Thaw.
func (d *Daemon) Freeze() { d.cmd.Process.Signal(syscall.SIGSTOP) } //nolint:errcheck // it runs

// Thaw has a frozen daemon go on.
func (d *Daemon) Thaw() { d.cmd.Process.Signal(syscall.SIGCONT) } //nolint:errcheck // it runs

// Stop ends the daemon, and with it its containers unless it has the flag
// --live-restore, and waits until it is gone.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.end(syscall.SIGTERM)
}

// Crash kills the daemon, and with it its containerd; the containers go on
// without them.
func (d *Daemon) Crash() {
	d.t.Helper()
	d.end(syscall.SIGKILL)
	pid := readPID(d.containerdPID())
	for deadline := time.Now().Add(stopTimeout); pid > 1 && runs(pid, d.dir); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("containerd %d outlives its dockerd", pid)
		}
	}
	// Where nobody collects the dead the number still exists, and the next
	// dockerd would wait for that process to answer.
	os.Remove(d.containerdPID()) //nolint:errcheck // it may not be there
}

// Reboot does to the daemon what a restart of the machine does: it, its
// containers and all that is kept in memory are gone at once, and it starts
// again on what is on disk.
func (d *Daemon) Reboot() {
	d.t.Helper()
	d.Crash()
	d.Reap()
	d.unmount()
	if err := os.RemoveAll(d.Path("exec")); err != nil {
		d.t.Fatalf("remove what the daemon keeps in memory: %v", err)
	}
	d.Start()
}

func (d *Daemon) end(signal syscall.Signal) {
	d.t.Helper()
	if d.cmd == nil {
		return
	}
	d.cmd.Process.Signal(signal) //nolint:errcheck // it may have ended
	select {
	case <-d.exited:
	case <-time.After(stopTimeout):
		d.cmd.Process.Kill() //nolint:errcheck // see above
		<-d.exited
		d.t.Errorf("dockerd did not end by signal %v: %s", signal, d.log.String())
	}
	d.cmd = nil
}

// destroy ends the daemon and removes everything it left, also after Crash.
func (d *Daemon) destroy() {
	d.end(syscall.SIGTERM)
	d.Reap()
	d.network.close()
	d.unmount()
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Errorf("remove what dockerd left: %v", err)
	}
	if d.t.Failed() {
		d.t.Logf("dockerd said: %s", d.log.String())
	}
}

// Reap kills what a stopped or crashed daemon left running, as the end of the
// machine would: the processes that were started with a path below the daemon's
// directory, and their children, which are the containers.
func (d *Daemon) Reap() {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	children := map[int][]int{}
	var ours []int
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]); len(f) > 1 {
			parent, _ := strconv.Atoi(string(f[1]))
			children[parent] = append(children[parent], pid)
		}
		if runs(pid, d.dir) {
			ours = append(ours, pid)
		}
	}
	for _, pid := range ours {
		for _, each := range append(children[pid], pid) {
			syscall.Kill(each, syscall.SIGKILL) //nolint:errcheck // it may have ended
		}
	}
}

func (d *Daemon) containerdPID() string {
	return filepath.Join(d.dir, "exec", "containerd", "containerd.pid")
}

// unmount undoes what is still mounted below the daemon's directory, deepest first.
func (d *Daemon) unmount() {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	lines := strings.Split(string(table), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if f := strings.Fields(lines[i]); len(f) > 4 && strings.HasPrefix(f[4], d.dir+"/") {
			syscall.Unmount(f[4], syscall.MNT_DETACH) //nolint:errcheck // RemoveAll tells
		}
	}
}

func readPID(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// runs reports whether a process that was started with a path below dir is
// alive. Its number may be somebody else's by now, and a dead one that is not
// collected has no command line any more.
func runs(pid int, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte(dir+"/"))
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// logBuffer keeps the end of what a daemon says.
type logBuffer struct {
	mu   sync.Mutex
	data []byte
}

const logKept = 16 << 10

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	if extra := len(l.data) - logKept; extra > 0 {
		l.data = append(l.data[:0], l.data[extra:]...)
	}
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}
