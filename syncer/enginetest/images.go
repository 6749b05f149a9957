package enginetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// imageSize is the size of every image.
const imageSize = 4 << 20

// EnsureImage looks an image up or pulls it, as SetImage said.
func (f *Fake) EnsureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error) {
	var out pods.Image
	err := f.call(ctx, Call{Method: "EnsureImage", Ref: req.Ref}, func(ctx context.Context, _ *Call) (err error) {
		out, err = f.ensureImage(ctx, req)
		return err
	})
	return out, err
}

func (f *Fake) ensureImage(ctx context.Context, req pods.ImageRequest) (pods.Image, error) {
	if _, err := reference.ParseNormalizedNamed(req.Ref); err != nil {
		return pods.Image{}, &pods.EngineError{Reason: pods.ReasonInvalidImageName, Err: err}
	}
	image := f.image(req.Ref)
	f.mu.Lock()
	present, takes := image.present, image.PullTakes
	f.mu.Unlock()
	if present && req.Policy != v1.PullAlways {
		return pods.Image{Ref: req.Ref, ID: image.id, Size: imageSize}, nil
	}
	if req.Policy == v1.PullNever {
		return pods.Image{}, &pods.EngineError{
			Reason: pods.ReasonErrImageNeverPull,
			Err:    fmt.Errorf("container image %q is not present with pull policy of Never", req.Ref),
		}
	}
	if req.Pulling != nil {
		req.Pulling()
	}
	if err := f.wait(ctx, takes); err != nil {
		return pods.Image{}, &pods.EngineError{Reason: pods.ReasonErrImagePull, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	image.pulls++
	if image.PullFails < 0 || image.pulls <= image.PullFails {
		words := image.Error
		if words == "" {
			words = "manifest unknown"
		}
		return pods.Image{}, &pods.EngineError{
			Reason: cmp.Or(image.Reason, pods.ReasonErrImagePull),
			Err:    errors.New(words),
		}
	}
	image.present = true
	return pods.Image{Ref: req.Ref, ID: image.id, Size: imageSize, Pulled: true, Took: takes, Waited: takes}, nil
}

func (f *Fake) image(ref string) *fakeImage {
	f.mu.Lock()
	defer f.mu.Unlock()
	image := f.images[ref]
	if image == nil {
		image = &fakeImage{id: imageID(ref), present: true}
		f.images[ref] = image
	}
	return image
}

func imageID(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return "sha256:" + hex.EncodeToString(sum[:])
}
