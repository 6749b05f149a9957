package docker

import (
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/islet-run/islet/pods"
)

// takeovers bounds how often what an earlier call left is cleared away before
// one start.
const takeovers = 3

// StartSandbox creates and starts a sandbox and returns it with its addresses.
//
// A sandbox of the same attempt that an interrupted call left is taken over
// when it runs or can be started, and else replaced: nothing can live in it.
// Failures are *pods.EngineError with FailedCreatePodSandBox; a sandbox whose
// start failed is left for Observe to show.
func (e *Engine) StartSandbox(ctx context.Context, req pods.SandboxRequest) (pods.Sandbox, error) {
	sandbox, err := e.startSandbox(ctx, req)
	if err != nil {
		return pods.Sandbox{}, &pods.EngineError{Reason: pods.ReasonFailedCreatePodSandBox, Err: err}
	}
	return sandbox, nil
}

func (e *Engine) startSandbox(ctx context.Context, req pods.SandboxRequest) (pods.Sandbox, error) {
	image, err := e.sandboxImage()
	if err != nil {
		return pods.Sandbox{}, err
	}
	onNetwork := !req.Pod.Spec.HostNetwork
	if onNetwork && !e.networkReady.Load() {
		if err := e.ensureNetwork(ctx); err != nil {
			return pods.Sandbox{}, err
		}
	}
	s := e.settings()
	sp := sandboxSpec(s, image, req)
	e.index.begin(sp.name)
	defer e.index.end(sp.name)
	id, err := e.runSandbox(ctx, s, sp)
	if cerrdefs.IsNotFound(err) {
		id, err = e.rerunSandbox(ctx, s, sp, id, onNetwork)
	}
	if err != nil {
		return pods.Sandbox{}, err
	}
	in, err := e.api().ContainerInspect(ctx, id)
	if err != nil {
		return pods.Sandbox{}, failed("inspect sandbox", err)
	}
	sandbox := sandboxOf(s, sp.who, in)
	if sandbox.State != pods.StateRunning {
		return pods.Sandbox{}, fmt.Errorf("start sandbox: it ended at once with code %d", in.State.ExitCode)
	}
	e.index.learn(id, 0, stopSignalOf(in), nil)
	return sandbox, nil
}

// runSandbox returns the id of a running sandbox. With an error, the id is that
// of the sandbox that did not start, if any.
func (e *Engine) runSandbox(ctx context.Context, s settings, sp spec) (string, error) {
	for range takeovers {
		h, err := e.create(ctx, sp)
		if err != nil {
			return "", err
		}
		if h.found {
			st := h.state(s)
			if st.state == pods.StateRunning {
				return h.id, nil
			}
			if !startable(st, h.who, sp.who) {
				if err := e.Remove(ctx, h.id, true); err != nil {
					return "", err
				}
				continue
			}
		}
		return h.id, e.start(ctx, h.id)
	}
	return "", fmt.Errorf("create sandbox: its name %s is taken again each time it is cleared", sp.name)
}

// rerunSandbox tries anew after the image or the network turned out to be
// missing: somebody removed it since it was made ready.
func (e *Engine) rerunSandbox(ctx context.Context, s settings, sp spec, broken string, onNetwork bool) (string, error) {
	if broken != "" {
		if err := e.Remove(ctx, broken, true); err != nil {
			return "", err
		}
	}
	if err := e.ensureSandboxImage(ctx); err != nil {
		return "", err
	}
	if onNetwork {
		e.networkReady.Store(false)
		if err := e.ensureNetwork(ctx); err != nil {
			return "", err
		}
	}
	return e.runSandbox(ctx, s, sp)
}
