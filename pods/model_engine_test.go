package pods

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func (m *model) complete(op *modelOp) {
	in := m.insts[op.uid]
	if op.lost {
		in = nil
	}
	if in != nil {
		delete(in.Ops, op.a.Target())
	}
	fail := func(reason string) {
		if in == nil {
			return
		}
		f := in.Failures[op.a.Container]
		if f.Kind != op.a.Kind {
			f.Count = 0
		}
		in.Failures[op.a.Container] = Failure{Kind: op.a.Kind, Image: op.a.Image, Reason: reason, Message: "model", At: m.now, Count: f.Count + 1}
	}
	b := m.behave(op.a.Container)
	a := op.a
	switch a.Kind {
	case ActEnsureImage:
		if b.pullFails {
			fail(ReasonErrImagePull)
			return
		}
		if in != nil {
			in.Images[a.Container] = Image{Ref: a.Image, ID: "sha256:" + a.Image}
		}
	case ActCreateSandbox:
		host := false
		if in != nil && in.Record.Pod != nil {
			host = in.Record.Pod.Spec.HostNetwork
		}
		box := &modelBox{uid: op.uid, Sandbox: Sandbox{ID: m.id(), Attempt: a.Attempt, State: StateRunning,
			HostNetwork: host, IPs: []string{"10.0.0.2"}, CreatedAt: m.now, StartedAt: m.now}}
		m.boxes = append(m.boxes, box)
		if b.startFails != startWorks {
			box.State = StateExited
			if b.startFails == startLeavesNothing {
				m.boxes = m.boxes[:len(m.boxes)-1]
			}
			fail(ReasonFailedCreatePodSandBox)
			return
		}
	case ActStartContainer:
		if in != nil {
			delete(in.Images, a.Container)
		}
		if reason := m.startRun(op); reason != "" {
			fail(reason)
			return
		}
	case ActSignal:
		if r := m.run(a.ID); r != nil && r.State == StateRunning && !r.b.ignoreTerm {
			m.exit(r, 143, false)
		}
	case ActKill:
		if r := m.run(a.ID); r != nil && r.State == StateRunning {
			m.exit(r, 137, false)
		}
		for _, box := range m.boxes {
			if box.ID == a.ID {
				box.State = StateExited
			}
		}
	case ActRemove:
		m.remove(a)
	}
	if in != nil && in.Failures[a.Container].Kind == a.Kind {
		delete(in.Failures, a.Container)
	}
}

func (m *model) startRun(op *modelOp) (reason string) {
	a := op.a
	for _, r := range m.runs {
		if r.uid != op.uid || r.Name != a.Container || r.Attempt != a.Attempt || r.State != StateCreated {
			continue
		}
		switch r.b.startFails {
		case startLeavesNothing:
			m.drop(r.ID)
			return ReasonCreateContainer
		case startLeavesCreated:
			r.b.startFails = startWorks
			return ReasonCreateContainer
		case startLeavesExited:
			r.State, r.Reason, r.ExitCode, r.FinishedAt = StateExited, ReasonContainerCannotRun, 127, r.CreatedAt
			m.used(op.uid, a)
			return ReasonRunContainer
		}
		boxUp := false
		for _, box := range m.boxes {
			boxUp = boxUp || (box.ID == r.SandboxID && box.State == StateRunning)
		}
		if !boxUp {
			r.State, r.Reason, r.ExitCode, r.FinishedAt = StateExited, ReasonContainerCannotRun, 128, r.CreatedAt
			return ReasonRunContainer
		}
		for _, other := range m.runs {
			if other != r && other.Name == r.Name && other.State == StateRunning {
				m.fault("two live copies of %s", r.Name)
			}
		}
		r.State, r.StartedAt, r.exit = StateRunning, m.now, r.b.exit
		if IsSidecar(m.podOf(op.uid), r.Name) {
			m.passed[r.SandboxID+"/"+r.Name] = true
		}
		m.used(op.uid, a)
		if r.b.lives > 0 {
			r.dies = m.now.Add(r.b.lives)
		}
		return ""
	}
	return ReasonCreateContainer // it was removed meanwhile
}

func (m *model) used(uid types.UID, a Action) {
	key := string(uid) + "/" + a.Container
	if m.attempts[key] == nil {
		m.attempts[key] = map[int]bool{}
	}
	if m.attempts[key][a.Attempt] {
		m.fault("attempt %d of %s ran twice", a.Attempt, key)
	}
	m.attempts[key][a.Attempt] = true
}

func (m *model) run(id string) *modelRun {
	for _, r := range m.runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (m *model) exit(r *modelRun, code int, natural bool) {
	m.say("%s %s #%d ends with %d", r.uid, r.Name, r.Attempt, code)
	r.State, r.ExitCode, r.FinishedAt, r.dies, r.natural = StateExited, code, m.now, time.Time{}, natural
	m.lastStop[r.uid] = m.now
	if code == 0 {
		m.passed[r.SandboxID+"/"+r.Name] = true
	}
	if natural {
		if m.ended[r.uid] == nil {
			m.ended[r.uid] = map[string]*int{}
		}
		m.ended[r.uid][r.Name] = &code
	}
}

func (m *model) remove(a Action) {
	if r := m.run(a.ID); r != nil {
		if r.State == StateRunning && !a.Force {
			m.fault("remove of the running %s without force", r.Name)
			return
		}
		m.drop(a.ID)
		return
	}
	for i, box := range m.boxes {
		if box.ID == a.ID {
			if box.State == StateRunning && !a.Force {
				m.fault("remove of a running sandbox without force")
				return
			}
			m.boxes = append(m.boxes[:i:i], m.boxes[i+1:]...)
			return
		}
	}
}

func (m *model) drop(id string) {
	for i, r := range m.runs {
		if r.ID == id {
			m.runs = append(m.runs[:i:i], m.runs[i+1:]...)
			return
		}
	}
}
