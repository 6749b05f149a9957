package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Chaos: islet is killed again and again at random moments while manifests are
// added, edited, broken, repaired, renamed and removed, also while it is down.
// Every few rounds it is given time to come to rest, and then exactly the wanted
// pods must run, one instance each, with nothing left of any other and nothing
// restarted that no edit touched.
//
// ROUNDS is how often it is killed, ISLET_SEED repeats the choices of a run that
// failed: what is done and for how long each pause is. How far islet has come
// meanwhile is up to the machine.
func TestChaos(t *testing.T) {
	rounds, seed := chaosRounds(t), chaosSeed(t)
	t.Logf("seed %d, %d rounds", seed, rounds)
	c := newChaos(t, seed)
	began := time.Now()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what was done:\n%s", strings.Join(c.story, "\n"))
			t.Logf("again: make soak ROUNDS=%d ISLET_SEED=%d", rounds, seed)
		}
	})
	c.site.launch()
	for round := 1; round <= rounds; round++ {
		c.round()
		if round%chaosRest == 0 || round == rounds {
			c.rest(round)
		}
	}
	for _, f := range c.files {
		c.remove(f)
	}
	c.rest(rounds)
	t.Logf("%d rounds in %v; slowest rest %v; %d instances, %d containers", rounds, time.Since(began).Round(time.Second),
		c.slowest.Round(time.Millisecond), len(c.witness.uids), len(c.witness.containers))
}

const (
	chaosRest  = 5 // rounds between two rests
	chaosFiles = 6
)

func chaosRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROUNDS")
	if text == "" {
		if soak() {
			return 200
		}
		return 15
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ROUNDS=%q: must be a number above 0", text)
	}
	return n
}

func chaosSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("ISLET_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("ISLET_SEED=%q: must be a number that a run has printed", text)
	}
	return seed
}

// chaos is one run of the test.
type chaos struct {
	t       *testing.T
	site    *site
	witness *witness
	rng     *rand.Rand
	files   []*chaosFile
	began   time.Time
	story   []string
	slowest time.Duration
}

// chaosFile is one manifest file and what may be in force of it.
type chaosFile struct {
	pod  string // name; fixed for the file
	path string // name in the directory now
	port int

	disk chaosPod // what the file says, or said before it was broken
	here bool
	bad  bool
	// was is what was in force at the last rest, and written what was put into
	// the file since. One of them is in force while the file is bad.
	was     chaosPod
	written []chaosPod
	touched depth             // since the last rest
	ids     map[string]string // containers at the last rest
	uid     string
}

func newChaos(t *testing.T, seed uint64) *chaos {
	s := newSite(t)
	chaosImages(t, s.api)
	c := &chaos{t: t, site: s, witness: s.witnesses(), rng: rand.New(rand.NewPCG(seed, 0)), began: time.Now()}
	for i := range chaosFiles {
		name := fmt.Sprintf("p%d", i)
		c.files = append(c.files, &chaosFile{pod: name, path: name + ".yaml", port: freePort(t)})
	}
	return c
}

func (c *chaos) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf("%8.3fs ", time.Since(c.began).Seconds())+fmt.Sprintf(format, args...))
}

// pause lets islet get somewhere.
func (c *chaos) pause(most time.Duration) {
	time.Sleep(time.Duration(c.rng.Int64N(int64(most)))) // scenario: the moment of the next blow
}

// round changes some files, kills islet, perhaps changes more, and starts it.
func (c *chaos) round() {
	for range 1 + c.rng.IntN(3) {
		c.change()
		c.pause(150 * time.Millisecond)
	}
	most := 2 * time.Second
	if c.rng.IntN(3) == 0 {
		most = 300 * time.Millisecond // in the midst of starting
	}
	c.pause(most)
	c.tell("kill")
	c.site.kill()
	if c.rng.IntN(3) == 0 {
		c.change()
	}
	c.site.launch()
}

// change does something to one file.
func (c *chaos) change() {
	f := c.files[c.rng.IntN(len(c.files))]
	what := c.rng.IntN(10)
	switch {
	case !f.here && what == 0: // bad from the start
		c.spoil(f)
	case !f.here:
		c.put(f, chaosPod{shape: 1 + c.rng.IntN(len(chaosShapes)-1), env: c.rng.IntN(1000)})
	case f.bad && what < 5:
		c.put(f, f.repair())
	case what < 3:
		c.spoil(f)
	case what < 5:
		c.remove(f)
	case what == 5 && !f.bad:
		c.rename(f)
	default:
		c.put(f, c.edit(f.repair()))
	}
}

// repair is the text that a bad file had before.
func (f *chaosFile) repair() chaosPod {
	if f.disk.none() {
		return chaosPod{shape: 1}
	}
	return f.disk
}

func (c *chaos) edit(p chaosPod) chaosPod {
	switch c.rng.IntN(4) {
	case 0:
		p.label++
	case 1:
		p.image++
	case 2:
		p.env++
	default:
		p = chaosPod{shape: 1 + c.rng.IntN(len(chaosShapes)-1), env: c.rng.IntN(1000)}
	}
	return p
}

func (c *chaos) put(f *chaosFile, p chaosPod) {
	c.tell("%s: write %s %+v", f.pod, chaosShapes[p.shape].name, p)
	before := f.was
	if n := len(f.written); n > 0 {
		before = f.written[n-1]
	}
	f.touched = max(f.touched, before.editDepth(p))
	f.disk, f.here, f.bad = p, true, false
	f.written = append(f.written, p)
	c.site.write(f.path, p.text(f.pod, f.port))
}

func (c *chaos) spoil(f *chaosFile) {
	good := f.repair().text(f.pod, f.port)
	texts := map[string]string{
		"tab": strings.Replace(good, "  name", "\tname", 1), "unknown field": good + "  imagePullPolici: Never\n",
		"cut": good[:len(good)-25], "empty": "", "binary": "\x7fELF\x00\x01\x02\x00",
	}
	kind := slices.Sorted(maps.Keys(texts))[c.rng.IntN(len(texts))]
	c.tell("%s: break (%s)", f.pod, kind)
	f.here, f.bad = true, true
	c.site.write(f.path, texts[kind])
}

func (c *chaos) remove(f *chaosFile) {
	if !f.here {
		return
	}
	c.tell("%s: remove", f.pod)
	f.here, f.bad, f.touched = false, false, replaced
	f.disk = chaosPod{}
	f.written = append(f.written, chaosPod{})
	c.site.remove(f.path)
}

func (c *chaos) rename(f *chaosFile) {
	path := fmt.Sprintf("%s-%d.yaml", f.pod, c.rng.IntN(1000))
	c.tell("%s: rename to %s", f.pod, path)
	c.site.rename(c.site.path(f.path), c.site.path(path))
	f.path = path
}

// allowed are the pods that may be in force now.
func (f *chaosFile) allowed() []chaosPod {
	switch {
	case !f.here:
		return []chaosPod{{}}
	case !f.bad:
		return []chaosPod{f.disk}
	}
	return append([]chaosPod{f.was}, f.written...)
}

// rest waits until all is as it must be and then compares with the rest before.
func (c *chaos) rest(round int) {
	c.t.Helper()
	c.tell("rest after round %d", round)
	var look chaosLook
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		look = c.look()
		c.slowest = max(c.slowest, time.Since(began))
		if len(look.wrong) == 0 {
			break
		}
		if time.Since(began) > eventually {
			_, status := c.site.islet("status")
			c.t.Fatalf("round %d: not as it must be after %v:\n%s\nstatus:\n%s", round, eventually, strings.Join(look.wrong, "\n"), status)
		}
	}
	for _, fault := range append(c.witness.saw(), c.disturbed(look)...) {
		c.t.Errorf("round %d: %s", round, fault)
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
	for _, f := range c.files {
		f.was, f.written, f.touched = look.inForce[f.pod], nil, untouched
		f.ids, f.uid = look.ids[f.pod], look.uid[f.pod]
		c.tell("%s: at rest with %+v %s", f.pod, f.was, f.uid)
	}
}

// disturbed says which pods were touched more than their edits allow.
func (c *chaos) disturbed(look chaosLook) (faults []string) {
	for _, f := range c.files {
		if f.touched == replaced || f.was.none() {
			continue
		}
		for name, id := range f.ids {
			if now := look.ids[f.pod][name]; now != id && (f.touched == untouched || name != "c") {
				faults = append(faults, fmt.Sprintf("%s: container %s was %.12s and is %.12s now", f.pod, name, id, now))
			}
		}
		if now := look.uid[f.pod]; now != f.uid {
			faults = append(faults, fmt.Sprintf("%s: instance was %s and is %s now", f.pod, f.uid, now))
		}
	}
	return faults
}

// chaosLook is what one look finds.
type chaosLook struct {
	wrong   []string
	inForce map[string]chaosPod
	uid     map[string]string
	ids     map[string]map[string]string // of pods, by name of container
}

func (c *chaos) look() chaosLook {
	c.t.Helper()
	l := chaosLook{inForce: map[string]chaosPod{}, uid: map[string]string{}, ids: map[string]map[string]string{}}
	say := func(format string, args ...any) { l.wrong = append(l.wrong, fmt.Sprintf(format, args...)) }
	report, err := c.site.report()
	if err != nil || report.NotReady != "" {
		say("islet is not ready: %s %v", report.NotReady, err)
		return l
	}
	shown := map[string]*v1.Pod{}
	for i := range report.Pods.Items {
		p := &report.Pods.Items[i]
		shown[p.Name] = p
	}
	uids := map[string]bool{}
	for _, f := range c.files {
		p := shown[f.pod]
		delete(shown, f.pod)
		allowed := f.allowed()
		i := slices.IndexFunc(allowed, func(a chaosPod) bool { return a.is(p) })
		if i < 0 {
			say("%s: shown as %s, allowed is %+v", f.pod, shortPod(p), allowed)
			continue
		}
		l.inForce[f.pod] = allowed[i]
		if p == nil {
			continue
		}
		l.uid[f.pod] = string(p.UID)
		uids[string(p.UID)] = true
		if !allowed[i].settled(p) {
			say("%s: %s", f.pod, shortPod(p))
		}
	}
	for name := range shown {
		say("%s: nobody asked for it", name)
	}
	c.lookAtContainers(&l, say)
	if len(l.wrong) == 0 {
		l.wrong = c.site.residue(c.witness, uids)
	}
	return l
}

// lookAtContainers holds what the engine has against what is in force.
func (c *chaos) lookAtContainers(l *chaosLook, say sayer) {
	for pod := range l.uid {
		l.ids[pod] = map[string]string{}
	}
	ended := map[string]int{}
	for _, b := range c.site.containers() {
		run := runOf(b.Labels)
		switch {
		case l.uid[run.pod] != run.uid:
			say("container %s (%s) of another instance", run, b.State)
		case b.State == "running":
			if l.ids[run.pod][run.container] != "" {
				say("container %s runs twice", run)
			}
			l.ids[run.pod][run.container] = b.ID
		case b.State == "exited":
			if ended[run.String()]++; ended[run.String()] > 1 && run.container != "POD" {
				say("more than one ended %s", run)
			}
		default:
			say("container %s is %s", run, b.State)
		}
	}
	for pod, uid := range l.uid {
		want := chaosShapes[l.inForce[pod].shape].runs
		if len(want) > 0 {
			want = append([]string{"POD"}, want...)
		}
		if got := slices.Sorted(maps.Keys(l.ids[pod])); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			say("%s: instance %s runs %v, want %v", pod, uid, got, want)
		}
	}
}

// is reports whether a shown pod has this spec; nil is no pod.
func (p chaosPod) is(shown *v1.Pod) bool {
	if p.none() || shown == nil {
		return p.none() && shown == nil
	}
	main := shown.Spec.Containers[0]
	return shown.Labels["l"] == strconv.Itoa(p.label) && main.Image == p.imageName() &&
		len(main.Env) == 1 && main.Env[0].Value == strconv.Itoa(p.env) && shown.DeletionTimestamp == nil &&
		len(shown.Spec.Containers)+len(shown.Spec.InitContainers)+len(shown.Spec.Volumes) == p.size() &&
		p.job() == (shown.Spec.RestartPolicy == v1.RestartPolicyNever)
}

// size tells shapes apart in a shown pod: containers and volumes.
func (p chaosPod) size() int {
	spec := chaosShapes[p.shape].spec
	return strings.Count(spec, "- {name: ")
}

// settled reports whether a pod does what it is there for.
func (p chaosPod) settled(shown *v1.Pod) bool {
	if p.job() {
		return shown.Status.Phase == v1.PodSucceeded
	}
	return shown.Status.Phase == v1.PodRunning && slices.ContainsFunc(shown.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

func shortPod(p *v1.Pod) string {
	if p == nil {
		return "no pod"
	}
	text := fmt.Sprintf("%s %s labels %v deletion %v", p.UID, p.Status.Phase, p.Labels, p.DeletionTimestamp)
	for _, s := range p.Status.ContainerStatuses {
		text += fmt.Sprintf(" %s:ready=%v,restarts=%d", s.Name, s.Ready, s.RestartCount)
		if s.State.Waiting != nil {
			text += "," + s.State.Waiting.Reason
		}
	}
	return text
}
