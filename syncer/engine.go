package syncer

import (
	"context"

	"github.com/islet-run/islet/pods"
)

// Engine runs sandboxes and containers. The docker package implements it;
// syncer/enginetest has a fake and the contract suite that both pass.
//
// Every method may be called from many goroutines. Methods block until the
// engine answered or ctx ended; an engine that carries on after ctx ended is
// looked at again by Observe. While the engine is away methods fail with an
// error that satisfies errors.Is(err, pods.ErrEngineAway).
type Engine interface {
	// Watch delivers hints until ctx ends: one EngineUp as soon as the engine
	// answers and after every reconnect, EngineDown once per outage,
	// EngineChanged when something of a pod of this owner changed. notify must
	// not block.
	Watch(ctx context.Context, notify func(pods.EngineEvent)) error
	// List returns every pod instance of this owner that the engine holds
	// anything of.
	List(ctx context.Context) ([]pods.Found, error)
	// Observe returns all that the engine holds of a pod, per instance.
	// Instances of which it holds nothing are absent.
	Observe(ctx context.Context, key pods.Key) ([]pods.Observed, error)
	// Facts returns what probing found; valid after the first EngineUp.
	Facts() pods.Facts

	// EnsureImage has the image at hand, pulling it as the policy says. What is
	// present is found without waiting for pulls. The end of ctx ends this call
	// and no pull that others wait for.
	// Failures are *pods.EngineError with ErrImagePull, RegistryUnavailable,
	// ErrImageNeverPull, InvalidImageName or ImageInspectError.
	EnsureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error)
	// StartSandbox creates and starts a sandbox and returns it as observed,
	// with its addresses. What a failed call leaves behind is shown by Observe.
	StartSandbox(ctx context.Context, req pods.SandboxRequest) (pods.Sandbox, error)
	// StartContainer creates and starts a container and returns its engine id.
	// Failures are *pods.EngineError with CreateContainerConfigError,
	// CreateContainerError or RunContainerError. A call that finds its own
	// container of the same attempt from an earlier, interrupted call takes
	// that over instead of making a second one.
	StartContainer(ctx context.Context, req pods.ContainerRequest) (id string, err error)
	// Signal sends a signal; "" is the stop signal of the container. A
	// container that has ended or is gone is no error.
	Signal(ctx context.Context, id, signal string) error
	// Remove removes a container or sandbox with its anonymous volumes; force
	// kills it first. One that is gone is no error.
	Remove(ctx context.Context, id string, force bool) error
}

// Cgroups looks after the cgroups of pods.
type Cgroups interface {
	// Parent returns the cgroup parent of a pod in the form the engine wants.
	Parent(qos, uid string) string
	// Remove removes the empty cgroup tree of a pod in every hierarchy.
	// Missing ones are no error; one that is still in use is.
	Remove(ctx context.Context, qos, uid string) error
}
