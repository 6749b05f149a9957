package manifests

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// lint returns what is allowed in a pod but is most likely not meant.
func lint(pod *v1.Pod, root *node) []Warning {
	var out []Warning
	warn := func(path, message string) {
		out = append(out, Warning{Message: oneLine(path + ": " + message), Field: path, Line: root.lineAt(path)})
	}
	each := func(list string, containers []v1.Container) {
		for i := range containers {
			c, path := &containers[i], fmt.Sprintf("spec.%s[%d]", list, i)
			if len(c.Command) == 1 && strings.Contains(strings.TrimSpace(c.Command[0]), " ") {
				warn(path+".command[0]", fmt.Sprintf("%q is one word to the kernel, not a command with arguments; write one list entry per word, or [sh, -c, ...]", clip(c.Command[0])))
			}
			if usesCluster(c) {
				warn(path, "counts on KUBERNETES_SERVICE_HOST, which pods have only where an API server runs")
			}
		}
	}
	each("initContainers", pod.Spec.InitContainers)
	each("containers", pod.Spec.Containers)
	return out
}

// usesCluster: the container names a variable that only a cluster sets.
func usesCluster(c *v1.Container) bool {
	const ref = "$(KUBERNETES_SERVICE_HOST)"
	for _, e := range c.Env {
		if e.Name == "KUBERNETES_SERVICE_HOST" {
			return false
		}
		if strings.Contains(e.Value, ref) {
			return true
		}
	}
	for _, s := range append(append([]string(nil), c.Command...), c.Args...) {
		if strings.Contains(s, ref) {
			return true
		}
	}
	return false
}
