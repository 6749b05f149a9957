package main

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healthyPod has a plain init container, a sidecar and a regular container,
// and all is well with it.
func healthyPod() *v1.Pod {
	always, yes := v1.ContainerRestartPolicyAlways, true
	pod := &v1.Pod{}
	pod.CreationTimestamp = metav1.NewTime(time.Unix(100, 0))
	pod.Spec.InitContainers = []v1.Container{{Name: "fetch"}, {Name: "side", RestartPolicy: &always}}
	pod.Spec.Containers = []v1.Container{{Name: "app"}}
	start := metav1.NewTime(time.Unix(200, 0))
	pod.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &start,
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		InitContainerStatuses: []v1.ContainerStatus{
			{Name: "fetch", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
			{Name: "side", Started: &yes, Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		},
		ContainerStatuses: []v1.ContainerStatus{
			{Name: "app", Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		},
	}
	return pod
}

func waiting(reason, message string) v1.ContainerState {
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func TestDescribePod(t *testing.T) {
	notReady := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	for _, tt := range []struct {
		name                 string
		edit                 func(*v1.Pod)
		phase, ready, reason string
		good                 bool
	}{
		{"healthy", func(*v1.Pod) {}, "Running", "2/2", "", true},
		{"new", func(p *v1.Pod) { p.Status = v1.PodStatus{} }, "Pending", "0/2", "Init: fetch (1 of 2)", false},
		{"ending", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, "Running", "2/2", "Terminating", false},
		{"succeeded", func(p *v1.Pod) {
			p.Status.Phase, p.Status.Conditions = v1.PodSucceeded, notReady
			p.Status.ContainerStatuses[0].Ready = false
		}, "Succeeded", "1/2", "Completed", true},
		{"failed", func(p *v1.Pod) {
			p.Status.Phase = v1.PodFailed
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: v1.ContainerState{
				Terminated: &v1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "no such\nhost\x1b[0m"},
			}}
		}, "Failed", "1/2", "Error: app: exit code 3: no such; host", false},
		{"killed", func(p *v1.Pod) {
			p.Status.Phase = v1.PodFailed
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: v1.ContainerState{
				Terminated: &v1.ContainerStateTerminated{Signal: 9},
			}}
		}, "Failed", "1/2", "Error: app: signal 9", false},
		{"pod reason", func(p *v1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodPending, "UnsupportedByEngine", "no negative OOM score"
		}, "Pending", "2/2", "UnsupportedByEngine: no negative OOM score", false},
		{"pulling", func(p *v1.Pod) {
			p.Status.Phase, p.Status.Conditions = v1.PodPending, notReady
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: waiting("ContainerCreating", "")}
		}, "Pending", "1/2", "ContainerCreating", false},
		{"crash loop", func(p *v1.Pod) {
			p.Status.Conditions = notReady
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: waiting("CrashLoopBackOff", "back-off 10s")}
		}, "Running", "1/2", "CrashLoopBackOff: app: back-off 10s", false},
		{"init fails", func(p *v1.Pod) {
			p.Status.Phase, p.Status.Conditions = v1.PodPending, notReady
			p.Status.InitContainerStatuses[0].State.Terminated.ExitCode = 1
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: waiting("PodInitializing", "")}
		}, "Pending", "1/2", "Error: fetch: exit code 1", false},
		{"sidecar starts", func(p *v1.Pod) {
			p.Status.Phase, p.Status.Conditions = v1.PodPending, notReady
			p.Status.InitContainerStatuses[1] = v1.ContainerStatus{Name: "side", State: waiting("PodInitializing", "")}
			p.Status.ContainerStatuses[0] = v1.ContainerStatus{Name: "app", State: waiting("PodInitializing", "")}
		}, "Pending", "0/2", "Init: side (2 of 2)", false},
		{"not ready", func(p *v1.Pod) {
			p.Status.Conditions = notReady
			p.Status.ContainerStatuses[0].Ready = false
		}, "Running", "1/2", "NotReady: app: runs and is not ready", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := healthyPod()
			tt.edit(pod)
			got := describePod(pod)
			if got.phase != tt.phase || got.ready != tt.ready || got.reason != tt.reason || got.good != tt.good {
				t.Errorf("got %+v, want %+v", got, tt)
			}
		})
	}
}

func TestDescribePodCountsAndDates(t *testing.T) {
	pod := healthyPod()
	pod.Status.InitContainerStatuses[1].RestartCount = 2
	pod.Status.ContainerStatuses[0].RestartCount = 3
	if got := describePod(pod); got.restarts != 5 || !got.since.Equal(time.Unix(200, 0)) {
		t.Errorf("got %+v", got)
	}
	pod.Status.StartTime = nil
	if got := describePod(pod); !got.since.Equal(time.Unix(100, 0)) {
		t.Errorf("got %+v", got)
	}
}
