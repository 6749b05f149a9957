package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RecordVersion is the version of the form in which records are written.
const RecordVersion = 1

// Record is what must survive of one instance: islet writes it to
// pods/<uid>/instance.json before the first container starts and erases it
// after the last is gone. Plan reads it and changes it only through actions.
type Record struct {
	Version int       `json:"version"`
	Key     Key       `json:"key"`
	UID     types.UID `json:"uid"`
	// Pod is the spec in force, defaulted, with uid and generation set. Its
	// metadata.generation is the generation that was applied last.
	Pod    *v1.Pod `json:"pod"`
	Source string  `json:"source"` // file, url, push
	Path   string  `json:"path,omitempty"`
	Digest string  `json:"digest,omitempty"`
	// StartTime becomes status.startTime.
	StartTime time.Time `json:"startTime"`
	// Deletion is set once the instance must end; its deadline only shrinks.
	Deletion *Deletion `json:"deletion,omitempty"`
	// Outcome is set once the pod has finished for good (Succeeded, Failed).
	Outcome *Outcome `json:"outcome,omitempty"`
	// Containers holds what must be known of each container by name even when
	// the engine has lost it.
	Containers map[string]Memory `json:"containers,omitempty"`
	// Initialized is set once a regular container of the instance has started.
	Initialized bool     `json:"initialized,omitempty"`
	IPs         []string `json:"ips,omitempty"` // last known, shown until the end
}

// Deletion says since when and how fast an instance must end, and why.
type Deletion struct {
	At           time.Time `json:"at"`
	GraceSeconds int64     `json:"graceSeconds"` // effective, >= 1
	Reason       string    `json:"reason"`
}

// Deadline is when what still runs is killed.
func (d Deletion) Deadline() time.Time {
	return d.At.Add(time.Duration(d.GraceSeconds) * time.Second)
}

// Outcome is the end of a pod that is not to run again.
type Outcome struct {
	Phase   v1.PodPhase `json:"phase"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	At      time.Time   `json:"at"`
}

// Memory is what is remembered of one container of an instance.
type Memory struct {
	Restarts int `json:"restarts"` // restartCount of the newest run
	Attempt  int `json:"attempt"`  // attempt of the newest run
	// Run is how far the newest run is known to have come.
	Run RunState `json:"run,omitempty"`
	// Sandbox is the engine id of the sandbox of that run: what an init
	// container has done counts in that sandbox only.
	Sandbox string `json:"sandbox,omitempty"`
	// Done is set when the container has succeeded and must not run again
	// (plain init container in its sandbox, or policy OnFailure/Never).
	Done bool `json:"done,omitempty"`
	// Rerun is set when the definition of the container changed during the run
	// that has ended: the next one follows whatever the restart policy says.
	Rerun bool `json:"rerun,omitempty"`
	// Trigger is set with RunReset on a container whose end had all containers
	// of the pod restart: its back-off goes on, the others have none to wait for.
	Trigger bool `json:"trigger,omitempty"`
	// Last is how the newest finished run ended.
	Last *v1.ContainerStateTerminated `json:"last,omitempty"`
	// Backoff is the delay that the next restart waits, counted from the end
	// of the last run; BackoffAt is when it was last advanced.
	Backoff   time.Duration `json:"backoff,omitempty"`
	BackoffAt time.Time     `json:"backoffAt,omitzero"`
}

// RunState is how far a run of a container is known to have come.
type RunState string

const (
	// RunTried: a start was asked for and nothing was seen of it yet. The next
	// start has the same attempt.
	RunTried RunState = ""
	// RunStarted: the run was seen alive.
	RunStarted RunState = "started"
	// RunEnded: the end of the run was seen, or it vanished.
	RunEnded RunState = "ended"
	// RunReset: the run was removed because all containers of the pod restart.
	// The next one follows whatever the restart policy says.
	RunReset RunState = "reset"
)
