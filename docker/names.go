package docker

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

const (
	namePrefix = "k8s_"
	// sandboxName stands for the container name in the name and the label of a
	// sandbox. No container of a pod can have it: their names are lower case.
	sandboxName = "POD"
)

// containerName is the name of a run of a container, or of a sandbox. None of
// its parts contains the separator: Kubernetes names have no underscore.
func containerName(container string, key pods.Key, uid types.UID, attempt int) string {
	return namePrefix + strings.Join([]string{container, key.Name, key.Namespace, string(uid), strconv.Itoa(attempt)}, "_")
}

// ourName reports whether a container, by its name with or without the leading
// slash, can be one of ours. Who it is is said by its labels: the name may
// carry a suffix.
func ourName(name string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, "/"), namePrefix)
}
