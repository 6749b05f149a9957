package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/httpapi"
)

type manifestEntry = httpapi.Manifest

// A manifest that was good and turns bad must not stop its pod, whatever is
// wrong with it; the fault is shown; the repaired file is taken up. All this
// also when islet is restarted while the file is bad.
func TestBrokenEditsKeepThePodRunning(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := podYAML("web")
	s.write("web.yaml", good)
	s.start()
	s.good("web")
	before := s.ids("web")

	away := s.dir + ".away"
	for _, fault := range []struct {
		name           string
		break_, repair func()
	}{
		{"tab", func() { s.write("web.yaml", strings.Replace(good, "  name", "\tname", 1)) }, nil},
		{"unknown field", func() { s.write("web.yaml", good+"    imagePullPolici: Never\n") }, nil},
		{"cut", func() { s.write("web.yaml", good[:len(good)-20]) }, nil},
		{"empty", func() { s.write("web.yaml", "") }, nil},
		{"binary", func() { s.write("web.yaml", "\x7fELF\x00\x01\x02\x00") }, nil},
		{"chmod 000", func() { s.chmod("web.yaml", 0) }, func() { s.chmod("web.yaml", 0o644) }},
		{"directory renamed away", func() { s.rename(s.dir, away) }, func() { s.rename(away, s.dir) }},
		{"bad file renamed", func() {
			s.write("web.yaml", good+"  nonsense: true\n")
			s.until("the fault is shown", s.faulty)
			s.rename(s.path("web.yaml"), s.path("web2.yaml"))
		}, func() {
			s.write("web2.yaml", good)
			s.rename(s.path("web2.yaml"), s.path("web.yaml"))
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			fault.break_()
			s.until("the fault is shown", s.faulty)
			s.kill()
			s.start()
			s.until("the fault is shown after a restart", s.faulty)
			if now := s.ids("web"); !maps.Equal(now, before) {
				t.Fatalf("containers before %v, now %v", before, now)
			}
			if fault.repair == nil {
				s.write("web.yaml", good)
			} else {
				fault.repair()
			}
			s.good("web")
			if now := s.ids("web"); !maps.Equal(now, before) {
				t.Fatalf("containers before %v, after the repair %v", before, now)
			}
		})
	}
}

// faulty reports whether status says that something is wrong, and the pod is
// still said to run.
func (s *site) faulty() bool {
	report, code := s.status()
	return code == exitRefused && len(report.Pods.Items) == 1 && report.Pods.Items[0].Status.Phase == "Running"
}

func (s *site) chmod(name string, mode os.FileMode) {
	if err := os.Chmod(s.path(name), mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		s.t.Fatal(err)
	}
}

// Edits that mean nothing do nothing; an edit of the image restarts that
// container alone; any other replaces the pod, after its grace and at once.
func TestEditsDoWhatTheyMean(t *testing.T) {
	s := newSite(t)
	text := podYAML("web", "  - {name: other, image: "+dockertest.Busybox+", command: [sh, -c, 'trap \"exit 0\" TERM; while :; do sleep 1 & wait; done']}\n")
	s.write("web.yaml", text)
	s.start()
	s.good("web")
	before := s.ids("web")

	for _, edit := range []struct {
		name string
		do   func()
	}{
		{"touch", func() {
			now := time.Now()
			if err := os.Chtimes(s.path("web.yaml"), now, now); err != nil {
				t.Fatal(err)
			}
		}},
		{"rename", func() {
			s.rename(s.path("web.yaml"), s.path("zweb.yaml"))
			s.rename(s.path("zweb.yaml"), s.path("web2.yaml"))
		}},
		{"comment", func() { s.write("web2.yaml", "# a comment\n"+text) }},
		{"spelled-out default", func() { s.write("web2.yaml", text+"  restartPolicy: Always\n  dnsPolicy: ClusterFirst\n") }},
		{"reorder", func() {
			s.write("web2.yaml", "kind: Pod\nmetadata: {name: web}\nspec:\n"+strings.SplitN(text, "spec:\n", 2)[1]+"apiVersion: v1\n")
		}},
	} {
		edit.do()
		s.noticed()
		s.good("web")
		if now := s.ids("web"); !maps.Equal(now, before) {
			t.Fatalf("%s: containers before %v, after %v", edit.name, before, now)
		}
	}

	other := "islet.test/busybox:other-name"
	if err := s.api.ImageTag(context.Background(), dockertest.Busybox, other); err != nil {
		t.Fatal(err)
	}
	s.write("web2.yaml", strings.Replace(text, "image: "+dockertest.Busybox+"\n", "image: "+other+"\n", 1))
	s.until("container c has another image", func() bool { now := s.ids("web"); return now["c"] != "" && now["c"] != before["c"] })
	s.good("web")
	now := s.ids("web")
	if now["POD"] != before["POD"] || now["other"] != before["other"] {
		t.Fatalf("image edit: containers before %v, after %v", before, now)
	}

	since := time.Now()
	s.write("web2.yaml", strings.Replace(text, "  - name: c\n", "  - name: c\n    env: [{name: A, value: b}]\n", 1))
	s.until("the pod is replaced", func() bool { p := s.ids("web")["POD"]; return p != "" && p != before["POD"] })
	s.good("web")
	gone, created := s.handOver(since)
	if gap := created.Sub(gone); gap < 0 || gap > 300*time.Millisecond {
		t.Errorf("the new sandbox was created %v after the old one was gone, want within 300 ms", gap)
	}
	if code, why := s.islet("why", "web"); code != exitGood || !strings.Contains(why, "env") {
		t.Errorf("why does not tell of the edit (exit code %d):\n%s", code, why)
	}
}

// handOver returns when the last sandbox was destroyed and the next created.
func (s *site) handOver(since time.Time) (gone, created time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), eventually)
	defer cancel()
	messages, errs := s.api.Events(ctx, events.ListOptions{
		Since: fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()), Until: fmt.Sprint(time.Now().Unix()),
		Filters: filters.NewArgs(filters.Arg("label", "run.islet.owner="+s.owner()), filters.Arg("label", "io.kubernetes.container.name=POD")),
	})
	for {
		select {
		case m := <-messages:
			at := time.Unix(0, m.TimeNano)
			switch m.Action {
			case events.ActionDestroy:
				gone = at
			case events.ActionCreate:
				created = at
			}
		case <-errs:
			if gone.IsZero() || created.IsZero() {
				s.t.Fatalf("no hand-over seen: destroyed %v, created %v", gone, created)
			}
			return gone, created
		}
	}
}

// After a crash nothing that ran is touched, what was removed meanwhile ends
// with its grace, what was edited is replaced.
func TestKillWithTenPods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("p", i))
		s.write(names[i]+".yaml", podYAML(names[i]))
	}
	s.start()
	s.good(names...)
	before := map[string]map[string]string{}
	for _, n := range names {
		before[n] = s.ids(n)
	}
	foreign := s.foreign()

	s.kill()
	s.remove("p3.yaml")
	s.write("p7.yaml", strings.Replace(podYAML("p7"), "  - name: c\n", "  - name: c\n    env: [{name: A, value: b}]\n", 1))
	s.start()
	s.until("p7 is replaced", func() bool { p := s.ids("p7")["POD"]; return p != "" && p != before["p7"]["POD"] })
	s.good(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "p3" })...)
	for _, n := range names {
		now := s.ids(n)
		switch {
		case n == "p3" && len(now) != 0:
			t.Errorf("p3 is still there: %v", now)
		case n != "p3" && n != "p7" && !maps.Equal(now, before[n]):
			t.Errorf("%s: containers before %v, after %v", n, before[n], now)
		}
	}
	if got := len(s.everything()); got != 18 {
		t.Errorf("%d containers, want 18: %v", got, s.everything())
	}
	if info, err := s.api.ContainerInspect(context.Background(), foreign); err != nil || !info.State.Running {
		t.Errorf("a foreign container was touched: %v", err)
	}
}

// foreign starts a container that looks like a pod's but belongs to somebody
// else.
func (s *site) foreign() string {
	ctx := context.Background()
	owner := dockertest.Owner(s.t, s.api)
	made, err := s.api.ContainerCreate(ctx, &container.Config{
		Image: dockertest.Busybox, Cmd: []string{"sleep", "600"},
		Labels: map[string]string{"run.islet.owner": owner, "io.kubernetes.pod.name": "p1", "io.kubernetes.pod.namespace": "default"},
	}, nil, nil, nil, "k8s_c_p1_default_"+owner+"_0")
	if err == nil {
		err = s.api.ContainerStart(ctx, made.ID, container.StartOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// A copy of a manifest, and editors that save in steps, never stop the pod.
func TestCopiesAndEditors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text := podYAML("web")
	s.write("web.yaml", text)
	s.start()
	s.good("web")
	before := s.ids("web")
	unchanged := func(what string) {
		t.Helper()
		if now := s.ids("web"); !maps.Equal(now, before) {
			t.Fatalf("%s: containers before %v, after %v", what, before, now)
		}
	}

	s.write("web-backup.yaml", strings.Replace(text, "sleep 1", "sleep 2", 1)) // sorts before web.yaml
	s.until("the conflict is shown", func() bool {
		report, code := s.status()
		return code == exitRefused && slices.ContainsFunc(report.Manifests, func(m manifestEntry) bool {
			return m.Verdict == "conflict" && filepath.Base(m.Path) == "web-backup.yaml"
		})
	})
	unchanged("backup copy")
	s.remove("web-backup.yaml")
	s.good("web")
	unchanged("backup copy removed")

	// Truncate, then write in place a moment later.
	f, err := os.OpenFile(s.path("web.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.until("the empty file is shown", s.faulty)
	unchanged("truncated")
	if _, err := f.WriteString(text[:40]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // scenario: how this editor is slow
	if _, err := f.WriteString(text[40:]); err != nil {
		t.Fatal(err)
	}
	s.good("web")
	unchanged("written in place")

	// Rename to a backup and back, as vim saves.
	s.rename(s.path("web.yaml"), s.path("web.yaml~"))
	s.write("web.yaml", text)
	s.remove("web.yaml~")
	s.noticed()
	s.good("web")
	unchanged("saved by rename")
}

func TestEndOfIslet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("web.yaml", podYAML("web"))
	s.start()
	s.good("web")
	before := s.ids("web")
	s.signal(syscall.SIGTERM)
	if now := s.ids("web"); !maps.Equal(now, before) {
		t.Fatalf("SIGTERM: containers before %v, after %v", before, now)
	}

	s.args = []string{"--stop-pods-on-exit"}
	s.start()
	s.good("web")
	if now := s.ids("web"); !maps.Equal(now, before) {
		t.Fatalf("next run: containers before %v, after %v", before, now)
	}
	s.signal(syscall.SIGTERM)
	if left := s.everything(); len(left) != 0 {
		t.Fatalf("--stop-pods-on-exit left %v", left)
	}

	s.args = nil
	s.start() // the manifest is still there
	s.good("web")
	if code, out := s.islet("down"); code != exitGood {
		t.Fatalf("down: exit code %d: %s", code, out)
	}
	if left := s.everything(); len(left) != 0 {
		t.Fatalf("down left %v", left)
	}
	<-s.done

	s.start()
	s.good("web")
	s.kill()
	if code, out := s.islet("down", "--docker-endpoint", s.host); code != exitGood { // with no islet running
		t.Fatalf("down alone: exit code %d: %s", code, out)
	}
	if left := s.everything(); len(left) != 0 {
		t.Fatalf("down alone left %v", left)
	}
}

func TestTwoIsletsOnOneRootDir(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	out, err := exec.Command("islet", "run", "--pod-manifest-path", s.dir, "--root-dir", s.root, "--healthz-port", "0").CombinedOutput()
	if code := err.(*exec.ExitError).ExitCode(); code != exitRefused || !strings.Contains(string(out), "in use by the islet with pid") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// islet waits for an engine that is away, says so once, and works as soon as it
// is there; pods that a stopped engine ended run again.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	api := dockertest.ClientAt(t, d.Host())
	dockertest.Image(t, api)
	s := siteOn(t, api)
	d.Stop()
	s.write("web.yaml", podYAML("web", "  hostNetwork: true\n"))
	s.launch()
	away := func() bool { report, code := s.status(); return code == exitUnreachable && report.NotReady != "" }
	s.until("islet says that the engine is away", away)
	d.Start()
	s.good("web")
	before := s.ids("web")
	d.Stop()
	s.until("islet says that the engine is away", away)
	d.Start()
	s.until("the pod runs again", func() bool { now := s.ids("web"); return now["c"] != "" && now["c"] != before["c"] })
	s.good("web")
	if n := strings.Count(s.log.String(), `"engine does not answer`); n != 2 {
		t.Errorf("the two outages were told %d times", n)
	}
}
