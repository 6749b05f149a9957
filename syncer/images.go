package syncer

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// The reasons and messages of events about images are the kubelet's: people,
// and programs, look for them.
const (
	eventPulling       = "Pulling"
	eventPulled        = "Pulled"
	eventFailed        = "Failed"
	eventBackOff       = "BackOff"
	eventInspectFailed = "InspectFailed"
	eventImagePlatform = "ImagePlatform" // islet's own
)

func (w *worker) ensureImage(pod *v1.Pod, a pods.Action) func(context.Context) (pods.Image, error) {
	c, _ := pods.ContainerByName(pod, a.Container)
	return func(ctx context.Context) (pods.Image, error) {
		return w.s.Engine.EnsureImage(ctx, pods.ImageRequest{
			Ref: c.Image, Policy: c.ImagePullPolicy,
			Pulling: func() {
				w.s.Recorder.Record(w.key, a.UID, EventNormal, eventPulling, a.Container, fmt.Sprintf("Pulling image %q", c.Image))
			},
		})
	}
}

// imageReady says that an image is at hand, and how it came.
func (w *worker) imageReady(a pods.Action, image pods.Image) {
	message := fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image.Ref)
	if image.Pulled {
		message = fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.", image.Ref,
			image.Took.Truncate(time.Millisecond), image.Waited.Truncate(time.Millisecond), image.Size)
	}
	w.s.Recorder.Record(w.key, a.UID, EventNormal, eventPulled, a.Container, message)
	if image.Warning != "" {
		w.s.Recorder.Record(w.key, a.UID, EventWarning, eventImagePlatform, a.Container, image.Warning)
		w.s.Log.Warn().Str("pod", w.key.String()).Str("uid", string(a.UID)).Str("container", a.Container).Msg(image.Warning)
	}
}

// imageFailed says why an image is not at hand, in three steps as the kubelet
// does: what went wrong, what that means for the container, what comes next.
func (w *worker) imageFailed(a pods.Action, reason string, err error) {
	record := func(kind, reason, format string, args ...any) {
		w.s.Recorder.Record(w.key, a.UID, kind, reason, a.Container, fmt.Sprintf(format, args...))
	}
	waits := false
	switch reason {
	case pods.ReasonInvalidImageName:
		record(EventWarning, eventInspectFailed, "Failed to apply default image tag %q: %s", a.Image, after(err, fmt.Sprintf("apply default tag to image %q: ", a.Image)))
	case pods.ReasonImageInspectError:
		record(EventWarning, eventInspectFailed, "Failed to inspect image %q: %s", a.Image, after(err, fmt.Sprintf("inspect image %q: ", a.Image)))
	case pods.ReasonErrImageNeverPull:
		record(EventWarning, pods.ReasonErrImageNeverPull, "Container image %q is not present with pull policy of Never", a.Image)
	default:
		record(EventWarning, eventFailed, "Failed to pull image %q: %s", a.Image, after(err, fmt.Sprintf("pull image %q: ", a.Image)))
		waits = true
	}
	record(EventWarning, eventFailed, "Error: %s", reason)
	if waits {
		record(EventNormal, eventBackOff, "Back-off pulling image %q", a.Image)
	}
}

// after is the text of an error without what an event says before it anyway.
func after(err error, prefix string) string { return strings.TrimPrefix(err.Error(), prefix) }
