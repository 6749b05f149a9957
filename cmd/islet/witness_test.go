package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	dockerclient "github.com/docker/docker/client"
)

// witness listens to the engine while a test is rough with islet. It remembers
// everything that ever belonged to the site, so that residue knows what to look
// for, and it sees what a look at the end cannot: two instances of a pod, or two
// runs of a container, at one time, and a job that runs twice.
type witness struct {
	mu         sync.Mutex
	uids       map[string]string       // every instance there ever was: the name of its pod
	containers map[string]bool         // every engine id there ever was
	volumes    map[string]bool         // every volume one of them mounted
	alive      map[string]witnessedRun // by engine id
	once       map[string]int          // starts of containers named once, by instance
	faults     []string
}

// once is the name of containers that may run a single time per instance.
const once = "once"

type witnessedRun struct{ pod, uid, container string }

// witnesses starts a witness of the site, which must not have run yet: it gets
// its owner id here.
func (s *site) witnesses() *witness {
	s.t.Helper()
	s.giveOwner()
	w := &witness{
		uids: map[string]string{}, containers: map[string]bool{}, volumes: map[string]bool{},
		alive: map[string]witnessedRun{}, once: map[string]int{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	since := time.Now()
	listen := func(take func(events.Message), by ...filters.KeyValuePair) {
		wait.Go(func() { w.listen(ctx, s.t, s.api, since, take, filters.NewArgs(by...)) })
	}
	listen(w.container, filters.Arg("type", "container"), filters.Arg("label", "run.islet.owner="+s.owner()))
	listen(w.volume, filters.Arg("type", "volume"), filters.Arg("event", "mount"))
	s.t.Cleanup(func() { cancel(); wait.Wait() })
	return w
}

// giveOwner gives the root-dir its owner id before islet does.
func (s *site) giveOwner() {
	s.t.Helper()
	if err := os.Mkdir(s.root, 0o700); err != nil {
		s.t.Fatal(err)
	}
	id := fmt.Sprintf("%016x%016x", time.Now().UnixNano(), os.Getpid())
	if err := os.WriteFile(filepath.Join(s.root, "owner"), []byte(id+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (w *witness) listen(ctx context.Context, t *testing.T, api *dockerclient.Client, since time.Time, take func(events.Message), by filters.Args) {
	messages, errs := api.Events(ctx, events.ListOptions{Since: fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()), Filters: by})
	for {
		select {
		case m := <-messages:
			take(m)
		case err := <-errs:
			if ctx.Err() == nil {
				t.Errorf("events of the engine: %v", err)
			}
			return
		}
	}
}

func (w *witness) container(m events.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, run := m.Actor.ID, runOf(m.Actor.Attributes)
	w.containers[id] = true
	w.uids[run.uid] = run.pod
	switch m.Action {
	case events.ActionStart:
		for other, o := range w.alive {
			switch {
			case o.pod == run.pod && o.uid != run.uid:
				w.fault("%s: %s of instance %s started while %s of %s was alive", run.pod, run.container, run.uid, o.container, o.uid)
			case o == run:
				w.fault("%s: %s runs twice: %.12s and %.12s", run.pod, run.container, other, id)
			}
		}
		w.alive[id] = run
		if run.container == once {
			if w.once[run.uid]++; w.once[run.uid] > 1 {
				w.fault("%s: the job of instance %s ran again", run.pod, run.uid)
			}
		}
	case events.ActionDie, events.ActionDestroy:
		delete(w.alive, id)
	}
}

func (w *witness) volume(m events.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.containers[m.Actor.Attributes["container"]] {
		w.volumes[m.Actor.ID] = true
	}
}

func (w *witness) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// saw returns what should never have happened.
func (w *witness) saw() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.faults)
}

// gone returns the ids of instances and containers that are not among those
// that are there, and every volume.
func (w *witness) gone(uids, containers map[string]bool) (goneUIDs, goneContainers map[string]bool, volumes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	goneUIDs, goneContainers = map[string]bool{}, map[string]bool{}
	for uid := range w.uids {
		if !uids[uid] {
			goneUIDs[uid] = true
		}
	}
	for id := range w.containers {
		if !containers[id] {
			goneContainers[id] = true
		}
	}
	return goneUIDs, goneContainers, slices.Collect(maps.Keys(w.volumes))
}

// runOf is what the labels of a container say of it.
func runOf(labels map[string]string) witnessedRun {
	return witnessedRun{labels["io.kubernetes.pod.name"], labels["io.kubernetes.pod.uid"], labels["io.kubernetes.container.name"]}
}

func (r witnessedRun) String() string { return strings.Join([]string{r.pod, r.uid, r.container}, "/") }
