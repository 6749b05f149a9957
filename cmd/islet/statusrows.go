package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/islet-run/islet/httpapi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
)

// statusReport is the answer of status -o json: what GET /manifests and
// GET /pods say, together.
type statusReport struct {
	Manifests []httpapi.Manifest `json:"manifests"`
	Pods      *v1.PodList        `json:"pods"`
	// NotReady says why the rest may be old or not all: the engine is away, or
	// a source has not been read yet.
	NotReady   string `json:"notReady,omitempty"`
	engineAway bool
}

// only returns the part of the report that is about one pod.
func (r statusReport) only(pod podName) statusReport {
	part := r
	part.Manifests, part.Pods = []httpapi.Manifest{}, &v1.PodList{TypeMeta: r.Pods.TypeMeta, Items: []v1.Pod{}}
	for _, m := range r.Manifests {
		if m.Name == pod.name && m.Namespace == pod.namespace && isPodKind(m.Kind) {
			part.Manifests = append(part.Manifests, m)
		}
	}
	for _, p := range r.Pods.Items {
		if p.Name == pod.name && p.Namespace == pod.namespace {
			part.Pods.Items = append(part.Pods.Items, p)
		}
	}
	return part
}

// knownPods are the names of the pods that run or that a document asks for.
func knownPods(manifests []httpapi.Manifest, pods []v1.Pod) []podName {
	var names []podName
	for _, m := range manifests {
		if m.Name != "" && m.Namespace != "" && isPodKind(m.Kind) {
			names = append(names, podName{m.Namespace, m.Name})
		}
	}
	for _, p := range pods {
		names = append(names, podName{p.Namespace, p.Name})
	}
	slices.SortFunc(names, func(a, b podName) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return slices.Compact(names)
}

func isPodKind(kind string) bool { return kind == "Pod" || kind == "" }

// statusRow is a pod with its document, or a document that is no pod.
type statusRow struct {
	namespace, name, source string
	phase, ready, restarts  string
	since                   time.Time // zero: not started
	reason                  string
	good                    bool
}

// cells are what is printed of the row; an age of nothing when now is zero.
func (r statusRow) cells(now time.Time) []string {
	age := nothing
	if !r.since.IsZero() && !now.IsZero() {
		age = duration.HumanDuration(max(0, now.Sub(r.since)))
	}
	return []string{
		orNothing(clean(r.namespace)), orNothing(clean(r.name)), r.source, r.phase, r.ready, r.restarts, age,
		shorten(r.reason, maxReason),
	}
}

var statusHeader = []string{"NAMESPACE", "NAME", "SOURCE", "PHASE", "READY", "RESTARTS", "AGE", "REASON"}

// statusRows joins documents and pods, sorted by namespace and name; what has
// no name comes last.
func statusRows(report statusReport) []statusRow {
	join := newStatusJoin(report)
	var rows []statusRow
	for i := range report.Manifests {
		if row, ok := join.documentRow(&report.Manifests[i]); ok {
			rows = append(rows, row)
		}
	}
	for i := range report.Pods.Items {
		if pod := &report.Pods.Items[i]; !join.shown[pod.UID] {
			rows = append(rows, join.orphanRow(pod))
		}
	}
	slices.SortStableFunc(rows, func(a, b statusRow) int {
		if (a.name == "") != (b.name == "") {
			return len(b.name) - len(a.name)
		}
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return rows
}

// statusJoin finds the pod of a document.
type statusJoin struct {
	byUID  map[types.UID]*v1.Pod
	byName map[podName]*v1.Pod // the instance that is not ending, where there are two
	asked  map[podName]bool    // a document asks for it
	shown  map[types.UID]bool
	// stands has the faults (path and message) that the row of a last good
	// copy tells already.
	stands map[[2]string]bool
}

func newStatusJoin(report statusReport) *statusJoin {
	j := &statusJoin{
		byUID: map[types.UID]*v1.Pod{}, byName: map[podName]*v1.Pod{}, asked: map[podName]bool{},
		shown: map[types.UID]bool{}, stands: map[[2]string]bool{},
	}
	for i := range report.Pods.Items {
		pod := &report.Pods.Items[i]
		j.byUID[pod.UID] = pod
		name := podName{pod.Namespace, pod.Name}
		if other := j.byName[name]; other == nil || other.DeletionTimestamp != nil {
			j.byName[name] = pod
		}
	}
	for _, m := range report.Manifests {
		if m.LastGood {
			j.stands[[2]string{m.Path, m.Message}] = true
		}
		if counts(m) && isPodKind(m.Kind) {
			j.asked[podName{m.Namespace, m.Name}] = true
		}
	}
	return j
}

// counts reports whether a document, or its last good copy, asks for its object.
func counts(m httpapi.Manifest) bool {
	return m.LastGood || m.Verdict == httpapi.VerdictAccepted || m.Verdict == httpapi.VerdictHeld
}

// documentRow is the row of a document. There is none for an accepted object
// that is no pod, nor for a fault that another row tells.
func (j *statusJoin) documentRow(m *httpapi.Manifest) (statusRow, bool) {
	row := statusRow{
		namespace: m.Namespace, name: m.Name, source: place(m.Path, m.Line),
		phase: nothing, ready: nothing, restarts: nothing, reason: documentReason(m),
	}
	if m.Path == "" {
		row.source = orNothing(clean(m.Source))
	}
	pod := isPodKind(m.Kind)
	if !pod && m.Name != "" {
		row.name = m.Kind + "/" + m.Name
	}
	switch {
	case !counts(*m):
		return row, !j.stands[[2]string{m.Path, m.Message}]
	case !pod || m.Kind == "":
		return row, row.reason != "" // an object that runs nothing, or a source as a whole
	}
	running := j.find(m)
	if running == nil {
		row.phase = string(v1.PodPending)
		row.reason = cmp.Or(row.reason, "not started yet")
		return row, true
	}
	j.shown[running.UID] = true
	state := describePod(running)
	row.phase, row.ready, row.restarts, row.since = state.phase, state.ready, strconv.Itoa(state.restarts), state.since
	row.good = state.good && row.reason == ""
	row.reason = both(row.reason, state.reason)
	return row, true
}

func (j *statusJoin) find(m *httpapi.Manifest) *v1.Pod {
	if m.Pod != nil {
		if pod := j.byUID[types.UID(m.Pod.UID)]; pod != nil {
			return pod
		}
	}
	return j.byName[podName{m.Namespace, m.Name}]
}

// orphanRow is the row of a pod whose document went away, or of an instance
// that makes room for its successor.
func (j *statusJoin) orphanRow(pod *v1.Pod) statusRow {
	state := describePod(pod)
	why := "no document asks for it"
	if j.asked[podName{pod.Namespace, pod.Name}] {
		why = "its successor waits for it"
	}
	return statusRow{
		namespace: pod.Namespace, name: pod.Name, source: nothing,
		phase: state.phase, ready: state.ready, restarts: strconv.Itoa(state.restarts), since: state.since,
		reason: joined(cmp.Or(state.reason, "Running"), why),
	}
}

// documentReason says what is wrong with a document, "" when nothing is. With
// a last good copy it names the file in short: the pod beside it is fine.
func documentReason(m *httpapi.Manifest) string {
	what := joined(m.Reason, m.Message)
	switch {
	case m.Verdict == httpapi.VerdictHeld:
		return joined("Held", cmp.Or(what, "its source has not been read since islet started"))
	case m.LastGood:
		return joined("LastGood", clean(place(base(m.Path), m.Line)+" "+cmp.Or(m.Message, m.Reason)))
	case m.Verdict == httpapi.VerdictAccepted:
		return ""
	case m.Verdict == httpapi.VerdictConflict:
		return joined("Conflict", cmp.Or(clean(m.Message), "another document holds the name"))
	}
	return joined("Rejected", what)
}

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

// both joins two reasons.
func both(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}
