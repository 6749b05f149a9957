package enginetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Subject is an engine under test.
type Subject struct {
	Engine Engine
	Image  string // name of an image that is present and has /bin/sh
	Absent string // name of an image that is nowhere
	// Down takes the engine away and Up brings it back; nil: not tested.
	Down, Up func()
}

const (
	// patience bounds waiting for what must come.
	patience = 60 * time.Second
	// missingProgram does not exist in the image.
	missingProgram = "/no/such/program"
	messagePath    = "/dev/termination-log"
)

// The scripts that containers of the suite run with /bin/sh -c.
const (
	scriptRun     = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
	scriptIgnore  = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
	scriptTrue    = "exit 0"
	scriptFail    = "exit 3"
	scriptMessage = "printf 'all is well' > " + messagePath
	scriptLog     = "echo something broke; exit 1"
)

// Contract checks what the comments of the interface promise. The engine is
// used for pods of its own; factory is called once.
func Contract(t *testing.T, factory func(t *testing.T) Subject) {
	s := &suite{Subject: factory(t), uids: map[string]int{}}
	s.watch(t)
	for _, test := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"facts", (*suite).testFacts},
		{"images", (*suite).testImages},
		{"sandbox", (*suite).testSandbox},
		{"host network", (*suite).testHostNetwork},
		{"container", (*suite).testContainer},
		{"ends", (*suite).testEnds},
		{"messages", (*suite).testMessages},
		{"failed start", (*suite).testFailedStart},
		{"signals", (*suite).testSignals},
		{"remove", (*suite).testRemove},
		{"events", (*suite).testEvents},
		{"instances", (*suite).testInstances},
		{"dead sandbox", (*suite).testDeadSandbox},
		{"context", (*suite).testContext},
		{"away", (*suite).testAway},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

// suite is a subject with its event stream.
type suite struct {
	Subject
	uids map[string]int

	mu     sync.Mutex
	events []pods.EngineEvent
}

// watch starts Watch and waits for EngineUp.
func (s *suite) watch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Engine.Watch(ctx, func(e pods.EngineEvent) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Watch ended with %v, want the context's error", err)
			}
		case <-time.After(patience):
			t.Error("Watch does not end with its context")
		}
	})
	s.await(t, "EngineUp", func() bool { return s.count(pods.EngineUp, pods.Key{}) == 1 })
}

// count counts events; with EngineChanged those about the key.
func (s *suite) count(kind pods.EngineEventKind, key pods.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		if e.Kind == kind && (kind != pods.EngineChanged || e.Key == key) {
			n++
		}
	}
	return n
}

// await waits until something is so.
func (s *suite) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// instance is a pod the suite works with.
type instance struct {
	*suite
	key pods.Key
	pod *v1.Pod
}

// pod makes an instance of a pod; it is removed when the test ends.
func (s *suite) pod(t *testing.T, name string) *instance {
	t.Helper()
	s.uids[name]++
	uid := types.UID(name + "-uid-" + string(rune('0'+s.uids[name])))
	grace := int64(2)
	in := &instance{suite: s, key: pods.Key{Realm: pods.RealmLocal, Namespace: "contract", Name: name}, pod: &v1.Pod{}}
	in.pod.Name, in.pod.Namespace, in.pod.UID, in.pod.Generation = name, "contract", uid, 7
	in.pod.Spec.TerminationGracePeriodSeconds = &grace
	t.Cleanup(func() { in.clear(t) })
	return in
}

// clear removes everything of the instance, containers first.
func (in *instance) clear(t *testing.T) {
	o := in.observe(t)
	for _, c := range o.Containers {
		if err := in.Engine.Remove(context.Background(), c.ID, true); err != nil {
			t.Errorf("remove container: %v", err)
		}
	}
	for _, b := range o.Sandboxes {
		if err := in.Engine.Remove(context.Background(), b.ID, true); err != nil {
			t.Errorf("remove sandbox: %v", err)
		}
	}
}

// observe returns what the engine holds of the instance.
func (in *instance) observe(t *testing.T) pods.Observed {
	t.Helper()
	list, err := in.Engine.Observe(context.Background(), in.key)
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	for _, o := range list {
		if o.UID == in.pod.UID {
			return o
		}
	}
	return pods.Observed{UID: in.pod.UID}
}

// container returns one observed container, by its engine id.
func (in *instance) container(t *testing.T, id string) (pods.Container, bool) {
	t.Helper()
	for _, c := range in.observe(t).Containers {
		if c.ID == id {
			return c, true
		}
	}
	return pods.Container{}, false
}

func (in *instance) sandboxRequest(attempt int) pods.SandboxRequest {
	return pods.SandboxRequest{Key: in.key, Pod: in.pod, Source: "file", Digest: "digest", Attempt: attempt, Hostname: in.key.Name}
}

func (in *instance) startSandbox(t *testing.T, attempt int) pods.Sandbox {
	t.Helper()
	box, err := in.Engine.StartSandbox(context.Background(), in.sandboxRequest(attempt))
	if err != nil {
		t.Fatalf("StartSandbox: %v", err)
	}
	return box
}

// request asks for a container that runs a script, with a message file.
func (in *instance) request(t *testing.T, box, name, script string, attempt int) pods.ContainerRequest {
	t.Helper()
	file := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	image, err := in.Engine.EnsureImage(context.Background(), pods.ImageRequest{Ref: in.Image, Policy: v1.PullIfNotPresent})
	if err != nil {
		t.Fatalf("EnsureImage: %v", err)
	}
	return pods.ContainerRequest{
		Key: in.key, Pod: in.pod, Type: pods.TypeRegular, Source: "file", Digest: "digest",
		Container: &v1.Container{
			Name: name, Image: in.Image, TerminationMessagePath: messagePath, TerminationMessagePolicy: v1.TerminationMessageReadFile,
		},
		Attempt: attempt, Restarts: attempt, SandboxID: box, Image: image,
		Command:   []string{"/bin/sh", "-c", script},
		Mounts:    []pods.Mount{{HostPath: file, ContainerPath: messagePath}},
		Resources: pods.Resources{CPUShares: 2},
	}
}

func (in *instance) start(t *testing.T, req pods.ContainerRequest) string {
	t.Helper()
	id, err := in.Engine.StartContainer(context.Background(), req)
	if err != nil {
		t.Fatalf("StartContainer: %v", err)
	}
	return id
}

// awaitExit waits until a container has ended and returns it.
func (in *instance) awaitExit(t *testing.T, id string) pods.Container {
	t.Helper()
	var c pods.Container
	in.await(t, "the end of container "+id, func() bool {
		var ok bool
		c, ok = in.container(t, id)
		if !ok {
			t.Fatalf("container %s is not observed", id)
		}
		return c.State == pods.StateExited
	})
	return c
}

// wantReason checks that an error is a pods.EngineError with a reason.
func wantReason(t *testing.T, err error, reasons ...string) {
	t.Helper()
	var e *pods.EngineError
	if !errors.As(err, &e) {
		t.Errorf("error %v, want one with reason %v", err, reasons)
		return
	}
	for _, r := range reasons {
		if e.Reason == r {
			return
		}
	}
	t.Errorf("reason %s (%v), want %v", e.Reason, err, reasons)
}
