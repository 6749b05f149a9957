package docker

import (
	"context"
	"fmt"
	"io"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// EnsureImage has the image at hand, pulling it when the policy asks for it. It
// blocks for as long as the pull takes; there is no deadline but ctx. An empty
// policy is IfNotPresent. Looking up what is there never waits for a pull.
//
// Several calls for one image share one pull, which goes on when the ctx of
// some of them ends. req.Pulling is called, if it is set, once it is clear that
// the registry is needed.
//
// Failures are *pods.EngineError with InvalidImageName, ImageInspectError,
// ErrImageNeverPull, or ErrImagePull or RegistryUnavailable with the registry's
// words.
func (e *Engine) EnsureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error) {
	return e.ensureImage(ctx, req, false)
}

// ensureImage is EnsureImage; urgent pulls do not wait for others.
func (e *Engine) ensureImage(ctx context.Context, req pods.ImageRequest, urgent bool) (pods.Image, error) {
	named, err := parseImage(req.Ref)
	if err != nil {
		return pods.Image{}, &pods.EngineError{
			Reason: pods.ReasonInvalidImageName,
			Err:    fmt.Errorf("apply default tag to image %q: %w", req.Ref, err),
		}
	}
	if req.Policy != v1.PullAlways {
		found, ok, err := e.findImage(ctx, named, req.Ref)
		if err != nil {
			return pods.Image{}, &pods.EngineError{Reason: pods.ReasonImageInspectError, Err: err}
		}
		if ok {
			return found, nil
		}
		if req.Policy == v1.PullNever {
			return pods.Image{}, &pods.EngineError{
				Reason: pods.ReasonErrImageNeverPull,
				Err:    fmt.Errorf("container image %q is not present with pull policy of Never", req.Ref),
			}
		}
	}
	if req.Pulling != nil {
		req.Pulling()
	}
	return e.pullImage(ctx, named, req.Ref, urgent)
}

// pullImage pulls an image and looks it up.
func (e *Engine) pullImage(ctx context.Context, named reference.Named, ref string, urgent bool) (pods.Image, error) {
	since := time.Now()
	logins, lookupErr := e.logins.For(ctx, named)
	if lookupErr != nil {
		e.log.Warn().Err(lookupErr).Str("image", ref).Msg("some credentials cannot be used")
	}
	pulled, err := e.puller.pull(ctx, pullRequest{named: named, ref: ref, credentials: logins, urgent: urgent})
	if err != nil {
		return pods.Image{}, pullError(ref, err, lookupErr)
	}
	found, ok, err := e.findImage(ctx, named, ref)
	if err != nil {
		return pods.Image{}, &pods.EngineError{Reason: pods.ReasonImageInspectError, Err: err}
	}
	if !ok {
		return pods.Image{}, &pods.EngineError{
			Reason: pods.ReasonErrImagePull,
			Err:    fmt.Errorf("pull image %q: the engine reports success and has no such image", ref),
		}
	}
	found.Pulled, found.Waited = true, time.Since(since)
	found.Took = min(pulled.took, found.Waited) // a pull that was joined began earlier
	if pulled.first {
		e.log.Info().Str("image", ref).Dur("took", pulled.took).Int64("bytes", found.Size).Msg("image pulled")
	}
	return found, nil
}

// findImage looks an image up by name and remembers how a status names it.
func (e *Engine) findImage(ctx context.Context, named reference.Named, ref string) (pods.Image, bool, error) {
	in, err := e.api().ImageInspect(ctx, lookup(named))
	if cerrdefs.IsNotFound(err) {
		return pods.Image{}, false, nil
	}
	if err != nil {
		return pods.Image{}, false, failed(fmt.Sprintf("inspect image %q", ref), err)
	}
	if !matches(named, in.RepoTags, in.RepoDigests) {
		return pods.Image{}, false, nil
	}
	e.forms.put(in.ID, ref, imageForm(named, in.ID, in.RepoDigests))
	return pods.Image{Ref: ref, ID: in.ID, Size: in.Size, Warning: e.runs().mismatch(ref, in.Os, in.Architecture)}, true, nil
}

// runs is the platform of the engine; empty until it was probed.
func (e *Engine) runs() platform {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.platform
}

// lookup is the name an image is found by: of a name with tag and digest the
// engine keeps only the digest.
func lookup(named reference.Named) string {
	if digested, ok := named.(reference.Digested); ok {
		if canonical, err := reference.WithDigest(reference.TrimNamed(named), digested.Digest()); err == nil {
			return canonical.String()
		}
	}
	return named.String()
}

// fetchImage begins a pull. The engine answers 200 at once and reports what
// goes wrong in the stream.
func (e *Engine) fetchImage(ctx context.Context, name, auth string) (io.ReadCloser, error) {
	return e.api().ImagePull(ctx, name, image.PullOptions{RegistryAuth: auth})
}

// imageForm returns how a status names a resolved image.
func (e *Engine) imageForm(ctx context.Context, img pods.Image) (string, error) {
	if form, ok := e.forms.get(img.ID, img.Ref); ok {
		return form, nil
	}
	in, err := e.api().ImageInspect(ctx, img.ID)
	if err != nil {
		return "", failed(fmt.Sprintf("inspect image %q", img.Ref), err)
	}
	named, err := parseImage(img.Ref)
	if err != nil {
		return "docker://" + in.ID, nil
	}
	form := imageForm(named, in.ID, in.RepoDigests)
	e.forms.put(img.ID, img.Ref, form)
	return form, nil
}
