package docker

import (
	"context"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

const (
	defaultStopSignal = "SIGTERM"
	// removeTimeout bounds waiting for a removal that is under way elsewhere.
	removeTimeout = 30 * time.Second
	removeTries   = 4
	removeWait    = 200 * time.Millisecond
)

// Signal sends a signal to the first process of a container; "" is the
// container's own stop signal. A container that has ended, has not started or
// is gone is no error. KILL blocks until the container is dead.
//
// It goes through the kill call and never through stop: a stop whose client
// goes away kills at once on some engines, and its grace cannot be shortened.
func (e *Engine) Signal(ctx context.Context, id, signal string) error {
	owned, err := e.owned(ctx, id)
	if err != nil || !owned {
		return err
	}
	if signal == "" {
		if signal, err = e.stopSignal(ctx, id); err != nil || signal == "" {
			return err
		}
	}
	err = e.api().ContainerKill(ctx, id, signal)
	switch {
	case cerrdefs.IsNotFound(err):
		e.index.drop(id)
		return nil
	case cerrdefs.IsConflict(err): // it does not run
		return nil
	}
	return failed("signal container", err)
}

// stopSignal returns the stop signal of a container; "" when it is gone.
func (e *Engine) stopSignal(ctx context.Context, id string) (string, error) {
	if signal := e.index.stopSignal(id); signal != "" {
		return signal, nil
	}
	in, err := e.api().ContainerInspect(ctx, id)
	if cerrdefs.IsNotFound(err) {
		e.index.drop(id)
		return "", nil
	}
	if err != nil {
		return "", failed("inspect container", err)
	}
	return stopSignalOf(in), nil
}

// owned makes sure that an id is one of ours before something is done to it.
// Ids come from Observe, so this asks the engine only when the index was lost.
func (e *Engine) owned(ctx context.Context, id string) (bool, error) {
	if e.index.known(id) {
		return true, nil
	}
	in, err := e.api().ContainerInspect(ctx, id)
	if cerrdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, failed("inspect container", err)
	}
	if in.ContainerJSONBase == nil || in.Config == nil {
		return false, fmt.Errorf("inspect container %s: the engine's answer is incomplete", id)
	}
	who, ok := identify(e.cfg.Owner, in.Name, in.Config.Labels)
	if !ok {
		return false, fmt.Errorf("touch container %s: it does not belong to this islet", id)
	}
	e.index.add(in.ID, in.Name[1:], who)
	return true, nil
}

// Remove removes a container or sandbox with its anonymous volumes; force kills
// it first. One that is gone is no error; one that runs is, without force. It
// returns when the container is gone.
func (e *Engine) Remove(ctx context.Context, id string, force bool) error {
	owned, err := e.owned(ctx, id)
	if err != nil || !owned {
		return err
	}
	for try := 1; ; try++ {
		err := e.api().ContainerRemove(ctx, id, container.RemoveOptions{RemoveVolumes: true, Force: force})
		switch {
		case err == nil || cerrdefs.IsNotFound(err):
			e.index.drop(id)
			return nil
		case cerrdefs.IsConflict(err):
			return e.awaitRemoval(ctx, id, failed("remove container", err))
		case !force || !cerrdefs.IsInternal(err) || try == removeTries:
			return failed("remove container", err)
		}
		// A forced removal that meets the container's own end, or a busy
		// mount, fails once and works the next time.
		if err := sleep(ctx, removeWait); err != nil {
			return failed("remove container", err)
		}
	}
}

// awaitRemoval waits for a removal by somebody else. When there is none, the
// conflict was about something else and is returned.
func (e *Engine) awaitRemoval(ctx context.Context, id string, conflict error) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		in, err := e.api().ContainerInspect(ctx, id)
		switch {
		case cerrdefs.IsNotFound(err):
			e.index.drop(id)
			return nil
		case err != nil:
			return failed("inspect container", err)
		case in.ContainerJSONBase == nil || in.State == nil || in.State.Status != container.StateRemoving:
			return conflict
		}
		if err := sleep(ctx, wait); err != nil {
			return failed("await removal of container", err)
		}
	}
}
