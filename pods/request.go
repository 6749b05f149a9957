package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// SandboxRequest asks the engine for a running sandbox. Everything in it is
// borrowed for the call and not changed.
type SandboxRequest struct {
	Key          Key
	Pod          *v1.Pod // spec in force, metadata.uid and generation set
	Source       string  // file, url, push
	Digest       string  // unkeyed digest of the document before defaulting
	Attempt      int
	Hostname     string // empty with host network
	CgroupParent string // form that the engine's cgroup driver wants; empty: engine's default
	OOMScoreAdj  int
}

// Mount binds a host path into a container.
type Mount struct {
	HostPath      string
	ContainerPath string
	ReadOnly      bool
}

// ContainerRequest asks the engine to create and start one container in a
// running sandbox. Everything in it is borrowed for the call and not changed.
type ContainerRequest struct {
	Key          Key
	Pod          *v1.Pod
	Container    *v1.Container
	Type         ContainerType
	Source       string
	Digest       string
	Attempt      int
	Restarts     int
	SandboxID    string
	Image        Image
	Command      []string // expanded; nil keeps the image's entrypoint
	Args         []string // expanded; nil keeps the image's or, with Command, means none
	Env          []string // KEY=VALUE, resolved and expanded
	Mounts       []Mount  // incl. hosts, resolv.conf, termination log
	CgroupParent string
	Resources    Resources
}

// Resources are the numbers the engine gets for one container.
type Resources struct {
	CPUShares   int64 // never 0
	CPUQuota    int64 // microseconds per 100 ms period; 0: unlimited
	MemoryLimit int64 // bytes; 0: unlimited
	OOMScoreAdj int
}

// Image is a resolved image.
type Image struct {
	Ref string // as written in the spec
	ID  string // engine's id; what a container is created from

	Size    int64         // bytes on the engine's disk; 0: not known
	Pulled  bool          // it was pulled for this request, not found
	Took    time.Duration // of the pull
	Waited  time.Duration // from the request to the end, waiting for other pulls included
	Warning string        // what people should know of it; "" for nothing
}

// ImageRequest asks the engine to have an image at hand.
type ImageRequest struct {
	Ref    string
	Policy v1.PullPolicy
	// Pulling, if set, is called once when the image turns out to have to be
	// pulled, before anything is waited for. It must not block.
	Pulling func()
}

// EngineError is a failure with the waiting reason the kubelet would show for
// it (ErrImagePull, CreateContainerError, RunContainerError, ...).
type EngineError struct {
	Reason string
	Err    error
}

func (e *EngineError) Error() string { return e.Err.Error() }
func (e *EngineError) Unwrap() error { return e.Err }

// Waiting reasons, as the kubelet words them.
const (
	ReasonContainerCreating      = "ContainerCreating"
	ReasonPodInitializing        = "PodInitializing"
	ReasonCrashLoopBackOff       = "CrashLoopBackOff"
	ReasonErrImagePull           = "ErrImagePull"
	ReasonImagePullBackOff       = "ImagePullBackOff"
	ReasonErrImageNeverPull      = "ErrImageNeverPull"
	ReasonInvalidImageName       = "InvalidImageName"
	ReasonImageInspectError      = "ImageInspectError"
	ReasonRegistryUnavailable    = "RegistryUnavailable"
	ReasonCreateContainerConfig  = "CreateContainerConfigError"
	ReasonCreateContainer        = "CreateContainerError"
	ReasonRunContainer           = "RunContainerError"
	ReasonFailedCreatePodSandBox = "FailedCreatePodSandBox"
	ReasonUnsupportedByEngine    = "UnsupportedByEngine"
)

// EngineEventKind is the kind of an [EngineEvent].
type EngineEventKind string

const (
	// EngineUp: the event stream is (re)connected; what was known is stale, list again.
	EngineUp EngineEventKind = "up"
	// EngineDown: the engine does not answer; calls fail until EngineUp.
	EngineDown EngineEventKind = "down"
	// EngineChanged: something of the pod Key changed.
	EngineChanged EngineEventKind = "changed"
)

// EngineEvent is a hint from the engine. It says where to look, never what is there.
type EngineEvent struct {
	Kind EngineEventKind
	Key  Key   // with EngineChanged
	Err  error // with EngineDown
}

// Facts is what this engine and machine can do, found by probing.
type Facts struct {
	EngineName    string // "Docker Engine"
	EngineVersion string
	APIVersion    string
	CgroupDriver  string // cgroupfs or systemd
	CgroupVersion int    // 1 or 2
	NegativeOOM   bool   // a negative oom_score_adj can be set
	Privileged    bool   // privileged containers start
	MinOOM        int    // lowest oom_score_adj that works
	MemoryBytes   int64  // of the machine
	CPUs          int
	BootID        string
}
