package syncer

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/islet-run/islet/pods"
)

// publish shows the pod to readers: the live instance with its status, or the
// wanted pod that has none yet.
func (w *worker) publish(d pods.Decision) {
	view, ok := w.view(d)
	if !ok {
		return
	}
	w.s.publish(w.key, view)
}

func (w *worker) view(d pods.Decision) (View, bool) {
	now := w.s.Now()
	for _, in := range w.ordered() {
		if in.Stray || in.Record.Pod == nil {
			continue
		}
		status := pods.Status(now, w.s.Node, in.Instance)
		previous := status
		in.Previous = &previous
		if f, ok := in.Failures[""]; ok && status.Phase == v1.PodPending && status.Message == "" {
			// The kubelet tells of it in events alone; here status is what people look at.
			status.Message = f.Reason + ": " + f.Message
		}
		pod := shown(in.Record.Pod, status)
		if del := in.Record.Deletion; del != nil {
			at := metav1.NewTime(del.At)
			grace := del.GraceSeconds
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
		}
		return View{Pod: pod, Waiting: d.Waiting, Source: in.Record.Source, Path: in.Record.Path}, true
	}
	if w.want == nil || w.want.Pod == nil {
		return View{}, false
	}
	want := w.want
	if w.admitted != nil && w.admitted.Pod == want.Pod {
		want = w.admitted
	}
	status := pods.PendingStatus(now, w.s.Node, want)
	return View{Pod: shown(w.want.Pod, status), Waiting: d.Waiting, Source: w.want.Source, Path: w.want.Path}, true
}

// shown makes a shallow copy: metadata and spec are shared with the record,
// which replaces pods and never changes them.
func shown(pod *v1.Pod, status v1.PodStatus) *v1.Pod {
	c := *pod
	c.Status = status
	return &c
}
