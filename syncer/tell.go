package syncer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/islet-run/islet/pods"
)

// Event reasons that the kubelet does not have: it leaves these moments to the
// log, and people without an API server to guess.
const (
	eventAccepted  = "Accepted"
	eventExited    = "Exited"
	eventTakenOver = "TakenOver"
)

// tellRemembered says how a run of a container ended, once.
func (w *worker) tellRemembered(before pods.Memory, a pods.Action) {
	m := a.Memory
	switch {
	case m.Run == pods.RunReset && m.Trigger:
		w.s.Recorder.Record(w.key, a.UID, EventNormal, pods.ReasonRestartingAll, a.Container, a.Reason)
	case m.Run == pods.RunEnded && m.Last != nil && (before.Run != pods.RunEnded || before.Attempt != m.Attempt):
		kind := EventNormal
		if m.Last.ExitCode != 0 {
			kind = EventWarning
		}
		w.s.Recorder.Record(w.key, a.UID, kind, eventExited, a.Container, a.Reason)
	}
}

// tellStarted says that a container runs, and for a restart why.
func (w *worker) tellStarted(a pods.Action) {
	message := "Container started"
	if !strings.HasPrefix(a.Reason, "Starting ") {
		message += ": " + a.Reason
	}
	w.s.Recorder.Record(w.key, a.UID, EventNormal, "Started", a.Container, message)
}

// tellWaiting says that a container is in crash-loop back-off, once per wait.
func (w *worker) tellWaiting(d pods.Decision) {
	if d.Waiting == w.said {
		return
	}
	w.said = d.Waiting
	if !strings.HasPrefix(d.Waiting, "back-off ") {
		return
	}
	for _, in := range w.ordered() {
		if !in.Stray {
			w.s.Recorder.Record(w.key, in.Record.UID, EventWarning, eventBackOff, "", d.Waiting)
			return
		}
	}
}

// tellTakenOver says, after the first look at an instance of an earlier run of
// islet, what was found running and is left alone.
func (w *worker) tellTakenOver(in *instance) {
	if !in.adopted {
		return
	}
	in.adopted = false
	running := 0
	for _, c := range in.Observed.Containers {
		if c.State == pods.StateRunning {
			running++
		}
	}
	if running == 0 {
		return
	}
	message := fmt.Sprintf("islet has started again and takes over what runs: %d of the pod's containers", running)
	w.s.Recorder.Record(w.key, in.Record.UID, EventNormal, eventTakenOver, "", message)
	w.s.Log.Info().Str("pod", w.key.String()).Str("uid", string(in.Record.UID)).Int("running", running).Msg("pod taken over")
}

var (
	longID  = regexp.MustCompile(`[0-9a-f]{64}`)
	attempt = regexp.MustCompile(`(k8s_[A-Za-z0-9_.-]+_)[0-9]+`)
)

// withoutIDs leaves out container ids and attempts: they differ from try to
// try, and events that say the same are counted.
func withoutIDs(message string) string {
	return attempt.ReplaceAllString(longID.ReplaceAllString(message, "<id>"), "${1}N")
}
