package enginetest

import (
	"context"

	"github.com/islet-run/islet/pods"
)

// Engine is the interface of the same name in package syncer; a test keeps the
// two alike.
type Engine interface {
	Watch(ctx context.Context, notify func(pods.EngineEvent)) error
	List(ctx context.Context) ([]pods.Found, error)
	Observe(ctx context.Context, key pods.Key) ([]pods.Observed, error)
	Facts() pods.Facts
	EnsureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error)
	StartSandbox(ctx context.Context, req pods.SandboxRequest) (pods.Sandbox, error)
	StartContainer(ctx context.Context, req pods.ContainerRequest) (id string, err error)
	Signal(ctx context.Context, id, signal string) error
	Remove(ctx context.Context, id string, force bool) error
}
