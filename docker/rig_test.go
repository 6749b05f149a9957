package docker

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

// patience bounds waiting for what must come.
const patience = 60 * time.Second

// rig is an Engine that is up, with what tests do with one.
type rig struct {
	t     testing.TB
	api   *client.Client
	e     *Engine
	image pods.Image
}

// newRig starts an Engine on an engine that was found.
func newRig(t testing.TB) *rig {
	t.Helper()
	return rigAt(t, dockertest.Client(t), "")
}

// rigAt starts an Engine that speaks to host; empty: where api does.
func rigAt(t testing.TB, api *client.Client, host string) *rig {
	t.Helper()
	if host == "" {
		host = api.DaemonHost()
	}
	ref := dockertest.Image(t, api)
	owner := dockertest.Owner(t, api)
	e, err := New(Config{Host: host, Owner: owner, Root: t.TempDir(), NetworkName: "islet-" + owner[:13], Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	up := make(chan struct{}, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Watch(ctx, func(ev pods.EngineEvent) {
			if ev.Kind == pods.EngineUp {
				up <- struct{}{}
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		e.Close()
	})
	select {
	case <-up:
	case <-time.After(patience):
		t.Fatal("no EngineUp")
	}
	found, err := e.EnsureImage(ctx, pods.ImageRequest{Ref: ref, Policy: v1.PullNever})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, api: api, e: e, image: found}
}

func (r *rig) pod(name string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID = name, "default", types.UID(name+"-uid")
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: r.image.Ref}}
	return pod
}

func keyOf(pod *v1.Pod) pods.Key {
	return pods.Key{Realm: pods.RealmLocal, Namespace: pod.Namespace, Name: pod.Name}
}

func (r *rig) sandbox(pod *v1.Pod) pods.Sandbox {
	r.t.Helper()
	box, err := r.e.StartSandbox(context.Background(), boxRequest(pod))
	if err != nil {
		r.t.Fatal(err)
	}
	return box
}

func boxRequest(pod *v1.Pod) pods.SandboxRequest {
	return pods.SandboxRequest{Key: keyOf(pod), Pod: pod, Hostname: pod.Name}
}

// request asks for a container with a message file; its script runs in a shell.
func (r *rig) request(pod *v1.Pod, box, name, script string) pods.ContainerRequest {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "message")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		r.t.Fatal(err)
	}
	c := &v1.Container{Name: name, Image: r.image.Ref, TerminationMessagePath: "/dev/termination-log"}
	return pods.ContainerRequest{
		Key: keyOf(pod), Pod: pod, Container: c, Type: pods.TypeRegular, SandboxID: box, Image: r.image,
		Command: []string{"/bin/sh", "-c", script}, Resources: pods.Resources{CPUShares: 2},
		Mounts: []pods.Mount{{HostPath: file, ContainerPath: c.TerminationMessagePath}},
	}
}

// run starts a container and returns it when it has ended.
func (r *rig) run(req pods.ContainerRequest) pods.Container {
	r.t.Helper()
	id, err := r.e.StartContainer(context.Background(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.ended(req.Key, id)
}

func (r *rig) ended(key pods.Key, id string) pods.Container {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		for _, o := range r.observe(key) {
			for _, c := range o.Containers {
				if c.ID == id && c.State == pods.StateExited {
					return c
				}
			}
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("container %s of %s has not ended: %+v", id, key, r.observe(key))
		}
	}
}

func (r *rig) observe(key pods.Key) []pods.Observed {
	r.t.Helper()
	list, err := r.e.Observe(context.Background(), key)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}
