package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/islet-run/islet/httpapi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func instance(name string, uid types.UID, ending bool) v1.Pod {
	pod := healthyPod()
	pod.Namespace, pod.Name, pod.UID = "default", name, uid
	if ending {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	return *pod
}

func document(path, name, verdict string) httpapi.Manifest {
	return httpapi.Manifest{Source: "file", Path: path, Line: 1, Kind: "Pod", Namespace: "default", Name: name, Verdict: verdict}
}

// told is a row as source, name, phase and reason.
func told(rows []statusRow) [][4]string {
	var short [][4]string
	for _, r := range rows {
		short = append(short, [4]string{r.source, r.name, r.phase, r.reason})
	}
	return short
}

func TestStatusRowsOfReplacement(t *testing.T) {
	new := document("/m/web.yaml", "web", httpapi.VerdictAccepted)
	new.Pod = &httpapi.ManifestPod{UID: "new"}
	for _, tt := range []struct {
		name string
		pods []v1.Pod
		want [][4]string
	}{
		{"both", []v1.Pod{instance("web", "old", true), instance("web", "new", false)}, [][4]string{
			{"/m/web.yaml:1", "web", "Running", ""},
			{"-", "web", "Running", "Terminating: its successor waits for it"},
		}},
		{"only the old", []v1.Pod{instance("web", "old", true)}, [][4]string{{"/m/web.yaml:1", "web", "Running", "Terminating"}}},
		{"none", nil, [][4]string{{"/m/web.yaml:1", "web", "Pending", "not started yet"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := statusRows(statusReport{Manifests: []httpapi.Manifest{new}, Pods: &v1.PodList{Items: tt.pods}})
			if diff := cmp.Diff(tt.want, told(rows)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusRowsOfOtherDocuments(t *testing.T) {
	directory := httpapi.Manifest{Source: "file", Path: "/m", Verdict: httpapi.VerdictRejected, Reason: "DirectoryGone", Message: "not there"}
	pushed := document("", "pushed", httpapi.VerdictConflict)
	pushed.Source, pushed.Line = "push", 0
	config := document("/m/cfg.yaml", "cfg", httpapi.VerdictAccepted)
	config.Kind = "ConfigMap"
	held := config
	held.Verdict, held.LastGood, held.Reason, held.Message = httpapi.VerdictRejected, true, "UnknownField", "dta: unknown field"
	rows := statusRows(statusReport{Manifests: []httpapi.Manifest{directory, pushed, config, held}, Pods: &v1.PodList{}})
	want := [][4]string{
		{"/m/cfg.yaml:1", "ConfigMap/cfg", "-", "LastGood: cfg.yaml:1 dta: unknown field"},
		{"push", "pushed", "-", "Conflict: another document holds the name"},
		{"/m", "", "-", "Rejected: DirectoryGone: not there"},
	}
	if diff := cmp.Diff(want, told(rows)); diff != "" {
		t.Error(diff)
	}
}

func TestStatusCells(t *testing.T) {
	now := time.Unix(1000, 0)
	row := statusRow{source: "s", phase: "Running", ready: "1/1", restarts: "0", since: now.Add(-90 * time.Second), reason: "a\x07b"}
	if diff := cmp.Diff([]string{"-", "-", "s", "Running", "1/1", "0", "90s", "ab"}, row.cells(now)); diff != "" {
		t.Error(diff)
	}
	row.since = now.Add(time.Hour) // the clock was set back
	if got := row.cells(now)[6]; got != "0s" {
		t.Errorf("age %q", got)
	}
	if got := row.cells(time.Time{})[6]; got != "-" {
		t.Errorf("age without a now %q", got)
	}
}
