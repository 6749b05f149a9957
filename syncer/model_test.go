package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer"
	"github.com/islet-run/islet/syncer/enginetest"
)

// modelSteps is how much of the model check a test run does at least. A step is
// one thing that happens to the syncer or one call that it makes.
const modelSteps = 100_000

// The model check: workers and Plan against an engine in memory, with faults at
// every call, crashes of islet, outages, exits, removals by others, edits and
// deletions, in random order. When all is calm again exactly what is wanted
// must run, once, and nothing else may be left.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("ISLET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	steps := 0
	for run := seed; steps < modelSteps; run++ {
		ok := t.Run(fmt.Sprint("seed ", run), func(t *testing.T) {
			in(t, func(h *house) {
				m := &model{house: h, rand: rand.New(rand.NewPCG(run, 0)), life: map[string]int{}}
				// A sandbox may die between the look and the call.
				h.pardon = "started in a sandbox that does not run"
				m.disturb(60)
				m.settle()
				steps += m.steps + len(h.engine.Calls())
			})
		})
		if !ok {
			t.Fatalf("reproduce with ISLET_SEED=%d", run)
		}
		if testing.Short() {
			break
		}
	}
	t.Logf("%d steps, seeds from %d", steps, seed)
}

// model drives a house at random.
type model struct {
	*house
	rand  *rand.Rand
	life  map[string]int // instances given to each name
	steps int

	mu     sync.Mutex
	faults *rand.Rand // nil: no call fails; guarded by mu
}

func (m *model) disturb(n int) {
	m.engine.Behave(m.behave)
	m.engine.SetFault(m.fault)
	m.setFaults(rand.New(rand.NewPCG(m.rand.Uint64(), 1)))
	for range n {
		m.steps++
		m.something()
	}
}

func (m *model) setFaults(r *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = r
}

// fault fails one call in ten, delays some, and has some succeed whose answer
// is lost.
func (m *model) fault(ctx context.Context, _ enginetest.Call) error {
	m.mu.Lock()
	n, delay := 100, time.Duration(0)
	if m.faults != nil {
		n, delay = m.faults.IntN(100), time.Duration(m.faults.IntN(3000))*time.Millisecond
	}
	m.mu.Unlock()
	switch {
	case n < 10:
		return errors.New("injected fault")
	case n < 20:
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// behave gives each container a life of its own; those of the calm end run on.
func (m *model) behave(req pods.ContainerRequest) enginetest.Behaviour {
	m.mu.Lock()
	defer m.mu.Unlock()
	if req.Type == pods.TypeInit && !pods.IsSidecar(req.Pod, req.Container.Name) {
		return enginetest.Behaviour{Exits: true, Runs: time.Second}
	}
	if m.faults == nil {
		return enginetest.Behaviour{StopTakes: 100 * time.Millisecond}
	}
	switch m.faults.IntN(8) {
	case 0:
		return enginetest.Behaviour{Exits: true, Runs: time.Duration(m.faults.IntN(5000)) * time.Millisecond, ExitCode: m.faults.IntN(2)}
	case 1:
		return enginetest.Behaviour{IgnoresTerm: true}
	case 2:
		return enginetest.Behaviour{StartFails: "exec format error"}
	case 3:
		return enginetest.Behaviour{CreateFails: "no such device"}
	case 4:
		return enginetest.Behaviour{StartTakes: time.Duration(m.faults.IntN(5000)) * time.Millisecond}
	}
	return enginetest.Behaviour{StopTakes: time.Duration(m.faults.IntN(2000)) * time.Millisecond}
}

var modelNames = []string{"a", "b", "c", "d"}

// something happens.
func (m *model) something() {
	name := modelNames[m.rand.IntN(len(modelNames))]
	switch m.rand.IntN(16) {
	case 0, 1, 2:
		m.life[name]++
		m.want(m.pod(name))
	case 3:
		if w := m.wants[key(name)]; w != nil { // an edit in place
			p := w.Pod.DeepCopy()
			p.Generation++
			p.Spec.Containers[0].Image = fmt.Sprint("c:", m.rand.IntN(3))
			m.want(p)
		}
	case 4:
		m.drop(name)
	case 5:
		m.restart()
		m.pass(time.Duration(m.rand.IntN(500)) * time.Millisecond)
		m.aim()
	case 6:
		m.engine.Down(errors.New("outage"))
		m.pass(time.Duration(m.rand.IntN(30)) * time.Second)
		m.engine.Up()
	case 7, 8:
		if id := m.some(name); id != "" {
			m.engine.Exit(id, m.rand.IntN(2))
		}
	case 9:
		if id := m.some(name); id != "" {
			m.engine.Vanish(id)
		}
	case 10:
		m.records.fail(errors.New("no space left on device"))
		m.pass(time.Duration(m.rand.IntN(5)) * time.Second)
		m.records.fail(nil)
	case 11:
		m.engine.Mute(true)
		m.pass(time.Duration(m.rand.IntN(20)) * time.Second)
		m.engine.Mute(false)
	case 12:
		m.kill()
		m.engine.Down(errors.New("reboot"))
		m.engine.Restart(fmt.Sprint("boot-", m.steps))
		m.engine.Up()
		m.start()
		m.aim()
	default:
		m.pass(time.Duration(m.rand.IntN(15_000)) * time.Millisecond)
	}
}

// some returns the id of a container or sandbox of the pod.
func (m *model) some(name string) string {
	ids := m.ids(name)
	if len(ids) == 0 {
		return ""
	}
	return ids[m.rand.IntN(len(ids))]
}

func (m *model) pod(name string) *v1.Pod {
	p := aPod(name, instance(m.life[name]))
	*p.Spec.TerminationGracePeriodSeconds = int64(m.rand.IntN(5))
	always := v1.ContainerRestartPolicyAlways
	for i := range m.rand.IntN(3) {
		c := aContainer(fmt.Sprint("i", i))
		if m.rand.IntN(2) == 0 {
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if m.rand.IntN(2) == 0 {
		p.Spec.Containers = append(p.Spec.Containers, aContainer("other"))
	}
	return p
}

// settle calms everything, waits longer than any back-off, and checks.
func (m *model) settle() {
	m.setFaults(nil)
	m.engine.Mute(false)
	m.records.fail(nil)
	m.aim()
	m.pass(30 * time.Minute) // what still has a bad behaviour ends, is backed off, and runs anew
	for _, name := range modelNames {
		w := m.wants[key(name)]
		if w == nil {
			m.gone(name)
			continue
		}
		var want []string
		for _, c := range w.Pod.Spec.InitContainers {
			if c.RestartPolicy != nil {
				want = append(want, c.Name)
			}
		}
		for _, c := range w.Pod.Spec.Containers {
			want = append(want, c.Name)
		}
		m.running(name, want...)
		m.one(name, w.Pod.UID)
	}
	m.nothingElse()
}

// one checks that the wanted instance is the only one.
func (m *model) one(name string, uid types.UID) {
	seen := m.engine.Peek(key(name))
	if len(seen) != 1 || seen[0].UID != uid {
		m.t.Errorf("%s: instances %+v, want %s alone", name, seen, uid)
	}
}

// nothingElse checks that the state directory holds what is wanted alone.
func (m *model) nothingElse() {
	records, unrecorded, err := syncer.Stored{Store: m.store}.Load()
	if err != nil || len(unrecorded) > 0 {
		m.t.Errorf("directories without a record %v, error %v", unrecorded, err)
	}
	var have, want []string
	for _, r := range records {
		have = append(have, string(r.UID))
	}
	for _, w := range m.wants {
		want = append(want, string(w.Pod.UID))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		m.t.Errorf("records of %v, want %v", have, want)
	}
}
