package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
)

// The faults of an engine and what is to come of them; docs/faults.md is the
// table of them. All of them happen on a dockerd of the test's own.

// soak reports whether the long forms are wanted: make soak.
func soak() bool { return os.Getenv("ISLET_SOAK") != "" }

// long is how long something lasts: long with make soak, else short.
func long(short, long time.Duration) time.Duration {
	if soak() {
		return long
	}
	return short
}

// pass waits for the time itself to pass: how long a fault lasts.
func pass(d time.Duration) {
	<-time.After(d) // scenario: the fault lasts this long
}

// engineFault is something that happens to the daemon as a whole. The pods
// "stays" and "leaves" run before it, and while the daemon is away the manifest
// of leaves is removed and that of "comes" is written.
type engineFault struct {
	name string
	down func(d *dockertest.Daemon)
	for_ time.Duration
	up   func(d *dockertest.Daemon)
	// survives: the containers outlive it without --live-restore too.
	survives bool
}

func engineFaults() []engineFault {
	return []engineFault{
		{"killed and restarted", (*dockertest.Daemon).Crash, 0, (*dockertest.Daemon).Start, false},
		{"stopped for long", (*dockertest.Daemon).Stop, long(20*time.Second, 5*time.Minute), (*dockertest.Daemon).Start, false},
		{"frozen", (*dockertest.Daemon).Freeze, long(5*time.Second, time.Minute), (*dockertest.Daemon).Thaw, true},
		{"replaced by a newer version", (*dockertest.Daemon).Stop, 0, (*dockertest.Daemon).Upgrade, false},
	}
}

// Without live-restore the daemon takes the containers with it: the pods run
// again as the same instances, with one restart each.
func TestFaultEngine(t *testing.T) {
	t.Parallel()
	testEngineFaults(t, dockertest.Start(t), false)
}

// With live-restore nothing that runs is touched.
func TestFaultEngineLiveRestore(t *testing.T) {
	t.Parallel()
	testEngineFaults(t, dockertest.Start(t, "--live-restore"), true)
}

func testEngineFaults(t *testing.T, d *dockertest.Daemon, live bool) {
	for _, f := range engineFaults() {
		t.Run(f.name, func(t *testing.T) {
			if strings.Contains(f.name, "newer") {
				dockertest.Newer(t)
			}
			testEngineFault(t, d, f, live || f.survives)
		})
	}
}

func testEngineFault(t *testing.T, d *dockertest.Daemon, f engineFault, survives bool) {
	s := siteAt(t, d)
	port := freePort(t)
	s.write("stays.yaml", podYAML("stays", fmt.Sprintf("    ports: [{containerPort: 80, hostPort: %d}]\n", port),
		"  - {name: other, image: "+dockertest.Busybox+", command: [sleep, '1000']}\n"))
	s.write("leaves.yaml", podYAML("leaves"))
	s.start()
	s.good("leaves", "stays")
	before, uid := s.ids("stays"), s.pod("stays").UID

	f.down(d)
	if f.name != "frozen" {
		s.until("islet says that the engine is away", func() bool {
			report, code := s.status()
			return code == exitUnreachable && report.NotReady != ""
		})
	}
	s.remove("leaves.yaml")
	s.write("comes.yaml", podYAML("comes"))
	pass(f.for_)
	if _, code := s.status(); f.name == "frozen" && code == exitUnreachable {
		t.Error("islet does not answer while the engine is frozen")
	}
	f.up(d)

	s.until("the removed pod is gone", func() bool { return len(s.containersOf("leaves")) == 0 })
	if !survives {
		s.until("the pod runs again", func() bool {
			now := s.ids("stays")
			return len(now) == 3 && now["POD"] != before["POD"] && now["c"] != before["c"] && now["other"] != before["other"]
		})
	}
	s.good("comes", "stays")
	s.runsOnce("comes", 2)
	s.runsOnce("stays", 3)
	pod := s.pod("stays")
	if pod.UID != uid {
		t.Errorf("the pod is another instance: uid %s, before %s", pod.UID, uid)
	}
	want := int32(1)
	if survives {
		want = 0
		if now := s.ids("stays"); !maps.Equal(now, before) {
			t.Errorf("containers before %v, after %v", before, now)
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.RestartCount != want {
			t.Errorf("container %s: %d restarts, want %d", c.Name, c.RestartCount, want)
		}
	}
	s.removeAll()
}

// siteAt is a site on a private daemon.
func siteAt(t *testing.T, d *dockertest.Daemon) *site {
	t.Helper()
	api := dockertest.ClientAt(t, d.Host())
	dockertest.Image(t, api)
	return siteOn(t, api)
}

// pod returns a pod as status shows it.
func (s *site) pod(name string) v1.Pod {
	s.t.Helper()
	report, _ := s.status()
	i := slices.IndexFunc(report.Pods.Items, func(p v1.Pod) bool { return p.Name == name })
	if i < 0 {
		s.t.Fatalf("status does not show pod %s", name)
	}
	return report.Pods.Items[i]
}

// restarts is the restart count of a container as status shows it.
func (s *site) restarts(pod, name string) int32 {
	s.t.Helper()
	for _, c := range s.pod(pod).Status.ContainerStatuses {
		if c.Name == name {
			return c.RestartCount
		}
	}
	s.t.Fatalf("status does not show container %s of pod %s", name, pod)
	return 0
}

// containersOf lists all containers of a pod, ended ones too.
func (s *site) containersOf(pod string) []container.Summary {
	s.t.Helper()
	return s.ofOwners("run.islet.owner="+s.owner(), "io.kubernetes.pod.name="+pod)
}

// ofOwners lists all containers with these labels, ended ones too.
func (s *site) ofOwners(labels ...string) []container.Summary {
	s.t.Helper()
	by := filters.NewArgs()
	for _, l := range labels {
		by.Add("label", l)
	}
	list, err := s.api.ContainerList(context.Background(), container.ListOptions{All: true, Filters: by})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// runsOnce fails the test unless exactly n containers of the pod run, the
// sandbox among them, each once.
func (s *site) runsOnce(pod string, n int) {
	s.t.Helper()
	names := map[string]int{}
	for _, c := range s.containersOf(pod) {
		if c.State == container.StateRunning || c.State == container.StatePaused {
			names[c.Labels["io.kubernetes.container.name"]]++
		}
	}
	for name, count := range names {
		if count != 1 {
			s.t.Errorf("container %s of pod %s runs %d times", name, pod, count)
		}
	}
	if len(names) != n {
		s.t.Errorf("pod %s: %v run, want %d containers", pod, names, n)
	}
}

// removeAll removes every manifest and waits until nothing is left.
func (s *site) removeAll() {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		s.remove(e.Name())
	}
	s.until("nothing is left", func() bool { return len(s.everything()) == 0 })
	s.good()
}

// full is the whole id of a container of a pod that runs.
func (s *site) full(pod, name string) string {
	s.t.Helper()
	for _, c := range s.containersOf(pod) {
		if c.State == container.StateRunning && c.Labels["io.kubernetes.container.name"] == name {
			return c.ID
		}
	}
	s.t.Fatalf("container %s of pod %s does not run", name, pod)
	return ""
}

// must ends the test when what it does behind islet's back does not work.
func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// squat makes a container of nobody's that holds a name.
func squat(t *testing.T, api *dockerclient.Client, name string) string {
	t.Helper()
	made, err := api.ContainerCreate(context.Background(), &container.Config{Image: dockertest.Busybox, Cmd: []string{"sleep", "1000"}}, nil, nil, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Errorf("remove the container that held a name: %v", err)
		}
	})
	return made.ID
}
