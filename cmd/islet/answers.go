package main

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/islet-run/islet/httpapi"
	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/sources"
)

func (i *islet) podList() *v1.PodList {
	views := i.syncer.Views()
	list := &v1.PodList{
		TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
		Items:    make([]v1.Pod, 0, len(views)),
	}
	for _, v := range views {
		list.Items = append(list.Items, *v.Pod)
	}
	return list
}

func (i *islet) manifests() []httpapi.Manifest {
	entries := i.config.Entries()
	list := make([]httpapi.Manifest, 0, len(entries))
	for _, e := range entries {
		list = append(list, i.manifest(e))
	}
	return list
}

// manifest adds to an entry what became of it.
func (i *islet) manifest(e sources.Entry) httpapi.Manifest {
	m := httpapi.Manifest{
		Source: e.Source, Path: e.Path, Document: e.Document, Line: e.Line,
		Kind: e.Kind, Namespace: e.Namespace, Name: e.Name,
		Verdict: string(e.Verdict), LastGood: e.LastGood, Reason: e.Reason, Message: e.Message,
		Digest: e.Digest, Since: e.Since,
	}
	if e.Kind != "Pod" || m.Verdict == httpapi.VerdictConflict || (m.Verdict == httpapi.VerdictRejected && !m.LastGood) {
		return m // what runs under that name is not of this document
	}
	key := pods.Key{Realm: pods.RealmLocal, Namespace: e.Namespace, Name: e.Name}
	if v, ok := i.syncer.View(key); ok {
		m.Pod = &httpapi.ManifestPod{UID: string(v.Pod.UID), Phase: v.Pod.Status.Phase}
	}
	return m
}

func (i *islet) why(namespace, name string) (httpapi.Why, bool) {
	key := pods.Key{Realm: pods.RealmLocal, Namespace: namespace, Name: name}
	why := httpapi.Why{Namespace: namespace, Name: name, Events: []httpapi.Event{}}
	view, found := i.syncer.View(key)
	if found {
		why.UID = string(view.Pod.UID)
		why.Phase = string(view.Pod.Status.Phase)
		why.Waiting = view.Waiting
	}
	for _, e := range i.config.Entries() {
		if e.Kind == "Pod" && e.Namespace == namespace && e.Name == name {
			why.Manifests = append(why.Manifests, i.manifest(e))
			found = true
		}
	}
	for _, e := range i.syncer.Recorder.Events(key) {
		why.Events = append(why.Events, httpapi.Event{
			Time: e.Time, Count: e.Count, UID: string(e.UID), Type: e.Type,
			Reason: e.Reason, Container: e.Container, Message: e.Message,
		})
		found = true
	}
	return why, found
}
