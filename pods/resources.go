package pods

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// Numbers of the kernel's CPU controller, as the kubelet uses them.
const (
	minShares = 2
	maxShares = 262144
	period    = 100_000 // microseconds
	minQuota  = 1000
)

// Scores for the kernel's memory killer: -1000 never, 1000 first.
const (
	oomSandbox    = -998
	oomGuaranteed = -997
	oomBestEffort = 1000

	nodeCritical = 2_000_001_000 // priority of system-node-critical
)

// QOS returns the quality-of-service class of a pod by its resources.
func QOS(pod *v1.Pod) v1.PodQOSClass { return qos.ComputePodQOS(pod) }

// ResourcesOf computes what the engine gets for one container.
func ResourcesOf(pod *v1.Pod, c *v1.Container, facts Facts) Resources {
	requests, limits := c.Resources.Requests, c.Resources.Limits
	var podLimits v1.ResourceList
	if pod.Spec.Resources != nil {
		podLimits = pod.Spec.Resources.Limits
	}
	cpuLimit := limits.Cpu().MilliValue()
	request := requests.Cpu().MilliValue()
	if request == 0 {
		request = cpuLimit
	}
	if cpuLimit == 0 {
		cpuLimit = podLimits.Cpu().MilliValue()
	}
	memory := limits.Memory().Value()
	if memory == 0 {
		memory = podLimits.Memory().Value()
	}
	r := Resources{
		CPUShares:   sharesOf(request),
		MemoryLimit: max(memory, 0),
		OOMScoreAdj: OOMScoreAdj(pod, c, facts),
	}
	if cpuLimit > 0 {
		r.CPUQuota = max(mulDiv(cpuLimit, period, 1000), minQuota)
	}
	return r
}

func sharesOf(milli int64) int64 {
	return min(max(mulDiv(milli, 1024, 1000), minShares), maxShares)
}

// mulDiv is a*b/c; what does not fit is the largest number there is.
func mulDiv(a, b, c int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b / c
}

// OOMScoreAdj computes the score of a container by the kubelet's rules, not
// lower than this engine can set: Guaranteed pods die last, BestEffort first,
// Burstable the later the larger a part of the machine's memory they request.
func OOMScoreAdj(pod *v1.Pod, c *v1.Container, facts Facts) int {
	return max(oomScore(pod, c, facts.MemoryBytes), facts.MinOOM)
}

// SandboxOOMScoreAdj is the score of every sandbox.
func SandboxOOMScoreAdj(facts Facts) int { return max(oomSandbox, facts.MinOOM) }

func oomScore(pod *v1.Pod, c *v1.Container, memory int64) int {
	if pod.Spec.Priority != nil && *pod.Spec.Priority >= nodeCritical {
		return oomGuaranteed
	}
	switch QOS(pod) {
	case v1.PodQOSGuaranteed:
		return oomGuaranteed
	case v1.PodQOSBestEffort:
		return oomBestEffort
	}
	extra := unassigned(pod)
	score := scoreFor(c.Resources.Requests.Memory().Value()+extra, memory)
	if IsSidecar(pod, c.Name) && len(pod.Spec.Containers) > 0 {
		least := int64(math.MaxInt64)
		for i := range pod.Spec.Containers {
			least = min(least, pod.Spec.Containers[i].Resources.Requests.Memory().Value())
		}
		score = min(score, scoreFor(least+extra, memory))
	}
	return min(max(score, 1000+oomGuaranteed), oomBestEffort-1)
}

// scoreFor is the score for a request out of the machine's memory.
func scoreFor(request, memory int64) int {
	if memory <= 0 {
		return oomBestEffort
	}
	return 1000 - int(1000*min(max(request, 0), memory)/memory)
}

// unassigned is each container's share of what the pod as a whole requests
// beyond the requests of its containers.
func unassigned(pod *v1.Pod) int64 {
	if pod.Spec.Resources == nil || pod.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	left := pod.Spec.Resources.Requests.Memory().Value()
	count := int64(len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		left -= pod.Spec.Containers[i].Resources.Requests.Memory().Value()
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; restartable(c) {
			left -= c.Resources.Requests.Memory().Value()
			count++
		}
	}
	if count == 0 {
		return 0
	}
	return max(left, 0) / count
}
