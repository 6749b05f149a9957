package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/store"
	"github.com/islet-run/islet/syncer"
	"github.com/islet-run/islet/syncer/enginetest"
)

// house is a syncer on a fake engine in a synctest bubble. Its state is in a
// real directory, so that a restart finds what the run before left behind.
type house struct {
	t       *testing.T
	engine  *enginetest.Fake
	store   *store.Store
	records *faultyRecords
	cgroups *fakeCgroups
	log     zerolog.Logger
	skew    atomic.Int64 // by how much the clock of islet is wrong

	syncer  *syncer.Syncer
	targets chan syncer.Target
	wants   map[pods.Key]*pods.Want
	after   map[pods.Key]types.UID
	end     func()
	pardon  string // violations with this text are no fault of the syncer's
}

// in runs a test in a bubble with a running syncer.
func in(t *testing.T, test func(h *house)) {
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(memoryDir(t))
		if err != nil {
			t.Fatal(err)
		}
		h := &house{
			t: t, engine: enginetest.NewFake(), store: st, cgroups: &fakeCgroups{},
			records: &faultyRecords{Stored: syncer.Stored{Store: st}},
			wants:   map[pods.Key]*pods.Want{}, after: map[pods.Key]types.UID{},
			log: zerolog.New(zerolog.NewTestWriter(t)),
		}
		h.start()
		test(h)
		h.kill()
		for _, v := range h.engine.Violations() {
			if h.pardon == "" || !strings.Contains(v, h.pardon) {
				t.Errorf("violation: %s", v)
			}
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// memoryDir is a temporary directory in memory where the machine has one: the
// model check flushes a hundred thousand records.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "islet-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start runs a syncer; nothing is wanted of it yet.
func (h *house) start() {
	stored := syncer.Stored{Store: h.store}
	recorder, err := syncer.NewRecorder(stored, time.Now)
	if err != nil {
		h.t.Fatal(err)
	}
	h.syncer = syncer.New(syncer.Config{
		Engine: h.engine, Cgroups: h.cgroups, Records: h.records, Recorder: recorder,
		Node: pods.Node{Name: "node", HostIPs: []string{"192.0.2.1"}}, Log: h.log, Starts: 2,
		Now: func() time.Time { return time.Now().Add(time.Duration(h.skew.Load())) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	h.targets = make(chan syncer.Target)
	done := make(chan error, 1)
	s, targets := h.syncer, h.targets
	go func() { done <- s.Run(ctx, targets) }()
	h.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			h.t.Errorf("run ended with %v", err)
		}
	})
	synctest.Wait()
}

// kill ends the syncer, leaving the pods; what it had under way ends too.
func (h *house) kill() { h.end() }

// restart is what a crash of islet amounts to: memory is lost, the state
// directory and the engine stay.
func (h *house) restart() {
	h.kill()
	h.start()
}

// want makes pods wanted, and aim tells the syncer.
func (h *house) want(list ...*v1.Pod) {
	for _, p := range list {
		h.wants[pods.KeyOf(p)] = &pods.Want{Pod: p, Source: "file", Path: "/m/" + p.Name + ".yaml"}
	}
	h.aim()
}

func (h *house) drop(names ...string) {
	for _, n := range names {
		delete(h.wants, key(n))
	}
	h.aim()
}

func (h *house) aim() { h.send(true, true) }

func (h *house) send(complete, clean bool) {
	t := syncer.Target{Pods: map[pods.Key]*pods.Want{}, After: map[pods.Key]types.UID{}, Complete: complete, Clean: clean}
	for k, w := range h.wants {
		t.Pods[k] = w
	}
	for k, u := range h.after {
		t.After[k] = u
	}
	h.targets <- t
	synctest.Wait()
}

// pass lets time pass.
func (h *house) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func key(name string) pods.Key {
	return pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: name}
}

// view returns what readers see of a pod.
func (h *house) view(name string) syncer.View {
	v, _ := h.syncer.View(key(name))
	return v
}

// live returns the running containers of a pod, without the sandbox, by name.
func (h *house) live(name string) map[string]pods.Container {
	live := map[string]pods.Container{}
	for _, o := range h.engine.Peek(key(name)) {
		for _, c := range o.Containers {
			if c.State == pods.StateRunning {
				live[c.Name] = c
			}
		}
	}
	return live
}

// running fails the test unless exactly these containers of the pod run.
func (h *house) running(name string, containers ...string) {
	h.t.Helper()
	var got []string
	for n := range h.live(name) {
		got = append(got, n)
	}
	slices.Sort(got)
	slices.Sort(containers)
	if !slices.Equal(got, containers) {
		h.t.Errorf("%s: running %v, want %v (waiting: %q)", name, got, containers, h.view(name).Waiting)
	}
}

// ids are the engine ids of what runs of a pod, sandbox included.
func (h *house) ids(name string) []string {
	var ids []string
	for _, o := range h.engine.Peek(key(name)) {
		for _, c := range o.Containers {
			if c.State == pods.StateRunning {
				ids = append(ids, c.ID)
			}
		}
		for _, b := range o.Sandboxes {
			if b.State == pods.StateRunning {
				ids = append(ids, b.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func (h *house) gone(name string) {
	h.t.Helper()
	if left := h.engine.Peek(key(name)); len(left) != 0 {
		h.t.Errorf("%s: still on the engine: %+v", name, left)
	}
}

// aPod is a pod of one container "c" that runs until it is stopped.
func aPod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "-1"), Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: ptr.To[int64](10),
			DNSPolicy:  v1.DNSClusterFirst,
			Containers: []v1.Container{aContainer("c")},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func aContainer(name string) v1.Container {
	return v1.Container{Name: name, Image: name + ":1", ImagePullPolicy: v1.PullIfNotPresent,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile}
}

// instance gives the pod the UID of its n-th life.
func instance(n int) func(*v1.Pod) {
	return func(p *v1.Pod) { p.UID = types.UID(fmt.Sprintf("%s-%d", p.Name, n)) }
}

type fakeCgroups struct {
	mu      sync.Mutex
	removed []string
	err     error
}

func (c *fakeCgroups) Parent(qos, uid string) string { return "/islet/" + qos + "/" + uid }

func (c *fakeCgroups) Remove(_ context.Context, _, uid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.removed = append(c.removed, uid)
	}
	return c.err
}

// faultyRecords fails to write while err is set.
type faultyRecords struct {
	syncer.Stored
	mu  sync.Mutex
	err error
}

func (r *faultyRecords) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *faultyRecords) Save(rec pods.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return r.Stored.Save(rec)
}
