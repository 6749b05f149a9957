package manifests

import (
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ownRules returns what Kubernetes would let pass and an engine would take for
// something else than was meant.
func ownRules(pod *v1.Pod, root *node) []finding {
	var found []finding
	fault := func(path, message string) {
		found = append(found, finding{reason: ReasonInvalid, field: path, message: message, line: root.lineAt(path)})
	}
	for _, list := range []struct {
		name       string
		containers []v1.Container
	}{{"initContainers", pod.Spec.InitContainers}, {"containers", pod.Spec.Containers}} {
		for i, c := range list.containers {
			for j, p := range c.Ports {
				if _, err := netip.ParseAddr(p.HostIP); p.HostIP != "" && err != nil {
					// Docker takes it for every address of the machine.
					fault(fmt.Sprintf("spec.%s[%d].ports[%d].hostIP", list.name, i, j),
						fmt.Sprintf("%q is not an IP address; write one such as 127.0.0.1, or leave it out for all", clip(p.HostIP)))
				}
			}
		}
	}
	for i, v := range pod.Spec.Volumes {
		if v.HostPath != nil && v.HostPath.Path != "" && !strings.HasPrefix(v.HostPath.Path, "/") {
			fault(fmt.Sprintf("spec.volumes[%d].hostPath.path", i),
				fmt.Sprintf("%q is relative, and relative to nothing that is known; begin it with /", clip(v.HostPath.Path)))
		}
	}
	return found
}
