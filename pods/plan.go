package pods

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Plan decides what to do now under one key.
//
// It is total (no input makes it panic), has no memory and changes nothing it
// is given. Actions come in the order in which they may be carried out; those
// of one instance never wait for another action of the same answer except that
// changes of the record come first.
//
// A want that is on hold freezes the key: nothing is started, stopped or
// removed for it; only an end that was decided before goes on. A nil want, or
// one with another UID than the live instance, ends that instance; the wanted
// one begins in the Plan after the last of its predecessors was forgotten.
func Plan(now time.Time, want *Want, have Have) Decision {
	p := &planner{now: now, dead: have.Dead}
	hold := want != nil && want.Hold
	if want != nil && want.Pod == nil {
		want = nil
	}
	live := p.liveOf(want, have)
	left := 0
	for i := range have.Instances {
		if i == live && (hold || keeps(want, &have.Instances[i])) {
			continue
		}
		if hold && have.Instances[i].Record.Deletion == nil {
			left++
			continue
		}
		if !p.end(want, &have.Instances[i]) {
			left++
		}
	}
	switch {
	case hold:
		if live >= 0 && have.Instances[live].Record.Pod != nil {
			p.view(&have.Instances[live]).rememberAll() // a note in the record changes nothing else
		}
		p.wait("held until its source has been read")
	case want == nil:
	case live >= 0 && keeps(want, &have.Instances[live]):
		p.live(want, &have.Instances[live], left > 0)
	case len(have.Instances) > 0:
		p.wait("waiting until the predecessor is gone")
	case want.Unsupported != "":
		p.wait("%s: %s", ReasonUnsupportedByEngine, want.Unsupported)
	default:
		p.begin(want)
	}
	return Decision{Actions: p.actions, Wake: p.wake, Waiting: p.waiting}
}

// planner collects the answer to one question.
type planner struct {
	now     time.Time
	dead    DeadPolicy
	actions []Action
	wake    time.Time
	waiting string
}

// wakeAt asks to be asked again at t.
func (p *planner) wakeAt(t time.Time) {
	if p.wake.IsZero() || t.Before(p.wake) {
		p.wake = t
	}
}

// wait says what the pod waits for; what is said first is kept.
func (p *planner) wait(format string, args ...any) {
	if p.waiting == "" {
		p.waiting = fmt.Sprintf(format, args...)
	}
}

// liveOf returns the index of the instance that is to live: the wanted one, or
// else the first that is not being ended; -1 if there is none.
func (p *planner) liveOf(want *Want, have Have) int {
	live := -1
	for i := range have.Instances {
		in := &have.Instances[i]
		if in.Stray || in.Record.Deletion != nil {
			continue
		}
		if live < 0 || (keeps(want, in) && !keeps(want, &have.Instances[live])) {
			live = i
		}
	}
	return live
}

// keeps reports whether the want is for this very instance.
func keeps(want *Want, in *Instance) bool {
	return want != nil && want.Pod != nil && want.Pod.UID == in.Record.UID
}

// begin makes the wanted pod live, and goes on with it in the same answer, so
// that its first steps need no second look at the engine.
func (p *planner) begin(want *Want) {
	in := &Instance{Record: NewRecord(p.now, KeyOf(want.Pod), want)}
	p.actions = append(p.actions, Action{
		Kind: ActBegin, UID: want.Pod.UID, Reason: "pod is wanted by " + origin(want),
	})
	p.live(want, in, false)
}

// origin names the document of a want for people.
func origin(want *Want) string {
	switch {
	case want.Path != "":
		return want.Source + " " + want.Path
	case want.Source != "":
		return want.Source
	}
	return "its manifest"
}

// view is one instance while it is planned for.
type view struct {
	*planner
	in  *Instance
	rec *Record // in.Record, or a copy with the changes this answer makes
	mem map[string]Memory
	// starting: a start is under way or was just asked for.
	starting bool
	// inOrder: a container that never ran waits for its image, so those after
	// it that never ran wait too.
	inOrder bool
}

func (p *planner) view(in *Instance) *view {
	v := &view{planner: p, in: in, rec: &in.Record}
	for _, op := range in.Ops {
		if op.Action.Kind == ActStartContainer {
			v.starting = true
		}
	}
	return v
}

// change gives the view a record of its own to change.
func (v *view) change() *Record {
	if v.rec == &v.in.Record {
		own := v.in.Record
		v.rec = &own
	}
	return v.rec
}

// memory returns what is remembered of a container after this answer.
func (v *view) memory(name string) (Memory, bool) {
	if m, ok := v.mem[name]; ok {
		return m, true
	}
	m, ok := v.rec.Containers[name]
	return m, ok
}

// busy reports whether the action is under way.
func (v *view) busy(a Action) bool {
	if len(v.in.Ops) == 0 {
		return false
	}
	_, ok := v.in.Ops[a.Target()]
	return ok
}

// do asks for an action unless it is under way or failed a moment ago.
func (v *view) do(a Action) {
	a.UID = v.uid()
	if a.Kind.Beside() {
		if v.busy(a) {
			return
		}
		if until := v.failedUntil(a); until.After(v.now) {
			v.wait("%s failed: %s", a.Kind, v.in.Failures[a.Container].Message)
			v.wakeAt(until)
			return
		}
	}
	v.actions = append(v.actions, a)
}

func (v *view) uid() types.UID { return v.in.Record.UID }

// failedUntil is until when an action rests because it failed; zero: it may go on.
func (v *view) failedUntil(a Action) time.Time {
	f, ok := v.in.Failures[a.Container]
	if !ok || f.Kind != a.Kind || (f.Image != "" && a.Image != "" && f.Image != a.Image) {
		return time.Time{}
	}
	if f.At.After(v.now.Add(clockSlack)) {
		return time.Time{} // the clock was set back
	}
	return f.At.Add(RetryDelay(f))
}

// begun reports whether any container of the instance has ever run.
func (v *view) begun() bool {
	if v.rec.Initialized {
		return true
	}
	for _, m := range v.rec.Containers {
		if m.Run != RunTried {
			return true
		}
	}
	for i := range v.in.Observed.Containers {
		if v.in.Observed.Containers[i].State != StateCreated {
			return true
		}
	}
	return false
}
