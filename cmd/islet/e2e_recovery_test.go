package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"

	"github.com/islet-run/islet/docker/dockertest"
)

// lose removes the state of the site as a lost disk would, and sees to it that
// what ran is removed even if islet does not find it again.
func (s *site) lose() (owner string) {
	s.t.Helper()
	owner = s.owner()
	s.t.Cleanup(func() {
		s.kill()
		dockertest.RemoveOwned(s.t, s.host, owner)
	})
	s.must(os.RemoveAll(s.root))
	return owner
}

// With the state lost, pods are known by their documents: an equal one goes on,
// an edited one is replaced, and what no document claims ends, once every
// document can be read.
func TestStateLost(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"same", "edited", "gone"} {
		s.write(name+".yaml", podYAML(name))
	}
	s.start()
	s.good("edited", "gone", "same")
	same, edited := s.ids("same"), s.ids("edited")
	uid := s.pod("same").UID

	s.kill()
	owner := s.lose()
	s.remove("gone.yaml")
	s.write("edited.yaml", strings.Replace(podYAML("edited"), "  - name: c\n", "  - name: c\n    env: [{name: A, value: b}]\n", 1))
	s.write("broken.yaml", podYAML("broken")+"  nonsense: true\n")
	s.start()
	if now := s.owner(); now != owner {
		t.Fatalf("owner %s, before %s", now, owner)
	}
	if !s.logged("took back its owner id") {
		t.Error("islet does not say that it took its owner id back")
	}
	s.until("the edited pod is replaced", func() bool { p := s.ids("edited")["POD"]; return p != "" && p != edited["POD"] })
	s.noticed()
	if len(s.ids("gone")) != 2 {
		t.Error("a pod that no document claims was ended although a document cannot be read")
	}
	s.remove("broken.yaml")
	s.until("the pod that no document claims has ended", func() bool { return len(s.containersOf("gone")) == 0 })
	s.good("edited", "same")
	if now := s.ids("same"); !maps.Equal(now, same) {
		t.Errorf("containers before %v, after %v", same, now)
	}
	if now := s.pod("same"); now.UID != uid || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the pod that is the same has uid %s, before %s", now.UID, uid)
	}
	s.signal(syscall.SIGINT)
	s.start() // and all of it is kept now
	s.good("edited", "same")
	if now := s.ids("same"); !maps.Equal(now, same) {
		t.Errorf("containers before %v, after another restart %v", same, now)
	}
}

// Two owners that have had this root-dir: islet does not choose between them.
func TestStateLostTwice(t *testing.T) {
	s := newSite(t)
	s.write("web.yaml", podYAML("web"))
	s.start()
	s.good("web")
	web := s.ids("web")
	s.kill()
	first := s.lose()

	// A second owner under the same root-dir, which sees the engine only after
	// the first is out of sight: it is adopted, not chosen.
	other := newSite(t)
	other.root = s.root
	other.args = []string{"--pod-manifest-path", other.dir}
	must := func(text string) {
		t.Helper()
		s.must(os.MkdirAll(s.root, 0o700))
		s.must(os.WriteFile(filepath.Join(s.root, "owner"), []byte(text+"\n"), 0o600))
	}
	const second = "fedcba98765432100123456789abcdef"
	t.Cleanup(func() { dockertest.RemoveOwned(t, s.host, second) })
	must(second)
	other.write("db.yaml", podYAML("db"))
	other.start()
	other.good("db")
	other.kill()
	other.lose()

	code, out := s.islet("run", "--pod-manifest-path", s.dir, "--docker-endpoint", s.host, "--healthz-port", "0")
	if code != exitRefused || !strings.Contains(out, "--adopt-owner") || !strings.Contains(out, first) || !strings.Contains(out, second) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	s.args = []string{"--adopt-owner", first}
	s.start()
	s.good("web")
	if now := s.ids("web"); !maps.Equal(now, web) {
		t.Errorf("containers before %v, after %v", web, now)
	}
}

// down --all stops the pods of owners with and without state, --purge leaves
// nothing. On a private daemon: on another one it would stop the pods of others.
func TestDownAllAndPurge(t *testing.T) {
	d := dockertest.Start(t)
	running, lost, stopped := siteAt(t, d), siteAt(t, d), siteAt(t, d)
	for name, s := range map[string]*site{"running": running, "lost": lost, "stopped": stopped} {
		s.write(name+".yaml", podYAML(name))
		s.start()
		s.good(name)
	}
	lost.kill()
	lost.lose()
	stopped.kill()

	if code, out := running.islet("down", "--all", "--docker-endpoint", running.host); code != exitUsage || !strings.Contains(out, "--yes") {
		t.Fatalf("without an answer: exit code %d: %s", code, out)
	}
	if n := running.engineHas(); n != 6 {
		t.Fatalf("%d containers, want 6", n)
	}
	code, out := running.islet("down", "--all", "--yes", "--docker-endpoint", running.host)
	if code != exitGood {
		t.Fatalf("down --all: exit code %d: %s", code, out)
	}
	for _, name := range []string{"running", "lost", "stopped"} {
		if !strings.Contains(out, "default/"+name+" stopped") {
			t.Errorf("down --all does not say that %s has stopped:\n%s", name, out)
		}
	}
	if n := running.engineHas(); n != 0 {
		t.Fatalf("down --all left %d containers", n)
	}
	<-running.done

	stopped.start() // documents are still there
	stopped.good("stopped")
	if code, out := stopped.islet("down", "--purge", "--yes", "--docker-endpoint", stopped.host); code != exitGood {
		t.Fatalf("down --purge: exit code %d: %s", code, out)
	}
	if _, err := os.Stat(stopped.root); !os.IsNotExist(err) {
		t.Errorf("the root-dir is still there: %v", err)
	}
	if code, out := running.islet("down", "--purge", "--yes", "--docker-endpoint", running.host); code != exitGood {
		t.Fatalf("down --purge: exit code %d: %s", code, out)
	}
	networks, err := running.api.NetworkList(context.Background(), network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "run.islet.owner"))})
	if err != nil || len(networks) != 1 { // that of the owner whose state is lost
		t.Errorf("%d networks are left, want that of the lost owner: %v", len(networks), err)
	}
	images, err := running.api.ImageList(context.Background(), image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", "islet-pause"))})
	if err != nil || len(images) != 0 {
		t.Errorf("%d pause images are left: %v", len(images), err)
	}
}

// engineHas counts the containers of all islets on the engine.
func (s *site) engineHas() int {
	s.t.Helper()
	return len(s.ofOwners("run.islet.owner"))
}
