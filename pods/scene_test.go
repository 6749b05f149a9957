package pods

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// t0 is when the pod of every scene began.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return t0.Add(time.Duration(seconds * float64(time.Second)))
}

func ptr[T any](v T) *T { return &v }

// basePod has a plain init container (setup), a sidecar (log) and two regular
// containers (web, app).
func basePod() *v1.Pod {
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID, pod.Generation = "web", "default", "u1", 1
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.TerminationGracePeriodSeconds = ptr(int64(30))
	pod.Spec.InitContainers = []v1.Container{
		{Name: "setup", Image: "setup:1", ImagePullPolicy: v1.PullIfNotPresent},
		{Name: "log", Image: "log:1", ImagePullPolicy: v1.PullIfNotPresent, RestartPolicy: ptr(v1.ContainerRestartPolicyAlways)},
	}
	pod.Spec.Containers = []v1.Container{
		{Name: "web", Image: "web:1", ImagePullPolicy: v1.PullIfNotPresent},
		{Name: "app", Image: "app:1", ImagePullPolicy: v1.PullAlways},
	}
	return pod
}

// scene is a moment in the life of one pod, to be changed by a test.
type scene struct {
	now  time.Time
	want *Want
	have Have
}

// running is the scene that all others are made from: the pod has run for 100
// seconds and nothing is to be done.
func running() *scene {
	pod := basePod()
	in := Instance{
		Record:    NewRecord(t0, KeyOf(pod), &Want{Pod: pod, Source: "file", Path: "/m/web.yaml"}),
		Images:    map[string]Image{},
		Failures:  map[string]Failure{},
		Ops:       map[string]Op{},
		Signalled: map[string]Signalled{},
	}
	in.Observed = Observed{UID: "u1", Sandboxes: []Sandbox{{
		ID: "box0", State: StateRunning, IPs: []string{"10.0.0.2"}, CreatedAt: t0, StartedAt: at(1),
	}}}
	s := &scene{now: at(100), have: Have{Instances: []Instance{in}}, want: &Want{Pod: pod, Source: "file", Path: "/m/web.yaml"}}
	s.add("setup", StateExited)
	for _, name := range []string{"log", "web", "app"} {
		s.add(name, StateRunning)
	}
	s.in().Record.Initialized = true
	return s
}

// fresh is the scene of a wanted pod of which there is nothing.
func fresh() *scene {
	s := running()
	s.now, s.have = t0, Have{}
	return s
}

func (s *scene) in() *Instance { return &s.have.Instances[0] }
func (s *scene) pod() *v1.Pod  { return s.in().Record.Pod }

// add adds run 0 of a container and what is remembered of it.
func (s *scene) add(name string, state State) *Container {
	def, kind := ContainerByName(s.pod(), name)
	c := Container{
		ID: name + "0", SandboxID: "box0", Name: name, Type: kind, Hash: ContainerHash(def), State: state,
		Image: def.Image, ImageID: "docker://sha-" + name, CreatedAt: at(2), StartedAt: at(3),
	}
	m := Memory{Run: RunStarted}
	if state == StateExited {
		c.FinishedAt, c.Reason = at(4), ReasonCompleted
		m = Memory{Run: RunEnded, Done: true, Last: terminatedOf(&c)}
	}
	s.in().Observed.Containers = append(s.in().Observed.Containers, c)
	s.in().Record.Containers[name] = m
	return &s.in().Observed.Containers[len(s.in().Observed.Containers)-1]
}

// run returns the newest run of a container.
func (s *scene) run(name string) *Container { return newestRun(&s.in().Observed, name, "") }

// ends has a container end, seen and remembered.
func (s *scene) ends(name string, code int, when time.Time) {
	s.endsUnseen(name, code, when)
	s.remember(name)
}

func (s *scene) remember(name string) {
	c := s.run(name)
	m := s.in().Record.Containers[name]
	m.Run, m.Last, m.Done = RunEnded, terminatedOf(c), c.ExitCode == 0 && s.pod().Spec.RestartPolicy != v1.RestartPolicyAlways
	s.in().Record.Containers[name] = m
}

// endsUnseen has a container end without anybody having noted it.
func (s *scene) endsUnseen(name string, code int, when time.Time) {
	c := s.run(name)
	c.State, c.ExitCode, c.FinishedAt, c.Reason = StateExited, code, when, ReasonError
	if code == 0 {
		c.Reason = ReasonCompleted
	}
}

// vanish takes a container from the engine.
func (s *scene) vanish(name string) {
	var kept []Container
	for _, c := range s.in().Observed.Containers {
		if c.Name != name {
			kept = append(kept, c)
		}
	}
	s.in().Observed.Containers = kept
}

func (s *scene) memory(name string, change func(m *Memory)) {
	m := s.in().Record.Containers[name]
	change(&m)
	s.in().Record.Containers[name] = m
}

func (s *scene) under(a Action, since time.Time) {
	a.UID = s.in().Record.UID
	s.in().Ops[a.Target()] = Op{Action: a, Since: since}
}

func (s *scene) image(name string) {
	def, _ := ContainerByName(s.pod(), name)
	s.in().Images[name] = Image{Ref: def.Image, ID: "sha"}
}

// edit puts a new generation of the wanted spec beside the one in force.
func (s *scene) edit(change func(pod *v1.Pod)) {
	pod := s.want.Pod.DeepCopy()
	pod.Generation++
	change(pod)
	w := *s.want
	w.Pod = pod
	s.want = &w
}

// spec changes the pod that is wanted and in force.
func (s *scene) spec(change func(pod *v1.Pod)) { change(s.want.Pod) }

// replaced wants another instance.
func (s *scene) replaced(uid types.UID) {
	s.edit(func(pod *v1.Pod) { pod.UID, pod.Generation = uid, 1 })
}

// lines are the actions of a decision, one per line.
func lines(d Decision) []string {
	var out []string
	for _, a := range d.Actions {
		line := string(a.Kind)
		switch {
		case a.Container != "":
			line += fmt.Sprintf(" %s#%d", a.Container, a.Attempt)
		case a.Kind == ActCreateSandbox:
			line += fmt.Sprintf(" #%d", a.Attempt)
		case a.ID != "":
			line += " " + a.ID
		}
		if a.Force {
			line += " by force"
		}
		out = append(out, line+": "+a.Reason)
	}
	return out
}
