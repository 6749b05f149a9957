package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// Exit codes and the signal of a killed process.
const (
	codeKilled      = 137
	codeStartFailed = 128
	logBytes        = 2048
)

// StartContainer creates and starts a container.
func (f *Fake) StartContainer(ctx context.Context, req pods.ContainerRequest) (string, error) {
	var id string
	made := Call{
		Method: "StartContainer", Key: req.Key, UID: req.Pod.UID, Container: req.Container.Name,
		Attempt: req.Attempt, Ref: req.Image.Ref,
	}
	err := f.call(ctx, made, func(ctx context.Context, c *Call) error {
		run, err := f.createContainer(req)
		if err != nil {
			return err
		}
		if err := f.start(ctx, run, run.does.StartTakes, run.does.StartHangs); err != nil {
			return &pods.EngineError{Reason: pods.ReasonRunContainer, Err: err}
		}
		id, c.ID = run.id, run.id
		return nil
	})
	return id, err
}

// createContainer creates a container or finds the one of the same run.
func (f *Fake) createContainer(req pods.ContainerRequest) (*fakeContainer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := 0
	for _, c := range f.containers {
		if c.container == nil || c.key != req.Key || c.uid != req.Pod.UID || c.name() != req.Container.Name {
			continue
		}
		if c.attempt() == req.Attempt {
			return c, nil
		}
		runs++
	}
	does := f.behaviourLocked(req, runs)
	if does.CreateFails != "" {
		return nil, &pods.EngineError{Reason: pods.ReasonCreateContainer, Err: errors.New("create container: " + does.CreateFails)}
	}
	f.made++
	c := &fakeContainer{
		id: fmt.Sprintf("%s-%04d", req.Container.Name, f.made), key: req.Key, uid: req.Pod.UID,
		does: does, policy: req.Container.TerminationMessagePolicy,
		container: &pods.Container{
			SandboxID: req.SandboxID, Name: req.Container.Name, Type: req.Type, Attempt: req.Attempt, Restarts: req.Restarts,
			Generation: req.Pod.Generation, Hash: pods.ContainerHash(req.Container), Boot: f.facts.BootID,
			State: pods.StateCreated, Image: req.Container.Image, ImageID: "docker://" + req.Image.ID, CreatedAt: time.Now(),
		},
	}
	c.container.ID = c.id
	f.containers[c.id] = c
	return c, nil
}

// behaviourLocked picks the behaviour of a run; the runs before it are counted
// by attempt where old ones were removed.
func (f *Fake) behaviourLocked(req pods.ContainerRequest, runs int) Behaviour {
	program := f.programs[req.Container.Image]
	if len(program) == 0 {
		return f.behave(req)
	}
	return program[min(max(runs, req.Attempt), len(program)-1)]
}

func (f *Fake) startedContainerLocked(c *fakeContainer) {
	words, code := c.does.StartFails, c.does.StartCode
	if box := f.containers[c.container.SandboxID]; box == nil || box.state() != pods.StateRunning {
		f.violateLocked("pod %s: container %s started in a sandbox that does not run", c.key, c.id)
		words, code = "cannot join network of a non running container: "+c.container.SandboxID, codeStartFailed
	}
	if words != "" {
		if code == 0 {
			code = codeStartFailed
		}
		r := c.container
		r.State, r.Reason, r.ExitCode, r.Message = pods.StateExited, pods.ReasonContainerCannotRun, code, words
		r.StartedAt, r.FinishedAt = r.CreatedAt, r.CreatedAt
		c.startErr = errors.New("start container: " + words)
		return
	}
	for _, other := range f.containers {
		if other != c && other.container != nil && other.key == c.key && other.name() == c.name() && other.state() == pods.StateRunning {
			f.violateLocked("pod %s: two live copies of container %s: %s (uid %s) and %s (uid %s)",
				c.key, c.name(), other.id, other.uid, c.id, c.uid)
		}
	}
	c.container.State = pods.StateRunning
	c.container.StartedAt = time.Now()
	if c.does.Exits {
		c.life = time.AfterFunc(c.does.Runs, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.exitLocked(c, c.does.ExitCode, c.does.OOM, "")
		})
	}
}

// exitLocked ends what runs.
func (f *Fake) exitLocked(c *fakeContainer, code int, oom bool, words string) {
	if f.containers[c.id] != c || c.state() != pods.StateRunning {
		return
	}
	c.quiet()
	if c.sandbox != nil {
		c.sandbox.State, c.sandbox.IPs = pods.StateExited, nil
		f.changedLocked(c.key)
		return
	}
	r := c.container
	r.State, r.ExitCode, r.FinishedAt = pods.StateExited, code, time.Now()
	switch {
	case oom:
		r.Reason = pods.ReasonOOMKilled
	case code == 0:
		r.Reason = pods.ReasonCompleted
	default:
		r.Reason = pods.ReasonError
	}
	if code > codeStartFailed && code <= codeStartFailed+64 {
		r.Signal = code - codeStartFailed
	}
	left := c.does.Message
	if left == "" && code != 0 && c.policy == v1.TerminationMessageFallbackToLogsOnError {
		left = c.does.Log[max(0, len(c.does.Log)-logBytes):]
	}
	r.Message = words
	switch {
	case words == "":
		r.Message = left
	case left != "":
		r.Message += ": " + left
	}
	f.changedLocked(c.key)
}

// quiet stops the timers of a container.
func (c *fakeContainer) quiet() {
	for _, t := range []*time.Timer{c.life, c.stop} {
		if t != nil {
			t.Stop()
		}
	}
}

// Signal sends a signal. KILL ends a container at once, TERM and "" as its
// behaviour says; others do nothing.
func (f *Fake) Signal(ctx context.Context, id, signal string) error {
	return f.call(ctx, f.about("Signal", id, signal, false), func(context.Context, *Call) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		c := f.containers[id]
		if c == nil || c.state() != pods.StateRunning {
			return nil
		}
		switch strings.TrimPrefix(signal, "SIG") {
		case "KILL":
			if c.does.Unkillable {
				return errors.New("signal container: tried to kill container, but did not receive an exit event")
			}
			f.exitLocked(c, codeKilled, false, "")
		case "", "TERM":
			if c.does.IgnoresTerm || c.does.Unkillable || c.stop != nil {
				return nil
			}
			if c.does.StopTakes <= 0 {
				f.exitLocked(c, c.does.StopCode, false, "")
				return nil
			}
			c.stop = time.AfterFunc(c.does.StopTakes, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.exitLocked(c, c.does.StopCode, false, "")
			})
		}
		return nil
	})
}

// Remove removes a container or sandbox.
func (f *Fake) Remove(ctx context.Context, id string, force bool) error {
	return f.call(ctx, f.about("Remove", id, "", force), func(context.Context, *Call) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		c := f.containers[id]
		switch {
		case c == nil:
			return nil
		case c.does.Unkillable && c.state() == pods.StateRunning:
			return errors.New("remove container: could not kill it")
		case !force && c.state() == pods.StateRunning:
			return fmt.Errorf("remove container: you cannot remove a running container %s", id)
		}
		f.removeLocked(c)
		return nil
	})
}

func (f *Fake) removeLocked(c *fakeContainer) {
	c.quiet()
	delete(f.containers, c.id)
	if c.started != nil && c.state() == pods.StateCreated {
		c.startErr = errors.New("start container: it was removed")
		close(c.started)
	}
	f.changedLocked(c.key)
}

// about is a call on an id, with what the id stands for.
func (f *Fake) about(method, id, signal string, force bool) Call {
	out := Call{Method: method, ID: id, Signal: signal, Force: force}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		out.Key, out.UID, out.Container, out.Attempt = c.key, c.uid, c.name(), c.attempt()
	}
	return out
}
