package pods

import (
	"hash/fnv"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KeyOf returns the key of a pod of the local sources.
func KeyOf(pod *v1.Pod) Key {
	return Key{Realm: RealmLocal, Namespace: pod.Namespace, Name: pod.Name}
}

// NewRecord returns the record of an instance that begins now. want.Pod must
// be set; it is kept, not copied.
func NewRecord(now time.Time, key Key, want *Want) Record {
	return Record{
		Version:    RecordVersion,
		Key:        key,
		UID:        want.Pod.UID,
		Pod:        want.Pod,
		Source:     want.Source,
		Path:       want.Path,
		Digest:     want.Digest,
		StartTime:  now,
		Containers: map[string]Memory{},
	}
}

// RecoverRecord returns the record of an instance that the engine holds
// something of and whose own record was lost. It began when the oldest thing
// that is left of it was made; what its containers did is on their labels.
func RecoverRecord(now time.Time, key Key, want *Want, seen Observed) Record {
	r := NewRecord(now, key, want)
	older := func(made time.Time) {
		if !made.IsZero() && made.Before(r.StartTime) {
			r.StartTime = made
		}
	}
	for i := range seen.Sandboxes {
		older(seen.Sandboxes[i].CreatedAt)
	}
	for i := range seen.Containers {
		c := &seen.Containers[i]
		older(c.CreatedAt)
		r.Initialized = r.Initialized || (c.Type == TypeRegular && c.State != StateCreated)
	}
	return r
}

// ContainerByName returns a container of a pod and the list it stands in, or
// nil and "".
func ContainerByName(pod *v1.Pod, name string) (*v1.Container, ContainerType) {
	if pod == nil {
		return nil, ""
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i], TypeRegular
		}
	}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return &pod.Spec.InitContainers[i], TypeInit
		}
	}
	return nil, ""
}

// IsInit reports whether name is an init container of the pod, sidecars included.
func IsInit(pod *v1.Pod, name string) bool {
	_, t := ContainerByName(pod, name)
	return t == TypeInit
}

// IsSidecar reports whether name is a restartable init container of the pod.
func IsSidecar(pod *v1.Pod, name string) bool { return sidecarIndex(pod, name) >= 0 }

// sidecarIndex is the place of a sidecar among the init containers, or -1.
func sidecarIndex(pod *v1.Pod, name string) int {
	if pod == nil {
		return -1
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name && restartable(c) {
			return i
		}
	}
	return -1
}

// ContainerHash identifies the definition of a container for the question
// whether its run is still the one asked for. As with the kubelet it covers
// name and image only: everything else cannot change in place.
func ContainerHash(c *v1.Container) string {
	var buf [16]byte
	return string(strconv.AppendUint(buf[:0], hashOf(c), 16))
}

func hashOf(c *v1.Container) uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.Name))
	h.Write([]byte{0})
	h.Write([]byte(c.Image))
	return h.Sum64()
}

// sameDefinition reports whether a run was made from the container as it is
// defined now; a run without a hash counts as such.
func sameDefinition(c *v1.Container, hash string) bool {
	var buf [16]byte
	return hash == "" || string(strconv.AppendUint(buf[:0], hashOf(c), 16)) == hash
}

// ReadySandbox returns the sandbox in which containers are started: the only
// running one, if it is the newest.
func ReadySandbox(o Observed) (Sandbox, bool) {
	newest, running := newestSandbox(&o)
	if newest == nil || running != 1 || newest.State != StateRunning {
		return Sandbox{}, false
	}
	return *newest, true
}

func newestSandbox(o *Observed) (newest *Sandbox, running int) {
	for i := range o.Sandboxes {
		b := &o.Sandboxes[i]
		if b.State == StateRunning {
			running++
		}
		if newest == nil || b.Attempt > newest.Attempt ||
			(b.Attempt == newest.Attempt && b.CreatedAt.After(newest.CreatedAt)) {
			newest = b
		}
	}
	return newest, running
}

func (b *Sandbox) alive() bool { return b.State == StateRunning || b.State == StateUnknown }

// newestRun returns the newest run of a container, or nil. With sandbox != ""
// only runs in that sandbox count.
func newestRun(o *Observed, name, sandbox string) *Container {
	var newest *Container
	for i := range o.Containers {
		c := &o.Containers[i]
		if c.Name != name || (sandbox != "" && c.SandboxID != sandbox) {
			continue
		}
		if newest == nil || newer(c, newest) {
			newest = c
		}
	}
	return newest
}

// newer orders the runs of one container; the time decides between runs that
// claim the same attempt.
func newer(a, b *Container) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt > b.Attempt
	}
	return a.CreatedAt.After(b.CreatedAt)
}

// terminatedOf is the end of an exited run in the words of the API.
func terminatedOf(c *Container) *v1.ContainerStateTerminated {
	reason := c.Reason
	if reason == "" {
		reason = ReasonError
		if c.ExitCode == 0 {
			reason = ReasonCompleted
		}
	}
	return &v1.ContainerStateTerminated{
		ExitCode:    int32(c.ExitCode),
		Signal:      int32(c.Signal),
		Reason:      reason,
		Message:     c.Message,
		StartedAt:   stamp(c.StartedAt),
		FinishedAt:  stamp(c.FinishedAt),
		ContainerID: runtimeID(c.ID),
	}
}

// runtimeID is an engine id in the form of the API.
func runtimeID(id string) string {
	if id == "" {
		return ""
	}
	return "docker://" + id
}

// stamp is a time as the API shows it: whole seconds.
func stamp(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.UTC().Truncate(time.Second))
}
