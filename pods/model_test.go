package pods

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// model is an engine and the caller of Plan in one, in simulated time. It
// carries plans out the way a caller does, with actions that take time, and
// reports every breach of the rules that Plan must keep.
type model struct {
	now    time.Time
	want   *Want
	insts  map[types.UID]*Instance // what the caller knows
	disk   map[types.UID][]byte    // what survives the caller
	boxes  []*modelBox
	runs   []*modelRun
	under  []*modelOp
	serial int
	deaths int                  // of islet
	first  map[string]time.Time // first stop signal to a run, as long as the caller remembers it

	behave  func(name string) behaviour
	latency func(kind ActionKind) time.Duration

	deadline map[types.UID]time.Time       // of recorded deletions
	attempts map[string]map[int]bool       // uid/name -> attempts that exist or existed as a run
	passed   map[string]bool               // sandbox/name of init containers that let the next ones start
	ended    map[types.UID]map[string]*int // exit codes of the newest natural ends of runs
	stopAt   map[types.UID]time.Time       // deletion time, for the bound on the whole end
	lastStop map[types.UID]time.Time       // when the last container was gone
	wake     time.Time
	waiting  string
	trace    []string
	faults   []string
}

// behaviour is what a run does, and how its start goes.
type behaviour struct {
	lives      time.Duration // 0: for ever
	exit       int
	ignoreTerm bool
	pullFails  bool
	startFails startFault
}

type startFault int

const (
	startWorks startFault = iota
	startLeavesNothing
	startLeavesCreated
	startLeavesExited
)

type modelBox struct {
	Sandbox
	uid types.UID
}

type modelRun struct {
	Container
	uid     types.UID
	dies    time.Time // zero: not by itself
	exit    int
	b       behaviour
	natural bool // it ended by itself
}

type modelOp struct {
	uid  types.UID
	a    Action
	ends time.Time
	lost bool // the caller that asked has died
}

func newModel() *model {
	return &model{
		now:      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		insts:    map[types.UID]*Instance{},
		disk:     map[types.UID][]byte{},
		deadline: map[types.UID]time.Time{},
		attempts: map[string]map[int]bool{},
		passed:   map[string]bool{},
		first:    map[string]time.Time{},
		ended:    map[types.UID]map[string]*int{},
		stopAt:   map[types.UID]time.Time{},
		lastStop: map[types.UID]time.Time{},
		behave:   func(string) behaviour { return behaviour{} },
		latency:  func(ActionKind) time.Duration { return 100 * time.Millisecond },
	}
}

func (m *model) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

func (m *model) say(format string, args ...any) {
	m.trace = append(m.trace, m.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (m *model) id() string { m.serial++; return fmt.Sprintf("id%d", m.serial) }

// ----------------------------------------------------------------- observing

func (m *model) observe() {
	for _, in := range m.insts {
		in.Observed = Observed{UID: in.Record.UID}
	}
	get := func(uid types.UID) *Instance {
		if m.insts[uid] == nil {
			m.insts[uid] = newCallerInstance(Record{UID: uid})
			m.insts[uid].Stray = true
		}
		return m.insts[uid]
	}
	for _, b := range m.boxes {
		in := get(b.uid)
		in.Observed.Sandboxes = append(in.Observed.Sandboxes, b.Sandbox)
	}
	for _, r := range m.runs {
		in := get(r.uid)
		in.Observed.Containers = append(in.Observed.Containers, r.Container)
	}
	for uid, in := range m.insts {
		if in.Stray && in.Observed.Empty() && len(in.Ops) == 0 {
			delete(m.insts, uid)
		}
	}
}

func newCallerInstance(r Record) *Instance {
	if r.Containers == nil {
		r.Containers = map[string]Memory{}
	}
	return &Instance{Record: r, Images: map[string]Image{}, Failures: map[string]Failure{},
		Ops: map[string]Op{}, Signalled: map[string]Signalled{}}
}

func (m *model) have() Have {
	var list []*Instance
	for _, in := range m.insts {
		list = append(list, in)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Stray != b.Stray {
			return !a.Stray
		}
		if !a.Record.StartTime.Equal(b.Record.StartTime) {
			return a.Record.StartTime.After(b.Record.StartTime)
		}
		return a.Record.UID < b.Record.UID
	})
	var h Have
	for _, in := range list {
		h.Instances = append(h.Instances, *in)
	}
	return h
}

// settle asks Plan and carries out until nothing more is to be done now.
func (m *model) settle() {
	for pass := 0; ; pass++ {
		if pass > 60 {
			m.fault("plan does not come to rest at %s", m.now)
			return
		}
		m.observe()
		m.claim()
		d := Plan(m.now, m.want, m.have())
		m.wake, m.waiting = d.Wake, d.Waiting
		if !d.Wake.IsZero() && !d.Wake.After(m.now) && len(d.Actions) == 0 {
			m.fault("wake %s is not after now %s", d.Wake, m.now)
		}
		if len(d.Actions) == 0 {
			return
		}
		for _, a := range d.Actions {
			m.carryOut(a)
		}
		m.save()
	}
}

func (m *model) save() {
	for uid, in := range m.insts {
		if in.Stray {
			continue
		}
		b, err := json.Marshal(in.Record)
		if err != nil {
			panic(err)
		}
		m.disk[uid] = b
	}
}

// ------------------------------------------------------------- carrying out

func (m *model) carryOut(a Action) {
	m.say("%s %s %s #%d %s: %s", a.UID, a.Kind, a.Container, a.Attempt, a.ID, a.Reason)
	if a.Reason == "" {
		m.fault("%s without a reason", a.Kind)
	}
	in := m.insts[a.UID]
	if in == nil && a.Kind != ActBegin {
		m.fault("%s for unknown instance %s", a.Kind, a.UID)
		return
	}
	switch a.Kind {
	case ActBegin:
		for uid, other := range m.insts {
			if !other.Observed.Empty() {
				m.fault("begin of %s while %s is still on the engine", a.UID, uid)
			}
		}
		m.insts[a.UID] = newCallerInstance(NewRecord(m.now, KeyOf(m.want.Pod), m.want))
	case ActUpdate:
		in.Record.Pod = m.want.Pod
	case ActDelete:
		if old, ok := m.deadline[a.UID]; ok && a.Deletion.Deadline().After(old) {
			m.fault("deadline of %s moved from %s to %s", a.UID, old, a.Deletion.Deadline())
		}
		if _, ok := m.stopAt[a.UID]; !ok {
			m.stopAt[a.UID] = m.now
		}
		m.deadline[a.UID] = a.Deletion.Deadline()
		in.Record.Deletion = a.Deletion
	case ActFinish:
		if in.Record.Outcome != nil {
			m.fault("%s finishes twice", a.UID)
		}
		m.checkOutcome(in, a.Outcome)
		in.Record.Outcome = a.Outcome
	case ActRemember:
		m.checkReset(in, a)
		if a.Memory.Restarts < in.Record.Containers[a.Container].Restarts {
			m.fault("restart count of %s went back", a.Container)
		}
		in.Record.Containers[a.Container] = *a.Memory
	case ActForget:
		if m.holdsAnything(a.UID) {
			m.fault("forget %s while the engine holds something", a.UID)
		}
		delete(m.insts, a.UID)
		delete(m.disk, a.UID)
	default:
		m.launch(in, a)
	}
}

func (m *model) holdsAnything(uid types.UID) bool {
	for _, b := range m.boxes {
		if b.uid == uid {
			return true
		}
	}
	for _, r := range m.runs {
		if r.uid == uid {
			return true
		}
	}
	return false
}

func (m *model) launch(in *Instance, a Action) {
	if _, ok := in.Ops[a.Target()]; ok {
		m.fault("%s is already under way", a.Target())
		return
	}
	m.check(in, a)
	in.Ops[a.Target()] = Op{Action: a, Since: m.now}
	switch a.Kind {
	case ActSignal:
		s := in.Signalled[a.ID]
		if !s.At.IsZero() && a.Deadline.After(s.Deadline) {
			m.fault("deadline of %s moved from %s to %s", a.ID, s.Deadline, a.Deadline)
		}
		if s.At.IsZero() {
			m.first[a.ID] = m.now
		}
		in.Signalled[a.ID] = Signalled{At: m.now, Deadline: a.Deadline, Reason: a.Reason}
	case ActKill:
		s := in.Signalled[a.ID]
		s.Killed = m.now
		in.Signalled[a.ID] = s
	case ActStartContainer:
		in.Record.Containers[a.Container] = *a.Memory
	}
	m.under = append(m.under, &modelOp{uid: a.UID, a: a, ends: m.now.Add(m.latency(a.Kind))})
	if a.Kind == ActStartContainer {
		m.create(in, a)
	}
}

// create is the first half of a start: the container exists and has not run.
func (m *model) create(in *Instance, a Action) {
	for _, r := range m.runs {
		if r.uid == a.UID && r.Name == a.Container && r.Attempt == a.Attempt {
			if r.State != StateCreated {
				m.fault("attempt %d of %s is used twice", a.Attempt, a.Container)
			}
			return
		}
	}
	def, kind := ContainerByName(in.Record.Pod, a.Container)
	box, _ := ReadySandbox(in.Observed)
	m.runs = append(m.runs, &modelRun{uid: a.UID, b: m.behave(a.Container), Container: Container{
		ID: m.id(), SandboxID: box.ID, Name: a.Container, Type: kind, Attempt: a.Attempt, Restarts: a.Restarts,
		Generation: in.Record.Pod.Generation, Hash: ContainerHash(def), State: StateCreated, Image: def.Image, CreatedAt: m.now,
	}})
}

// ---------------------------------------------------------------------- time

// next is when something happens next; zero: nothing will.
func (m *model) next() (t time.Time) {
	sooner := func(c time.Time) {
		if !c.IsZero() && (t.IsZero() || c.Before(t)) {
			t = c
		}
	}
	for _, op := range m.under {
		sooner(op.ends)
	}
	for _, r := range m.runs {
		if r.State == StateRunning {
			sooner(r.dies)
		}
	}
	sooner(m.wake)
	return t
}

// advance lets time pass until t, settling at everything that happens.
func (m *model) advance(t time.Time) {
	m.settle()
	for len(m.faults) == 0 {
		n := m.next()
		if n.IsZero() || n.After(t) {
			break
		}
		m.now = later(m.now, n)
		m.happen()
		m.settle()
	}
	m.now = later(m.now, t)
}

// happen does what is due now.
func (m *model) happen() {
	var rest []*modelOp
	var due []*modelOp
	for _, op := range m.under {
		if op.ends.After(m.now) {
			rest = append(rest, op)
		} else {
			due = append(due, op)
		}
	}
	m.under = rest
	for _, op := range due {
		m.complete(op)
	}
	for _, r := range m.runs {
		if r.State == StateRunning && !r.dies.IsZero() && !r.dies.After(m.now) {
			m.exit(r, r.exit, true)
		}
	}
}

// claim gives the wanted pod its record back when it was lost.
func (m *model) claim() {
	if m.want == nil || m.want.Hold || m.want.Pod == nil {
		return
	}
	if in := m.insts[m.want.Pod.UID]; in != nil && in.Stray && len(in.Signalled) == 0 {
		in.Stray, in.Record = false, RecoverRecord(m.now, KeyOf(m.want.Pod), m.want, in.Observed)
		m.save()
	}
}

// loseRecord loses the record of the wanted pod, and with it what only the
// record knew: runs may then be numbered and repeated anew.
func (m *model) loseRecord() {
	if m.want == nil || m.want.Pod == nil || m.want.Hold {
		return
	}
	uid := m.want.Pod.UID
	in := m.insts[uid]
	if in == nil || in.Record.Deletion != nil || in.Record.Outcome != nil || len(in.Ops) > 0 || len(in.Signalled) > 0 {
		return
	}
	m.say("the record of %s is lost", uid)
	delete(m.insts, uid)
	delete(m.disk, uid)
	delete(m.ended, uid)
	for key := range m.attempts {
		if strings.HasPrefix(key, string(uid)+"/") {
			delete(m.attempts, key)
		}
	}
	for _, r := range m.runs {
		if r.uid == uid && r.State != StateCreated {
			m.used(uid, Action{Container: r.Name, Attempt: r.Attempt})
		}
	}
}

// isletDies loses all that the caller did not write down. Calls under way reach
// the engine nevertheless.
func (m *model) isletDies() {
	m.say("islet dies and starts again")
	m.deaths++
	m.insts = map[types.UID]*Instance{}
	for uid, b := range m.disk {
		var r Record
		if err := json.Unmarshal(b, &r); err != nil {
			panic(err)
		}
		m.insts[uid] = newCallerInstance(r)
	}
	for _, op := range m.under {
		op.lost = true
		// The engine finishes what it was asked before islet looks again.
		m.complete(op)
	}
	m.under = nil
}

// reboot ends everything that runs, and islet with it.
func (m *model) reboot() {
	m.say("the machine reboots")
	m.under = nil
	for _, r := range m.runs {
		if r.State == StateRunning {
			m.exit(r, 137, false)
		}
	}
	for _, box := range m.boxes {
		box.State = StateExited
	}
	m.isletDies()
}

func (m *model) podOf(uid types.UID) *v1.Pod {
	if in := m.insts[uid]; in != nil {
		return in.Record.Pod
	}
	return nil
}
