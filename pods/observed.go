package pods

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// RealmLocal is the realm of everything that comes from files, the URL and
// pushes. Another realm holds what a real API server binds to the node.
const RealmLocal = "local"

// Key names a pod: one live instance at a time per key.
type Key struct {
	Realm     string
	Namespace string
	Name      string
}

// String returns namespace/name, the form used in logs and messages.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// State is what the engine says of a sandbox or container.
type State string

const (
	// StateCreated means created and never started; it can still be started once.
	StateCreated State = "created"
	// StateRunning includes paused containers.
	StateRunning State = "running"
	// StateExited means ended, or that its start failed (Reason ContainerCannotRun).
	// An exited container is never started again.
	StateExited State = "exited"
	// StateUnknown means the engine cannot say, or is still removing it.
	StateUnknown State = "unknown"
)

// Reasons of a terminated container, as the kubelet words them.
const (
	ReasonCompleted          = "Completed"
	ReasonError              = "Error"
	ReasonOOMKilled          = "OOMKilled"
	ReasonContainerCannotRun = "ContainerCannotRun"
	// ReasonContainerStatusUnknown: the run vanished and its end was not seen.
	ReasonContainerStatusUnknown = "ContainerStatusUnknown"
	// ReasonRestartingAll: the run was removed because a restart rule has all
	// containers of the pod restart. It is a waiting reason too.
	ReasonRestartingAll = "RestartingAllContainers"
)

// ContainerType says which list of the pod spec a container stands in.
type ContainerType string

const (
	TypeRegular   ContainerType = "regular"
	TypeInit      ContainerType = "init" // plain and restartable (sidecar) init containers
	TypeEphemeral ContainerType = "ephemeral"
)

// Sandbox is the pause container of one attempt, as observed.
type Sandbox struct {
	ID          string
	Attempt     int
	State       State
	HostNetwork bool
	IPs         []string // primary first; empty with host network and when not running
	Boot        string   // boot id of the machine when it was created
	CreatedAt   time.Time
	StartedAt   time.Time
}

// Container is one run of one container of a pod, as observed.
type Container struct {
	ID         string
	SandboxID  string
	Name       string
	Type       ContainerType
	Attempt    int
	Restarts   int // restartCount this run was created with
	Generation int64
	Hash       string // ContainerHash of the spec it was created from
	Boot       string
	State      State
	Image      string // as written in the spec
	ImageID    string // status form: docker-pullable://repo@digest or docker://id
	ExitCode   int
	Signal     int
	Reason     string // set when exited
	Message    string // engine's words followed by the termination message
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time // for a failed start: when it was created
}

// Observed is all the engine holds of one instance of a pod.
type Observed struct {
	UID        types.UID
	Sandboxes  []Sandbox   // highest attempt first
	Containers []Container // highest attempt first, names mixed
}

// Empty reports whether nothing of the instance is left on the engine.
func (o Observed) Empty() bool { return len(o.Sandboxes) == 0 && len(o.Containers) == 0 }

// Found is a pod instance seen in a listing of the whole engine.
type Found struct {
	Key Key
	UID types.UID
	// Mark changes whenever a container or sandbox of the instance appears,
	// disappears or changes state, and only then. It is compared, not read.
	Mark string
}

// ErrEngineAway is matched (errors.Is) by the error of every engine call that
// failed because the engine does not answer.
var ErrEngineAway = errors.New("engine does not answer")
