package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// EnsureImage has the image at hand, pulling it anonymously when the policy
// asks for it. It blocks for as long as the pull takes; there is no deadline
// but ctx. An empty policy is IfNotPresent.
//
// Failures are *pods.EngineError with InvalidImageName, ImageInspectError,
// ErrImageNeverPull or ErrImagePull, the last with the registry's words.
func (e *Engine) EnsureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error) {
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
	if err := e.pull(ctx, named); err != nil {
		return pods.Image{}, engineError(pods.ReasonErrImagePull, fmt.Sprintf("pull image %q", req.Ref), err)
	}
	found, ok, err := e.findImage(ctx, named, req.Ref)
	if err != nil {
		return pods.Image{}, &pods.EngineError{Reason: pods.ReasonImageInspectError, Err: err}
	}
	if !ok {
		return pods.Image{}, &pods.EngineError{
			Reason: pods.ReasonErrImagePull,
			Err:    fmt.Errorf("pull image %q: the engine reports success and has no such image", req.Ref),
		}
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
	return pods.Image{Ref: ref, ID: in.ID}, true, nil
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

// pull pulls an image. The engine answers 200 at once and reports what goes
// wrong in the stream, which must be read to its end: closing it cancels.
func (e *Engine) pull(ctx context.Context, named reference.Named) error {
	stream, err := e.api().ImagePull(ctx, named.String(), image.PullOptions{})
	if err != nil {
		return err
	}
	defer stream.Close()
	return drain(stream)
}

// progress is what matters of one message of a stream. The client's own type
// for it does not promise the older of the two places an error may stand in.
type progress struct {
	Detail struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
	Error string `json:"error"`
}

// drain reads a stream of progress to its end and returns the first error told.
func drain(stream io.Reader) error {
	var told error
	for decoder := json.NewDecoder(stream); ; {
		var m progress
		err := decoder.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return told
		case err != nil && told != nil:
			return told
		case err != nil:
			return err
		case told != nil:
		case m.Detail.Message != "":
			told = errors.New(m.Detail.Message)
		case m.Error != "":
			told = errors.New(m.Error)
		}
	}
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
