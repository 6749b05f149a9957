package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"

	"github.com/islet-run/islet/docker/dockertest"
)

// eventually is how long what must come may take; the engine is slow when
// several tests use it.
const eventually = 60 * time.Second

// site is a place where a test runs islet: a manifests directory and a root-dir
// of its own, on a real engine.
type site struct {
	t    *testing.T
	api  *dockerclient.Client
	host string
	dir  string // manifests
	root string
	args []string // more flags of run
	env  []string // more environment of run
	// program is what runs: a command of TestMain, or a path. ISLET_BINARY
	// chooses another than this test binary itself.
	program string
	mayLog  []string // what sound lets pass
	log     *logFile
	cmd     *exec.Cmd
	done    chan struct{}
}

func newSite(t *testing.T) *site {
	t.Helper()
	api := dockertest.Client(t)
	dockertest.Image(t, api)
	return siteOn(t, api)
}

func siteOn(t *testing.T, api *dockerclient.Client) *site {
	t.Helper()
	base := t.TempDir()
	s := &site{t: t, api: api, host: api.DaemonHost(), dir: filepath.Join(base, "manifests"), root: filepath.Join(base, "root"), log: &logFile{}, program: "islet"}
	if binary := os.Getenv("ISLET_BINARY"); binary != "" {
		s.program = binary
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.clear()
		s.sound()
		if t.Failed() {
			t.Logf("log of islet:\n%s", s.log)
		}
	})
	return s
}

// start runs islet and waits until it is ready.
func (s *site) start() {
	s.t.Helper()
	s.launch()
	s.until("islet is ready", func() bool {
		report, code := s.status()
		return code != exitUnreachable && report.NotReady == ""
	})
}

// clear ends islet and removes all that it has made on this machine.
func (s *site) clear() {
	s.kill()
	uids, _ := filepath.Glob(filepath.Join(s.root, "pods", "*"))
	dockertest.RemoveOwned(s.t, s.host, s.owner())
	for _, uid := range uids {
		for _, pattern := range cgroupsOf(filepath.Base(uid)) {
			dirs, _ := filepath.Glob(pattern)
			for _, dir := range dirs {
				os.Remove(dir) //nolint:errcheck // a kernel that still reaps keeps an empty directory
			}
		}
	}
}

// cgroupsOf are patterns of where the cgroups of a pod may be.
func cgroupsOf(uid string) []string {
	slice := "islet.slice/*/*-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	return []string{
		"/sys/fs/cgroup/*/islet/*/pod" + uid, "/sys/fs/cgroup/islet/*/pod" + uid,
		"/sys/fs/cgroup/*/" + slice, "/sys/fs/cgroup/" + slice,
	}
}

// sound fails the test when islet said something that it never may.
func (s *site) sound() {
	for _, text := range []string{"DATA RACE", "panic:", "fatal error:", "plan does not come to rest"} {
		if s.logged(text) && !slices.Contains(s.mayLog, text) {
			s.t.Errorf("the log of islet has %q", text)
		}
	}
}

// launch runs islet without waiting for anything.
func (s *site) launch() {
	s.t.Helper()
	args := append([]string{"run", "--pod-manifest-path", s.dir, "--root-dir", s.root,
		"--docker-endpoint", s.host, "--healthz-port", "0", "--log-format", "json", "-v", "1"}, s.args...)
	s.cmd = exec.Command(s.program, args...)
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, done := s.cmd, make(chan struct{})
	s.done = done
	go func() { _ = cmd.Wait(); close(done) }()
}

// kill ends islet as a crash would.
func (s *site) kill() { s.signal(syscall.SIGKILL) }

// signal sends islet a signal and waits until it has ended.
func (s *site) signal(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	select {
	case <-s.done:
	case <-time.After(eventually):
		_ = s.cmd.Process.Kill()
		s.t.Errorf("islet did not end after %v", sig)
	}
	s.cmd = nil
}

// islet runs a sub-command on the site and returns its exit code and output.
func (s *site) islet(args ...string) (int, string) {
	s.t.Helper()
	cmd := exec.Command("islet", append(args, "--root-dir", s.root)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	if out.Len() == 0 {
		return cmd.ProcessState.ExitCode(), errs.String()
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (s *site) status() (report statusReport, code int) {
	s.t.Helper()
	code, out := s.islet("status", "-o", "json")
	if code == exitUnreachable && !strings.HasPrefix(out, "{") {
		return report, code
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		s.t.Fatalf("status: %v in %s", err, out)
	}
	return report, code
}

// until polls for a condition; more tells what was seen when it never came.
func (s *site) until(what string, ok func() bool, more ...func() string) {
	s.t.Helper()
	deadline := time.Now().Add(eventually)
	for !ok() {
		if time.Now().After(deadline) {
			_, status := s.islet("status")
			for _, f := range more {
				status += f() + "\n"
			}
			s.t.Fatalf("waited %v until %s; status:\n%s", eventually, what, status)
		}
		time.Sleep(10 * time.Millisecond) // between two looks at something outside this process
	}
}

// good waits until everything is as wanted: status ends with 0.
func (s *site) good(pods ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("all is good and %v run", pods), func() bool {
		report, code := s.status()
		if code != exitGood {
			return false
		}
		var names []string
		for _, p := range report.Pods.Items {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		want := slices.Sorted(slices.Values(pods))
		return slices.Equal(names, want)
	})
}

// write puts a file into the manifests directory in one step.
func (s *site) write(name, text string) {
	s.t.Helper()
	temp := filepath.Join(s.dir, "."+name+".tmp")
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(temp, s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) remove(name string) {
	s.t.Helper()
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

// noticed waits until islet has read the directory as it is now: it drops a
// document that runs nothing and waits for its verdict.
func (s *site) noticed() {
	s.t.Helper()
	name := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	s.write(name+".yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}\n")
	s.until("islet has read the directory", func() bool {
		report, _ := s.status()
		return slices.ContainsFunc(report.Manifests, func(m manifestEntry) bool { return m.Name == name })
	})
	s.remove(name + ".yaml")
	s.until("islet has read the directory", func() bool {
		report, _ := s.status()
		return !slices.ContainsFunc(report.Manifests, func(m manifestEntry) bool { return m.Name == name })
	})
}

func (s *site) owner() string {
	data, err := os.ReadFile(filepath.Join(s.root, "owner"))
	if err != nil {
		return "none"
	}
	return strings.TrimSpace(string(data))
}

// ids are the ids of the pod's running containers, by container name; POD is
// the sandbox.
func (s *site) ids(pod string) map[string]string {
	s.t.Helper()
	by := filters.NewArgs(
		filters.Arg("label", "run.islet.owner="+s.owner()),
		filters.Arg("label", "io.kubernetes.pod.name="+pod),
	)
	list, err := s.api.ContainerList(context.Background(), container.ListOptions{Filters: by})
	if err != nil {
		s.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range list {
		ids[c.Labels["io.kubernetes.container.name"]] = c.ID[:12]
	}
	return ids
}

// everything is the ids of all containers of the site, ended ones too.
func (s *site) everything() []string {
	s.t.Helper()
	by := filters.NewArgs(filters.Arg("label", "run.islet.owner="+s.owner()))
	list, err := s.api.ContainerList(context.Background(), container.ListOptions{All: true, Filters: by})
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.Names[0])
	}
	return ids
}

func (s *site) logged(text string) bool { return strings.Contains(s.log.String(), text) }

// freePort is a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// podYAML is a pod of one container that ends at once when told to.
func podYAML(name string, more ...string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + `
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: c
    image: ` + dockertest.Busybox + `
    command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 1 & wait; done']
` + strings.Join(more, "")
}

// logFile collects output and can be read meanwhile.
type logFile struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logFile) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
