package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Fake is an engine in memory. The zero value is not ready; see [NewFake].
type Fake struct {
	mu         sync.Mutex // never held across a wait or a callback
	facts      pods.Facts
	away       error         // why it is down; nil while it is up
	muted      bool          // changes are not told
	outage     chan struct{} // closed when it goes down
	containers map[string]*fakeContainer
	watchers   map[*watcher]bool
	images     map[string]*fakeImage
	behave     func(pods.ContainerRequest) Behaviour
	sandboxes  func(pods.SandboxRequest) SandboxBehaviour
	programs   map[string][]Behaviour // by image as written
	fault      func(context.Context, Call) error
	calls      []*Call
	violations []string
	made       int // counts engine ids and addresses
}

type fakeImage struct {
	ImageBehaviour
	id      string
	present bool
	pulls   int
}

// fakeContainer is a container or, with container nil, a sandbox.
type fakeContainer struct {
	id        string
	key       pods.Key
	uid       types.UID
	sandbox   *pods.Sandbox
	container *pods.Container
	does      Behaviour
	policy    v1.TerminationMessagePolicy
	started   chan struct{} // closed when the start has ended; nil before
	startErr  error
	life      *time.Timer // until it ends by itself
	stop      *time.Timer // until it has heeded its stop signal
}

func (c *fakeContainer) name() string {
	if c.container != nil {
		return c.container.Name
	}
	return ""
}

func (c *fakeContainer) attempt() int {
	if c.container != nil {
		return c.container.Attempt
	}
	return c.sandbox.Attempt
}

func (c *fakeContainer) state() pods.State {
	if c.container != nil {
		return c.container.State
	}
	return c.sandbox.State
}

// NewFake returns an engine that is up, has every image, and whose containers
// run until they are stopped.
func NewFake() *Fake {
	return &Fake{
		facts: pods.Facts{
			EngineName: "Fake Engine", EngineVersion: "1.0", APIVersion: "1.41", CgroupDriver: "cgroupfs", CgroupVersion: 2,
			NegativeOOM: true, Privileged: true, MinOOM: -1000, MemoryBytes: 8 << 30, CPUs: 4, BootID: "boot-1",
		},
		outage:     make(chan struct{}),
		containers: map[string]*fakeContainer{},
		watchers:   map[*watcher]bool{},
		images:     map[string]*fakeImage{},
		behave:     byCommand,
		sandboxes:  func(pods.SandboxRequest) SandboxBehaviour { return SandboxBehaviour{} },
		programs:   map[string][]Behaviour{},
	}
}

// Behave has the function say how each container behaves, by its request.
// [Fake.Program] goes before it.
func (f *Fake) Behave(behave func(pods.ContainerRequest) Behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behave = behave
}

// Program says how containers of an image behave: the first run like the first
// behaviour and so on; the last one stands for all that follow.
func (f *Fake) Program(image string, runs ...Behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.programs[image] = slices.Clone(runs)
}

// BehaveSandbox has the function say how each sandbox behaves.
func (f *Fake) BehaveSandbox(behave func(pods.SandboxRequest) SandboxBehaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sandboxes = behave
}

// SetImage says what becomes of an image, by its name as written. Others are
// present.
func (f *Fake) SetImage(ref string, b ImageBehaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images[ref] = &fakeImage{ImageBehaviour: b, id: imageID(ref), present: !b.Absent}
}

// SetFacts changes what the engine can do; tell callers with Down and Up.
func (f *Fake) SetFacts(facts pods.Facts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts = facts
}

// Facts returns what the engine can do.
func (f *Fake) Facts() pods.Facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.facts
}

// Down takes the engine away: calls, also those under way, fail with
// pods.ErrEngineAway. What runs goes on running.
func (f *Fake) Down(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != nil {
		return
	}
	f.away = fmt.Errorf("%w: %w", pods.ErrEngineAway, why)
	close(f.outage)
	f.tellLocked(pods.EngineEvent{Kind: pods.EngineDown, Err: f.away})
}

// Up brings the engine back.
func (f *Fake) Up() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away == nil {
		return
	}
	f.away = nil
	f.outage = make(chan struct{})
	f.tellLocked(pods.EngineEvent{Kind: pods.EngineUp})
}

// Restart is a restart of the machine: everything that ran has ended, and the
// boot id is another. The engine is to be taken down before and up after.
func (f *Fake) Restart(bootID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		f.exitLocked(c, 255, false, "the machine was restarted while the container ran")
	}
	f.facts.BootID = bootID
}

// Exit ends a running container or sandbox with a code, as if by itself.
func (f *Fake) Exit(id string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		f.exitLocked(c, code, false, "")
	}
}

// Vanish removes a container as somebody else would: without any call.
func (f *Fake) Vanish(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		f.removeLocked(c)
	}
}

// Violations returns what callers did that no caller may do.
func (f *Fake) Violations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.violations)
}

func (f *Fake) violateLocked(format string, args ...any) {
	f.violations = append(f.violations, fmt.Sprintf(format, args...))
}

// List returns every pod instance that the engine holds anything of.
func (f *Fake) List(ctx context.Context) ([]pods.Found, error) {
	out := []pods.Found{}
	err := f.call(ctx, Call{Method: "List"}, func(context.Context, *Call) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		marks := map[pods.Found][]string{}
		for _, c := range f.containers {
			found := pods.Found{Key: c.key, UID: c.uid}
			marks[found] = append(marks[found], c.id+":"+string(c.state()))
		}
		for found, mark := range marks {
			sort.Strings(mark)
			found.Mark = strings.Join(mark, " ")
			out = append(out, found)
		}
		sort.Slice(out, func(i, j int) bool {
			if out[i].Key != out[j].Key {
				return out[i].Key.String() < out[j].Key.String()
			}
			return out[i].UID < out[j].UID
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Observe returns all that the engine holds of a pod.
func (f *Fake) Observe(ctx context.Context, key pods.Key) ([]pods.Observed, error) {
	var out []pods.Observed
	err := f.call(ctx, Call{Method: "Observe", Key: key}, func(context.Context, *Call) error {
		out = f.Peek(key)
		return nil
	})
	return out, err
}

// Peek is Observe for tests: it is not recorded and works while the engine is
// down.
func (f *Fake) Peek(key pods.Key) []pods.Observed {
	f.mu.Lock()
	defer f.mu.Unlock()
	byUID := map[types.UID]*pods.Observed{}
	for _, c := range f.containers {
		if c.key != key {
			continue
		}
		o := byUID[c.uid]
		if o == nil {
			o = &pods.Observed{UID: c.uid}
			byUID[c.uid] = o
		}
		if c.sandbox != nil {
			o.Sandboxes = append(o.Sandboxes, *c.sandbox)
		} else {
			o.Containers = append(o.Containers, *c.container)
		}
	}
	out := make([]pods.Observed, 0, len(byUID))
	for _, o := range byUID {
		sort.Slice(o.Sandboxes, func(i, j int) bool { return o.Sandboxes[i].Attempt > o.Sandboxes[j].Attempt })
		sort.Slice(o.Containers, func(i, j int) bool {
			a, b := o.Containers[i], o.Containers[j]
			if a.Attempt != b.Attempt {
				return a.Attempt > b.Attempt
			}
			return a.Name < b.Name
		})
		out = append(out, *o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].UID < out[j].UID })
	return out
}
