package docker

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Labels on containers. All of them are set on every container, the ones that
// do not apply as empty: Docker merges the labels of the image into those of
// the container, and an image made from somebody's pod must not give ours
// another identity.
//
// io.kubernetes.docker.type is never set: a CRI shim on the same engine would
// take the container for its own.
const (
	labelPodName      = "io.kubernetes.pod.name"
	labelPodNamespace = "io.kubernetes.pod.namespace"
	labelPodUID       = "io.kubernetes.pod.uid"
	labelContainer    = "io.kubernetes.container.name"

	labelOwner             = "run.islet.owner"
	labelRoot              = "run.islet.root"
	labelRealm             = "run.islet.realm"
	labelSource            = "run.islet.source"
	labelType              = "run.islet.type"
	labelAttempt           = "run.islet.attempt"
	labelRestarts          = "run.islet.restarts"
	labelHash              = "run.islet.hash"
	labelDigest            = "run.islet.digest"
	labelGeneration        = "run.islet.generation"
	labelBoot              = "run.islet.boot"
	labelImage             = "run.islet.image"              // as written in the spec
	labelImageID           = "run.islet.image-id"           // as the status shows it
	labelSandbox           = "run.islet.sandbox"            // engine id of the sandbox
	labelTerminationPath   = "run.islet.termination-path"   // host path of the message file
	labelTerminationPolicy = "run.islet.termination-policy" // File or FallbackToLogsOnError

	// labelProbe marks a container that only finds out what the engine can do;
	// its value is the owner. It has no owner label: it is nobody's pod.
	labelProbe = "run.islet.probe"
)

// typeSandbox is the type label of a sandbox, beside the values of pods.ContainerType.
const typeSandbox = "sandbox"

// identity is who a container is, as its labels say.
type identity struct {
	key               pods.Key
	uid               types.UID
	container         string
	kind              string // typeSandbox or a pods.ContainerType
	attempt           int
	restarts          int
	generation        int64
	hash              string
	boot              string
	sandbox           string
	image             string
	imageID           string
	terminationPath   string
	terminationPolicy string
}

func (i identity) isSandbox() bool { return i.kind == typeSandbox }

// sameRun reports whether both are the same run of the same container.
func (i identity) sameRun(o identity) bool {
	return i.key == o.key && i.uid == o.uid && i.container == o.container && i.attempt == o.attempt
}

// labels is the inverse of [identify]; source and digest are only recorded.
func (i identity) labels(s settings, source, digest string) map[string]string {
	return map[string]string{
		labelPodName:           i.key.Name,
		labelPodNamespace:      i.key.Namespace,
		labelPodUID:            string(i.uid),
		labelContainer:         i.container,
		labelOwner:             s.owner,
		labelRoot:              s.root,
		labelRealm:             i.key.Realm,
		labelSource:            source,
		labelType:              i.kind,
		labelAttempt:           strconv.Itoa(i.attempt),
		labelRestarts:          strconv.Itoa(i.restarts),
		labelHash:              i.hash,
		labelDigest:            digest,
		labelGeneration:        strconv.FormatInt(i.generation, 10),
		labelBoot:              i.boot,
		labelImage:             i.image,
		labelImageID:           i.imageID,
		labelSandbox:           i.sandbox,
		labelTerminationPath:   i.terminationPath,
		labelTerminationPolicy: i.terminationPolicy,
	}
}

// identify reads who a container is. ok is false for everything that is not
// the owner's: other owners, foreign programs, and what lacks a pod.
func identify(owner, name string, labels map[string]string) (id identity, ok bool) {
	if labels[labelOwner] != owner || !ourName(name) {
		return identity{}, false
	}
	id = identity{
		key:               pods.Key{Realm: labels[labelRealm], Namespace: labels[labelPodNamespace], Name: labels[labelPodName]},
		uid:               types.UID(labels[labelPodUID]),
		container:         labels[labelContainer],
		kind:              labels[labelType],
		hash:              labels[labelHash],
		boot:              labels[labelBoot],
		sandbox:           labels[labelSandbox],
		image:             labels[labelImage],
		imageID:           labels[labelImageID],
		terminationPath:   labels[labelTerminationPath],
		terminationPolicy: labels[labelTerminationPolicy],
	}
	if id.key.Name == "" || id.uid == "" || id.container == "" {
		return identity{}, false
	}
	// A number that cannot be read counts as zero: the container is shown, and
	// ended like any other, rather than leaked.
	id.attempt, _ = strconv.Atoi(labels[labelAttempt])
	id.restarts, _ = strconv.Atoi(labels[labelRestarts])
	id.generation, _ = strconv.ParseInt(labels[labelGeneration], 10, 64)
	return id, true
}
