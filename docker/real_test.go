package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

// A container whose creation was finished and whose start was not is started,
// by another Engine too, and not made twice.
func TestTakesOverWhatNeverStarted(t *testing.T) {
	r := newRig(t)
	pod := r.pod("takeover")
	box := r.sandbox(pod)
	req := r.request(pod, box.ID, "main", "echo $GREETING > /dev/termination-log")
	req.Env = []string{"GREETING=hello"}
	form, err := r.e.imageForm(context.Background(), req.Image)
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.e.create(context.Background(), containerSpec(r.e.settings(), form, req))
	if err != nil {
		t.Fatal(err)
	}
	if c := r.observe(req.Key)[0].Containers[0]; c.State != pods.StateCreated {
		t.Fatalf("created: %+v", c)
	}
	if c := r.run(req); c.ID != h.id || c.Message != "hello\n" {
		t.Errorf("ran %+v, created was %s", c, h.id)
	}
}

// Somebody else's containers, and those of another islet, are not seen.
func TestSeesOnlyItsOwn(t *testing.T) {
	ours, theirs := newRig(t), newRig(t)
	pod := ours.pod("mine")
	box := theirs.sandbox(pod)
	ctx := context.Background()
	if found, err := ours.e.List(ctx); err != nil || len(found) != 0 {
		t.Errorf("listed %v, %v", found, err)
	}
	if list := ours.observe(keyOf(pod)); len(list) != 0 {
		t.Errorf("observed %+v", list)
	}
	if err := ours.e.Remove(ctx, box.ID, true); err == nil {
		t.Error("another islet's sandbox was removed")
	}
	// Both may hold a pod of the same name and uid: only the name of the
	// container is taken.
	mine := ours.sandbox(pod)
	if mine.ID == box.ID {
		t.Error("another islet's sandbox was taken over")
	}
	if again := ours.sandbox(pod); again.ID != mine.ID {
		t.Error("a repeated call made a second sandbox beside the stranger")
	}
	if list := theirs.observe(keyOf(pod)); len(list) != 1 || list[0].Sandboxes[0].ID != box.ID {
		t.Errorf("the other one sees %+v", list)
	}
	infos, err := ours.e.Owners(ctx)
	if err != nil {
		t.Fatal(err)
	}
	roots := map[string]string{}
	for _, o := range infos {
		roots[o.ID] = o.Root
	}
	if roots[ours.e.cfg.Owner] != ours.e.cfg.Root || roots[theirs.e.cfg.Owner] != theirs.e.cfg.Root {
		t.Errorf("owners %+v", infos)
	}
}

// The labels of an image that was made from somebody's pod do not give a
// container another identity.
func TestImageLabelsDoNotLeak(t *testing.T) {
	r := newRig(t)
	ref := "islet.test/leaky:" + r.e.cfg.Owner[:13]
	dockertest.Import(t, r.api, ref, emptyTar(), `LABEL io.kubernetes.pod.uid=other run.islet.owner=other run.islet.attempt=77`)
	t.Cleanup(func() { r.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}) })
	pod := r.pod("leaky")
	box := r.sandbox(pod)
	found, err := r.e.EnsureImage(context.Background(), pods.ImageRequest{Ref: ref, Policy: v1.PullNever})
	if err != nil {
		t.Fatal(err)
	}
	req := r.request(pod, box.ID, "main", "")
	req.Image, req.Container.Image = found, ref
	if _, err := r.e.StartContainer(context.Background(), req); err == nil {
		t.Error("a container without any program started")
	}
	list := r.observe(req.Key)
	if len(list) != 1 || list[0].UID != pod.UID || len(list[0].Containers) != 1 || list[0].Containers[0].Attempt != 0 {
		t.Errorf("observed %+v", list)
	}
}

// emptyTar is the end of an archive.
func emptyTar() []byte { return make([]byte, 1024) }

func TestPortsAndNames(t *testing.T) {
	r := newRig(t)
	port := freePort(t)
	server := r.pod("server")
	server.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 8080, HostPort: int32(port), HostIP: "127.0.0.1"}}
	box := r.sandbox(server)
	req := r.request(server, box.ID, "main", "mkdir /www && hostname > /www/index.html && exec httpd -f -p 8080 -h /www")
	if _, err := r.e.StartContainer(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{fmt.Sprintf("127.0.0.1:%d", port), net.JoinHostPort(box.IPs[0], "8080")} {
		if got := fetch(t, "http://"+address+"/"); got != "server\n" {
			t.Errorf("%s serves %q, want its hostname", address, got)
		}
	}
	other := r.pod("other")
	otherBox := r.sandbox(other)
	c := r.run(r.request(other, otherBox.ID, "main",
		"for h in server server.default; do wget -q -O - http://$h:8080/ >> /dev/termination-log; done"))
	if c.ExitCode != 0 || c.Message != "server\nserver\n" {
		t.Errorf("another pod, by name: %+v", c)
	}

	taken := r.pod("taken")
	taken.Spec.Containers[0].Ports = server.Spec.Containers[0].Ports
	_, err := r.e.StartSandbox(context.Background(), boxRequest(taken))
	var failure *pods.EngineError
	if !errors.As(err, &failure) || failure.Reason != pods.ReasonFailedCreatePodSandBox || !strings.Contains(err.Error(), "already allocated") {
		t.Errorf("a port that is taken: %v", err)
	}
	if list := r.observe(keyOf(taken)); len(list) != 1 || list[0].Sandboxes[0].State != pods.StateExited {
		t.Errorf("what the failure left: %+v", list)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// fetch gets a page from a server that is coming up.
func fetch(t *testing.T, url string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if text, err := get(url); err == nil {
			return text
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func get(url string) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, res.Status)
	}
	return string(text), err
}

// What a request says is what the container finds.
func TestSettingsArrive(t *testing.T) {
	r := newRig(t)
	pod := r.pod("settings")
	shared := true
	pod.Spec.ShareProcessNamespace = &shared
	box := r.sandbox(pod)
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "file"), []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		script string
		change func(*pods.ContainerRequest)
		want   string
	}{
		{"env", "printf $A", func(q *pods.ContainerRequest) { q.Env = []string{"A=old", "A=new"} }, "new"},
		{"workdir", "pwd", func(q *pods.ContainerRequest) { q.Container.WorkingDir = "/made/for/it" }, "/made/for/it\n"},
		{"read-only", "cat /ro/file; touch /ro/x 2>/dev/null || printf ' refused'", func(q *pods.ContainerRequest) {
			q.Mounts = append(q.Mounts, pods.Mount{HostPath: data, ContainerPath: "/ro", ReadOnly: true})
		}, "data refused"},
		{"writable", "touch /rw/x && printf done", func(q *pods.ContainerRequest) {
			q.Mounts = append(q.Mounts, pods.Mount{HostPath: data, ContainerPath: "/rw"})
		}, "done"},
		{"seccomp", "grep Seccomp: /proc/self/status | tr -dc 0-9", nil, "0"},
		{"oom-score", "cat /proc/self/oom_score_adj", func(q *pods.ContainerRequest) { q.Resources.OOMScoreAdj = 321 }, "321\n"},
		{"hostname", "hostname", nil, "settings\n"},
		{"pid-1", "tr -d '\\000' < /proc/1/cmdline", nil, "/pause"},
		{"zombies", "sh -c 'sleep 0.1 & exec sleep 0'; sleep 0.5; grep -l 'State:.Z' /proc/[0-9]*/status; printf none", nil, "none"},
	} {
		req := r.request(pod, box.ID, row.name, "{ "+row.script+"; } > /dev/termination-log")
		if row.change != nil {
			row.change(&req)
		}
		if c := r.run(req); c.Message != row.want || c.ExitCode != 0 {
			t.Errorf("%s: message %q, want %q (%+v)", row.name, c.Message, row.want, c)
		}
	}
	in, err := r.api.ContainerInspect(context.Background(), box.ID)
	if err != nil {
		t.Fatal(err)
	}
	if in.HostConfig.CPUShares != 2 || !in.HostConfig.ReadonlyRootfs || in.Config.User != "65535:65535" || in.HostConfig.IpcMode != "shareable" {
		t.Errorf("sandbox: %+v", in.HostConfig)
	}
}

func TestOutOfMemory(t *testing.T) {
	r := newRig(t)
	pod := r.pod("memory")
	box := r.sandbox(pod)
	req := r.request(pod, box.ID, "main", "exec tail /dev/zero")
	req.Resources.MemoryLimit = 16 << 20
	if c := r.run(req); c.Reason != pods.ReasonOOMKilled || c.ExitCode != 137 {
		t.Errorf("got %+v", c)
	}
	small := r.request(pod, box.ID, "small", "true")
	small.Resources.MemoryLimit = 1 << 20
	_, err := r.e.StartContainer(context.Background(), small)
	var failure *pods.EngineError
	if !errors.As(err, &failure) || failure.Reason != pods.ReasonCreateContainer || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a limit below the least: %v", err)
	}
}

// What somebody else does to a container is noticed, also when it has ended and
// its end is known.
func TestNoticesOthers(t *testing.T) {
	r := newRig(t)
	pod := r.pod("others")
	box := r.sandbox(pod)
	ctx := context.Background()
	done := r.run(r.request(pod, box.ID, "done", "true"))
	if err := r.api.ContainerRemove(ctx, done.ID, container.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); len(r.observe(keyOf(pod))[0].Containers) != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a container that was removed is still observed")
		}
	}
	if err := r.api.ContainerRemove(ctx, box.ID, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); len(r.observe(keyOf(pod))) != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a sandbox that was removed is still observed")
		}
	}
}
