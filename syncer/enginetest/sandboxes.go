package enginetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/islet-run/islet/pods"
)

// StartSandbox creates and starts a sandbox.
func (f *Fake) StartSandbox(ctx context.Context, req pods.SandboxRequest) (pods.Sandbox, error) {
	var out pods.Sandbox
	made := Call{Method: "StartSandbox", Key: req.Key, UID: req.Pod.UID, Attempt: req.Attempt}
	err := f.call(ctx, made, func(ctx context.Context, c *Call) error {
		box, does := f.createSandbox(req)
		c.ID = box.id
		if err := f.start(ctx, box, does.StartTakes, does.StartHangs); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		out = *box.sandbox
		return nil
	})
	if err == nil || errors.Is(err, pods.ErrEngineAway) {
		return out, err
	}
	return out, &pods.EngineError{Reason: pods.ReasonFailedCreatePodSandBox, Err: err}
}

// createSandbox creates a sandbox, or finds one of the same attempt that runs
// or can still be started; another one of the attempt is replaced.
func (f *Fake) createSandbox(req pods.SandboxRequest) (*fakeContainer, SandboxBehaviour) {
	f.mu.Lock()
	does := f.sandboxes(req)
	for _, c := range f.containers {
		if c.sandbox == nil || c.uid != req.Pod.UID || c.key != req.Key || c.attempt() != req.Attempt {
			continue
		}
		if c.state() == pods.StateExited {
			f.removeLocked(c)
			continue
		}
		f.mu.Unlock()
		return c, does
	}
	f.made++
	box := &fakeContainer{
		id: fmt.Sprintf("sandbox-%04d", f.made), key: req.Key, uid: req.Pod.UID,
		does: Behaviour{StartFails: does.StartFails},
		sandbox: &pods.Sandbox{
			Attempt: req.Attempt, State: pods.StateCreated, HostNetwork: req.Pod.Spec.HostNetwork,
			Boot: f.facts.BootID, CreatedAt: time.Now(),
		},
	}
	box.sandbox.ID = box.id
	f.containers[box.id] = box
	f.mu.Unlock()
	return box, does
}

// start starts what was created and waits until that has ended. The engine
// goes on with it when the caller gives up.
func (f *Fake) start(ctx context.Context, c *fakeContainer, takes time.Duration, hangs bool) error {
	f.mu.Lock()
	if c.started == nil {
		c.started = make(chan struct{})
		switch {
		case hangs:
		case takes > 0:
			time.AfterFunc(takes, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.startedLocked(c)
			})
		default:
			f.startedLocked(c)
		}
	}
	started := c.started
	f.mu.Unlock()
	if err := await(ctx, f, started); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.startErr
}

// startedLocked is the end of a start, good or bad.
func (f *Fake) startedLocked(c *fakeContainer) {
	if f.containers[c.id] != c || c.state() != pods.StateCreated {
		return // removed meanwhile, which has ended the start
	}
	if c.sandbox != nil {
		f.startedSandboxLocked(c)
	} else {
		f.startedContainerLocked(c)
	}
	close(c.started)
	f.changedLocked(c.key)
}

func (f *Fake) startedSandboxLocked(c *fakeContainer) {
	if words := c.does.StartFails; words != "" {
		c.sandbox.State = pods.StateExited
		c.startErr = errors.New("start container: " + words)
		return
	}
	for _, other := range f.containers {
		if other.sandbox != nil && other.key == c.key && other.state() == pods.StateRunning {
			f.violateLocked("pod %s: sandbox %s (uid %s, attempt %d) started while %s (uid %s, attempt %d) runs",
				c.key, c.id, c.uid, c.attempt(), other.id, other.uid, other.attempt())
		}
	}
	c.sandbox.State = pods.StateRunning
	c.sandbox.StartedAt = time.Now()
	if !c.sandbox.HostNetwork {
		f.made++
		c.sandbox.IPs = []string{fmt.Sprintf("10.88.%d.%d", f.made/250, f.made%250+2)}
	}
}
