package docker

import (
	"bytes"
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/pause"
	"github.com/islet-run/islet/pods"
)

// sandboxImage names the image that sandboxes are created from.
func (e *Engine) sandboxImage() (string, error) {
	if e.cfg.PauseImage != "" {
		return e.cfg.PauseImage, nil
	}
	built, err := pause.Load()
	return built.Ref, err
}

// ensureSandboxImage makes sure the engine has that image: ours is loaded, a
// configured one is pulled, with the same credentials as any other image. That
// pull waits for no other, as every pod needs it, and goes on when nobody waits
// for it: each start of a sandbox waits for a bounded time only.
func (e *Engine) ensureSandboxImage(ctx context.Context) error {
	if e.cfg.PauseImage == "" {
		return e.once(ctx, "sandbox image", e.loadPause)
	}
	_, err := e.ensureImage(ctx, pods.ImageRequest{Ref: e.cfg.PauseImage, Policy: v1.PullIfNotPresent}, true)
	return err
}

// loadPause loads the built-in image unless the engine has it: its tag says
// what is in it.
func (e *Engine) loadPause(ctx context.Context) error {
	built, err := pause.Load()
	if err != nil {
		return err
	}
	_, err = e.api().ImageInspect(ctx, built.Ref)
	if err == nil {
		return nil
	}
	if !cerrdefs.IsNotFound(err) {
		return failed("inspect pause image", err)
	}
	loaded, err := e.api().ImageLoad(ctx, bytes.NewReader(built.Archive), client.ImageLoadWithQuiet(true))
	if err != nil {
		return failed("load pause image", err)
	}
	defer loaded.Body.Close()
	if err := drain(loaded.Body); err != nil {
		return failed("load pause image", err)
	}
	if _, err := e.api().ImageInspect(ctx, built.Ref); err != nil {
		return failed(fmt.Sprintf("find pause image %s after loading it", built.Ref), err)
	}
	return nil
}
