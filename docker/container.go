package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/islet-run/islet/pods"
)

// StartContainer creates and starts a container and returns its engine id.
//
// A container of the same attempt that an interrupted call left is taken over:
// it is started when it never was, and returned as it is when it runs or has
// ended, for a run is never repeated.
//
// Failures are *pods.EngineError with CreateContainerConfigError (the request
// is incomplete), CreateContainerError or RunContainerError. A container whose
// start failed is left for Observe to show.
func (e *Engine) StartContainer(ctx context.Context, req pods.ContainerRequest) (string, error) {
	if err := complete(req); err != nil {
		return "", &pods.EngineError{Reason: pods.ReasonCreateContainerConfig, Err: err}
	}
	form, err := e.imageForm(ctx, req.Image)
	if err != nil {
		return "", &pods.EngineError{Reason: pods.ReasonCreateContainer, Err: err}
	}
	s := e.settings()
	sp := containerSpec(s, form, req)
	e.index.begin(sp.name)
	defer e.index.end(sp.name)
	for range takeovers {
		h, err := e.create(ctx, sp)
		if err != nil {
			return "", &pods.EngineError{Reason: pods.ReasonCreateContainer, Err: err}
		}
		if h.found {
			st := h.state(s)
			switch {
			case st.reason == pods.ReasonContainerCannotRun:
				return "", &pods.EngineError{Reason: pods.ReasonRunContainer, Err: errors.New("start container: " + st.message)}
			case st.state == pods.StateRunning || st.state == pods.StateExited:
				return h.id, nil
			case !startable(st, h.who, sp.who):
				if err := e.Remove(ctx, h.id, true); err != nil {
					return "", &pods.EngineError{Reason: pods.ReasonCreateContainer, Err: err}
				}
				continue
			}
		}
		if err := e.start(ctx, h.id); err != nil {
			return "", &pods.EngineError{Reason: pods.ReasonRunContainer, Err: err}
		}
		return h.id, nil
	}
	return "", &pods.EngineError{
		Reason: pods.ReasonCreateContainer,
		Err:    fmt.Errorf("create container: its name %s is taken again each time it is cleared", sp.name),
	}
}

// complete reports what a request lacks that no engine could do without.
func complete(req pods.ContainerRequest) error {
	switch {
	case req.Pod == nil || req.Container == nil:
		return errors.New("configure container: no spec given")
	case req.SandboxID == "":
		return errors.New("configure container: no sandbox given")
	case req.Image.ID == "":
		return fmt.Errorf("configure container: image %q is not resolved", req.Container.Image)
	}
	return nil
}
