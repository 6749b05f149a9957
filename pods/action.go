package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ActionKind is what one [Action] does.
type ActionKind string

const (
	// ActBegin makes the wanted pod the live instance: its record is written.
	ActBegin ActionKind = "begin"
	// ActUpdate puts a new generation of the same UID in force in the record.
	ActUpdate ActionKind = "update"
	// ActDelete records that the instance must end, or a shorter grace.
	ActDelete ActionKind = "delete"
	// ActFinish records the outcome of a pod that has finished for good.
	ActFinish ActionKind = "finish"
	// ActRemember stores Memory of a container in the record (outcome, back-off).
	ActRemember ActionKind = "remember"
	// ActForget erases an instance of which the engine holds nothing any more:
	// cgroup, volumes, directory, record.
	ActForget ActionKind = "forget"

	// ActEnsureImage has the image of a container looked up or pulled.
	ActEnsureImage ActionKind = "ensure-image"
	// ActCreateSandbox creates and starts the sandbox of an attempt.
	ActCreateSandbox ActionKind = "create-sandbox"
	// ActStartContainer creates and starts a run of a container.
	ActStartContainer ActionKind = "start-container"
	// ActSignal sends the stop signal (Signal "") or the named one.
	ActSignal ActionKind = "signal"
	// ActKill sends SIGKILL.
	ActKill ActionKind = "kill"
	// ActRemove removes an ended container or sandbox from the engine; with
	// Force a running one too.
	ActRemove ActionKind = "remove"
)

// Beside reports whether the caller runs the action beside itself and shows it
// in [Instance.Ops] meanwhile; the others are changes of the record, done at
// once.
func (k ActionKind) Beside() bool {
	switch k {
	case ActEnsureImage, ActCreateSandbox, ActStartContainer, ActSignal, ActKill, ActRemove:
		return true
	}
	return false
}

// Action is one thing to do, and why. Fields that a kind does not need are zero.
type Action struct {
	Kind      ActionKind
	UID       types.UID
	Container string // name; empty for the sandbox
	ID        string // engine id, for signal, kill and remove
	Attempt   int
	Restarts  int
	Signal    string
	Force     bool
	Image     string    // as written in the spec, for ActEnsureImage and ActStartContainer
	Deadline  time.Time // for ActSignal: when SIGKILL follows; goes into Signalled
	Deletion  *Deletion // for ActDelete
	Outcome   *Outcome  // for ActFinish
	Memory    *Memory   // for ActRemember; ActStartContainer: stored before the start, whatever becomes of it
	Reason    string    // for people: logged and shown by `islet why`
}

// Target names what the action works on. Of actions with one target only one
// is under way at a time; Plan never returns one whose target is in
// [Instance.Ops], except ActKill beside an ActSignal of the same container.
func (a Action) Target() string {
	switch a.Kind {
	case ActEnsureImage:
		return "image/" + a.Container
	case ActCreateSandbox:
		return "sandbox"
	case ActStartContainer:
		return "start/" + a.Container
	case ActSignal:
		return "signal/" + a.ID
	case ActKill:
		return "kill/" + a.ID
	case ActRemove:
		return "remove/" + a.ID
	}
	return string(a.Kind)
}

// Op is an action under way.
type Op struct {
	Action Action
	Since  time.Time
}

// Failure is the last failed action of a container, or of the sandbox
// (name ""). A success of the same kind takes it away. Plan repeats the action
// after [RetryDelay].
type Failure struct {
	Kind    ActionKind // the action that failed
	Image   string     // the action's; a failure with another image than the spec's is history
	Reason  string     // waiting reason (ErrImagePull, CreateContainerError, ...)
	Message string
	At      time.Time
	Count   int // in a row
}

// Want is what the sources ask for under a key.
type Want struct {
	Pod *v1.Pod // defaulted, with metadata.uid and metadata.generation
	// Hold: the source has not finished its first attempt since islet started.
	// What runs stays, nothing is started or stopped for it.
	Hold   bool
	Source string // file, url, push
	Path   string // where the document stands, for people
	Digest string
	Edit   string // what the last edit of the document changed, for people
	// Unsupported is set when Admit refused the pod on this engine; an
	// instance that has not started yet then waits with this reason.
	Unsupported string
}

// Instance is one instance with everything that is known of it.
type Instance struct {
	Record   Record
	Observed Observed
	// Images is what the last ActEnsureImage of a container found, by container
	// name; the caller deletes it when ActStartContainer has ended, well or
	// badly, so that each start looks again as the pull policy says.
	Images map[string]Image
	// Failures by container name, "" for the sandbox.
	Failures map[string]Failure
	Ops      map[string]Op // by Target
	// Signalled is when the stop signal went to a container (engine id) and
	// by when it must be gone. Lost with islet: then the signal is sent again.
	Signalled map[string]Signalled
	// Stray is set for what the engine holds without a record: it is ended.
	Stray bool
	// Previous is the status computed last, if any: [Status] keeps the times of
	// its conditions and what must never go back.
	Previous *v1.PodStatus
	// Asked is a grace in seconds that somebody asked for with a deletion; nil:
	// nobody did, the pod's own counts. It never makes an end that is under way
	// later, and by itself it ends nothing.
	Asked *int64
}

// Signalled remembers a stop under way.
type Signalled struct {
	At       time.Time // of the (last) ActSignal
	Deadline time.Time // the action's
	Reason   string
	Killed   time.Time // of the last ActKill; zero: none yet
}

// Have is what there is under a key: the live instance first, then leftovers.
type Have struct {
	Instances []Instance
	Dead      DeadPolicy
}

// Decision is what Plan answers.
type Decision struct {
	Actions []Action
	// Wake is when to ask again even if nothing happens; zero: never.
	Wake time.Time
	// Waiting says in a few words what the pod waits for, "" when for nothing.
	Waiting string
}
