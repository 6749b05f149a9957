package pods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// genPod draws a pod with up to three init containers, some of them sidecars,
// and up to three regular ones, some with a restart policy and rules of their
// own.
func genPod(t *rapid.T) *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	grace := rapid.SampledFrom([]int64{0, 1, 2, 10, 30}).Draw(t, "grace")
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.Generation = "web", "default", 1
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.RestartPolicy = rapid.SampledFrom([]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}).Draw(t, "policy")
	for i := range rapid.IntRange(0, 3).Draw(t, "inits") {
		c := v1.Container{Name: fmt.Sprintf("init%d", i), Image: "img:1"}
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = &always
			genRules(t, &c)
		} else {
			genRestart(t, &c, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		c := v1.Container{Name: fmt.Sprintf("main%d", i), Image: "img:1"}
		genRestart(t, &c, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure, always)
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	if rapid.IntRange(0, 5).Draw(t, "deadline") == 0 {
		pod.Spec.ActiveDeadlineSeconds = ptr(rapid.SampledFrom([]int64{1, 45, 600}).Draw(t, "seconds"))
	}
	return pod
}

// genRestart gives some containers a policy of their own, and rules.
func genRestart(t *rapid.T, c *v1.Container, policies ...v1.ContainerRestartPolicy) {
	if rapid.IntRange(0, 2).Draw(t, "own policy") > 0 {
		return
	}
	c.RestartPolicy = ptr(rapid.SampledFrom(policies).Draw(t, "policy"))
	genRules(t, c)
}

// genRules draws rules that no success fits: a pod that succeeds comes to rest.
func genRules(t *rapid.T, c *v1.Container) {
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		rule := v1.ContainerRestartRule{Action: rapid.SampledFrom([]v1.ContainerRestartRuleAction{
			v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers}).Draw(t, "action")}
		rule.ExitCodes = rapid.SampledFrom([]*v1.ContainerRestartRuleOnExitCodes{
			{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{7}},
			{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1, 137}},
			{Operator: v1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0, 1}},
		}).Draw(t, "exit codes")
		c.RestartPolicyRules = append(c.RestartPolicyRules, rule)
	}
}

func sidecarsOf(pod *v1.Pod) (n int) {
	for i := range pod.Spec.InitContainers {
		if restartable(&pod.Spec.InitContainers[i]) {
			n++
		}
	}
	return n
}

// driver draws what happens to a pod.
type driver struct {
	*model
	base   *v1.Pod
	uids   int
	faulty map[string]behaviour
}

func (d *driver) renew() {
	d.uids++
	pod := d.base.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("u%d", d.uids))
	d.want = &Want{Pod: pod, Source: "file", Path: "/m/web.yaml"}
}

func genBehaviour(t *rapid.T, init bool) behaviour {
	b := behaviour{
		ignoreTerm: rapid.IntRange(0, 3).Draw(t, "ignoreTerm") == 0,
		pullFails:  rapid.IntRange(0, 7).Draw(t, "pullFails") == 0,
	}
	if rapid.IntRange(0, 5).Draw(t, "startFails") == 0 {
		b.startFails = startFault(rapid.IntRange(1, 3).Draw(t, "fault"))
	}
	if init || rapid.Bool().Draw(t, "ends") {
		b.lives = time.Duration(rapid.IntRange(1, 40).Draw(t, "lives")) * time.Second
		b.exit = rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(t, "exit")
	}
	return b
}

func (d *driver) event(t *rapid.T) {
	switch rapid.IntRange(0, 15).Draw(t, "event") {
	case 0:
		d.want = nil
		d.say("the manifest is removed")
	case 1:
		d.renew()
		d.say("the pod is replaced by %s", d.want.Pod.UID)
	case 2, 3: // an image edit in place
		if d.want != nil && d.want.Pod != nil {
			d.edit(t)
		}
	case 4:
		d.isletDies()
	case 5:
		d.reboot()
	case 6, 7: // something ends a container
		if r := d.pick(t, StateRunning); r != nil {
			d.exit(r, rapid.SampledFrom([]int{0, 1, 7, 137}).Draw(t, "code"), true)
		}
	case 8: // somebody removes a container by hand
		if r := d.pick(t, StateExited); r != nil {
			d.say("%s #%d is removed by hand", r.Name, r.Attempt)
			d.drop(r.ID)
		}
	case 9: // somebody ends a sandbox
		for _, box := range d.boxes {
			box.State = StateExited
		}
		d.say("sandboxes end")
	case 10: // a shorter grace is asked for
		grace := int64(rapid.IntRange(0, 5).Draw(t, "asked"))
		for _, in := range d.insts {
			if in.Record.Deletion != nil {
				in.Asked = &grace
			}
		}
	case 11:
		if d.want != nil {
			w := *d.want
			w.Hold = !w.Hold
			d.want = &w
			d.say("hold %t", w.Hold)
		}
	case 12: // the record is lost
		for uid, in := range d.insts {
			if in.Record.Deletion == nil && len(in.Ops) == 0 && d.want == nil {
				d.say("the record of %s is lost", uid)
				delete(d.insts, uid)
				delete(d.disk, uid)
				break
			}
		}
	case 13: // the record of a pod that goes on is lost
		d.loseRecord()
	case 14: // all that has ended is collected, and islet forgets what it saw
		for _, r := range append([]*modelRun(nil), d.runs...) {
			if r.State == StateExited {
				d.say("%s #%d is collected", r.Name, r.Attempt)
				d.drop(r.ID)
			}
		}
		d.isletDies()
	default:
		for _, list := range [][]v1.Container{d.base.Spec.InitContainers, d.base.Spec.Containers} {
			for i := range list {
				name := list[i].Name
				d.faulty[name] = genBehaviour(t, strings.HasPrefix(name, "init"))
			}
		}
		d.faulty[""] = behaviour{}
		if rapid.IntRange(0, 4).Draw(t, "sandboxFails") == 0 {
			d.faulty[""] = behaviour{startFails: startFault(rapid.IntRange(1, 3).Draw(t, "fault"))}
		}
	}
}

func (d *driver) edit(t *rapid.T) {
	pod := d.want.Pod.DeepCopy()
	pod.Generation++
	list := pod.Spec.Containers
	if len(pod.Spec.InitContainers) > 0 && rapid.Bool().Draw(t, "init") {
		list = pod.Spec.InitContainers
	}
	i := rapid.IntRange(0, len(list)-1).Draw(t, "edited")
	list[i].Image = fmt.Sprintf("img:%d", pod.Generation)
	w := *d.want
	w.Pod = pod
	d.want = &w
	d.say("generation %d: image of %s", pod.Generation, list[i].Name)
}

func (d *driver) pick(t *rapid.T, state State) *modelRun {
	var list []*modelRun
	for _, r := range d.runs {
		if r.State == state {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(t, "which")]
}

// TestPlanConverges: whatever happens, the rules of the model are kept, and
// once nothing more happens the wanted state is reached and stays.
func TestPlanConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &driver{model: newModel(), base: genPod(t), faulty: map[string]behaviour{}}
		d.behave = func(name string) behaviour {
			b, ok := d.faulty[name]
			if !ok && strings.HasPrefix(name, "init") && !IsSidecar(d.base, name) {
				return behaviour{lives: time.Second}
			}
			return b
		}
		slow := time.Duration(rapid.IntRange(1, 30).Draw(t, "latency")) * 100 * time.Millisecond
		d.latency = func(ActionKind) time.Duration { return slow }
		d.renew()
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			d.advance(d.now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "pause")) * 100 * time.Millisecond))
			d.failIfFaulty(t)
			d.event(t)
		}
		d.faulty = map[string]behaviour{}
		for _, r := range d.runs { // what runs, runs on; init containers succeed
			if r.Type != TypeInit || IsSidecar(d.base, r.Name) {
				r.dies = time.Time{}
			} else {
				r.exit = 0
			}
			r.b.startFails = startWorks
		}
		if d.want != nil {
			w := *d.want
			w.Hold = false
			d.want = &w
		}
		d.advance(d.now.Add(time.Hour))
		d.checkEnds(sidecarsOf(d.base), slow)
		d.failIfFaulty(t)
		if why := d.wanted(); why != "" {
			t.Fatalf("not as wanted after an hour of peace: %s (waiting: %s)\n%s", why, d.waiting, strings.Join(d.trace, "\n"))
		}
		d.observe()
		if again := Plan(d.now, d.want, d.have()); len(again.Actions) > 0 || !again.Wake.IsZero() {
			t.Fatalf("a settled pod is planned for again: %+v", again)
		}
	})
}

func (d *driver) failIfFaulty(t *rapid.T) {
	t.Helper()
	if len(d.faults) > 0 {
		t.Fatalf("%s\n%s", strings.Join(d.faults, "\n"), strings.Join(d.trace, "\n"))
	}
}
