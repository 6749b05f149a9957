package httpapi

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Config is the table of functions behind the routes. cmd fills it; a nil
// function answers 501. Functions may be called from many goroutines and what
// they return is not changed by the caller.
type Config struct {
	// Pods returns every pod that is wanted or still there, with live status.
	Pods func() *v1.PodList
	// Manifests returns every document of every source with its verdict.
	Manifests func() []Manifest
	// Why tells the story of a pod; ok is false when there is none.
	Why func(namespace, name string) (why Why, ok bool)
	// Ready returns nil when the engine answers and every source has been read.
	Ready func() error
	// Health holds checks of /healthz beside "ping", which is always there.
	// They say whether islet itself works, not whether it is ready.
	Health []Check
	// Down ends all pods of this islet with their grace, reporting one line per
	// step to report, and then ends islet. It blocks until they are gone or ctx
	// ends.
	Down func(ctx context.Context, report func(line string)) error
	// Version is answered at /version.
	Version map[string]string
}

// Manifest is one document of one source and what became of it.
type Manifest struct {
	Source    string       `json:"source"`
	Path      string       `json:"path,omitempty"`
	Document  int          `json:"document,omitempty"`
	Line      int          `json:"line,omitempty"`
	Kind      string       `json:"kind,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name,omitempty"`
	Verdict   string       `json:"verdict"` // one of the Verdict constants
	LastGood  bool         `json:"lastGood,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Digest    string       `json:"digest,omitempty"`
	Warnings  []Warning    `json:"warnings,omitempty"`
	Since     time.Time    `json:"since,omitzero"`
	Pod       *ManifestPod `json:"pod,omitempty"`
}

// Verdicts of a [Manifest].
const (
	VerdictAccepted = "accepted" // it counts
	VerdictRejected = "rejected" // it cannot be used; with LastGood its last good copy counts
	VerdictConflict = "conflict" // another document holds the name
	VerdictHeld     = "held"     // what was accepted before stays until its source was read
)

// Warning is something to know of a document that is accepted all the same.
type Warning struct {
	Line    int    `json:"line,omitempty"` // 1-based, in the file
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// ManifestPod is the pod that a document became.
type ManifestPod struct {
	UID   string      `json:"uid"`
	Phase v1.PodPhase `json:"phase"`
}

// ManifestList is the answer of GET /manifests.
type ManifestList struct {
	Items []Manifest `json:"items"`
}

// Why is the answer of GET /why/{namespace}/{name}.
type Why struct {
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	UID       string     `json:"uid,omitempty"`
	Phase     string     `json:"phase,omitempty"`
	Waiting   string     `json:"waiting,omitempty"` // what it waits for now
	Manifests []Manifest `json:"manifests,omitempty"`
	Events    []Event    `json:"events"` // oldest first, bounded
}

// Event is one thing that happened to a pod.
type Event struct {
	Time      time.Time `json:"time"` // of the last occurrence
	Count     int       `json:"count,omitempty"`
	UID       string    `json:"uid,omitempty"`
	Type      string    `json:"type"` // Normal or Warning
	Reason    string    `json:"reason"`
	Container string    `json:"container,omitempty"`
	Message   string    `json:"message"`
}
