package main

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// podState is a pod in a few words.
type podState struct {
	phase    string
	ready    string // 1/2: containers that are ready, of those that have to be
	restarts int
	since    time.Time // zero: not started yet
	reason   string    // why it is not as wanted, or what it does; "" when there is nothing to say
	good     bool      // as wanted: it has succeeded, or runs and is ready
}

// describePod sums a pod up from its spec and status.
func describePod(pod *v1.Pod) podState {
	state := podState{phase: cmp.Or(string(pod.Status.Phase), string(v1.PodPending)), since: pod.CreationTimestamp.Time}
	if pod.Status.StartTime != nil {
		state.since = pod.Status.StartTime.Time
	}
	containers := longRunning(pod)
	ready := 0
	for _, c := range containers {
		if c.status.Ready {
			ready++
		}
	}
	state.ready = fmt.Sprintf("%d/%d", ready, len(containers))
	for _, status := range append(pod.Status.InitContainerStatuses[:len(pod.Status.InitContainerStatuses):len(pod.Status.InitContainerStatuses)],
		pod.Status.ContainerStatuses...) {
		state.restarts += int(status.RestartCount)
	}
	state.good = pod.DeletionTimestamp == nil &&
		(pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodRunning && isReady(pod))
	state.reason = podReason(pod, containers, state.good)
	return state
}

// part is a container of the spec with its status, which is zero before the
// container is known to the engine.
type part struct {
	name   string
	status v1.ContainerStatus
}

// longRunning returns the containers that stay: sidecars and regular ones.
func longRunning(pod *v1.Pod) []part {
	var parts []part
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			parts = append(parts, part{c.Name, statusOf(pod.Status.InitContainerStatuses, c.Name)})
		}
	}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		parts = append(parts, part{name, statusOf(pod.Status.ContainerStatuses, name)})
	}
	return parts
}

func statusOf(statuses []v1.ContainerStatus, name string) v1.ContainerStatus {
	for _, status := range statuses {
		if status.Name == name {
			return status
		}
	}
	return v1.ContainerStatus{Name: name}
}

func isReady(pod *v1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// podReason says what keeps a pod from being as wanted: the first thing in its
// way, in the order in which a pod starts.
func podReason(pod *v1.Pod, containers []part, good bool) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "Terminating"
	case pod.Status.Phase == v1.PodSucceeded:
		return "Completed"
	case good:
		return ""
	case pod.Status.Reason != "":
		return joined(pod.Status.Reason, pod.Status.Message)
	case pod.Status.Phase == v1.PodPending && pod.Status.Message != "":
		return clean(pod.Status.Message)
	}
	for i, container := range pod.Spec.InitContainers {
		status := statusOf(pod.Status.InitContainerStatuses, container.Name)
		if trouble := containerTrouble(status); trouble != "" {
			return trouble
		}
		if status.State.Terminated == nil && (status.Started == nil || !*status.Started) {
			return fmt.Sprintf("Init: %s (%d of %d)", container.Name, i+1, len(pod.Spec.InitContainers))
		}
	}
	waiting := ""
	for _, container := range containers {
		if trouble := containerTrouble(container.status); trouble != "" {
			return trouble
		}
		if state := container.status.State.Waiting; state != nil {
			waiting = cmp.Or(waiting, state.Reason)
		}
	}
	if waiting != "" {
		return waiting
	}
	for _, container := range containers {
		if container.status.State.Running != nil && !container.status.Ready {
			return "NotReady: " + container.name + ": runs and is not ready"
		}
	}
	return clean(pod.Status.Message)
}

// containerTrouble is what went wrong with a container, "" when nothing did.
func containerTrouble(status v1.ContainerStatus) string {
	if waiting := status.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "", "ContainerCreating", "PodInitializing":
			return ""
		}
		return joined(waiting.Reason, joined(status.Name, waiting.Message))
	}
	ended := status.State.Terminated
	if ended == nil || ended.ExitCode == 0 && ended.Signal == 0 {
		return ""
	}
	how := fmt.Sprintf("exit code %d", ended.ExitCode)
	if ended.Signal != 0 {
		how = fmt.Sprintf("signal %d", ended.Signal)
	}
	return joined(cmp.Or(ended.Reason, "Error"), joined(status.Name, joined(how, ended.Message)))
}

// joined is "what: more", or the one that there is.
func joined(what, more string) string {
	what, more = clean(what), clean(more)
	if what == "" || more == "" {
		return what + more
	}
	return what + ": " + more
}
