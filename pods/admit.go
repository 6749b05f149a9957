package pods

import (
	"fmt"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// minMemory is the least memory limit that the engine accepts.
const minMemory = 6 << 20

// Admit says whether this engine and machine can run the pod; it returns nil
// or a list of reasons, each naming the container and what to change. It is
// asked before an instance starts, never of a running one. What can be clamped
// without changing what the pod means (a negative OOM score) is not refused.
func Admit(pod *v1.Pod, facts Facts) []string {
	var reasons []string
	refuse := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	engine := facts.EngineName
	if engine == "" {
		engine = "the engine"
	}
	if os := pod.Spec.OS; os != nil && os.Name != v1.Linux {
		refuse("spec.os.name is %q: this machine runs linux", os.Name)
	}
	if u := pod.Spec.HostUsers; u != nil && !*u {
		refuse("spec.hostUsers is false: %s has no user namespace per pod", engine)
	}
	if sc := pod.Spec.SecurityContext; sc != nil && sc.SupplementalGroupsPolicy != nil && *sc.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict {
		refuse("spec.securityContext.supplementalGroupsPolicy is Strict: %s always adds the groups of the image", engine)
	}
	if name := Hostname(pod); len(name) > maxUTSName {
		refuse("spec.setHostnameAsFQDN: the name %q has %d characters, the kernel takes %d", name, len(name), maxUTSName)
	}
	for i := range pod.Spec.InitContainers {
		admitContainer(&pod.Spec.InitContainers[i], facts, engine, refuse)
	}
	for i := range pod.Spec.Containers {
		admitContainer(&pod.Spec.Containers[i], facts, engine, refuse)
	}
	if r := pod.Spec.Resources; r != nil {
		admitMemory("the pod", r.Limits, engine, refuse)
	}
	return reasons
}

func admitContainer(c *v1.Container, facts Facts, engine string, refuse func(string, ...any)) {
	who := "container " + c.Name
	admitMemory(who, c.Resources.Limits, engine, refuse)
	if sc := c.SecurityContext; sc != nil && sc.Privileged != nil && *sc.Privileged && !facts.Privileged {
		refuse("%s is privileged: %s cannot start privileged containers on this machine", who, engine)
	}
	var huge []string
	for name, q := range c.Resources.Limits {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) && !q.IsZero() {
			huge = append(huge, string(name))
		}
	}
	sort.Strings(huge)
	for _, name := range huge {
		refuse("%s limits %s: %s cannot set it", who, name, engine)
	}
}

func admitMemory(who string, limits v1.ResourceList, engine string, refuse func(string, ...any)) {
	if q, ok := limits[v1.ResourceMemory]; ok && !q.IsZero() && q.Value() < minMemory {
		refuse("%s has the memory limit %s: %s accepts 6Mi and more", who, q.String(), engine)
	}
}
