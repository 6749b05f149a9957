package docker

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"golang.org/x/sync/errgroup"

	"github.com/islet-run/islet/pods"
)

const (
	// listTimeout: a list takes no container's lock and answers in milliseconds.
	listTimeout = 30 * time.Second
	// inspectTimeout bounds how long one stuck container may hold up the
	// observation of its pod; it is then shown as unknown.
	inspectTimeout = 10 * time.Second
	// inspectsAtOnce bounds the inspects of one observation.
	inspectsAtOnce = 4
)

// List returns every pod instance of this owner that the engine holds anything
// of, sorted.
func (e *Engine) List(ctx context.Context) ([]pods.Found, error) {
	list, err := e.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	marks := map[pods.Found]string{}
	for _, l := range list {
		f := pods.Found{Key: l.who.key, UID: l.who.uid}
		marks[f] += l.id + ":" + l.state + " "
	}
	out := make([]pods.Found, 0, len(marks))
	for f, mark := range marks {
		f.Mark = mark
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Key.Realm != b.Key.Realm {
			return a.Key.Realm < b.Key.Realm
		}
		if a.Key != b.Key {
			return a.Key.String() < b.Key.String()
		}
		return a.UID < b.UID
	})
	return out, nil
}

// list asks for the containers of one pod, or of all with key nil, and takes
// the answer into the index.
func (e *Engine) list(ctx context.Context, key *pods.Key) ([]listed, error) {
	by := filters.NewArgs(filters.Arg("label", labelOwner+"="+e.cfg.Owner))
	if key != nil {
		by.Add("label", labelPodNamespace+"="+key.Namespace)
		by.Add("label", labelPodName+"="+key.Name)
		by.Add("label", labelRealm+"="+key.Realm)
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	m := e.index.mark()
	found, err := e.api().ContainerList(ctx, container.ListOptions{All: true, Filters: by})
	if err != nil {
		return nil, failed("list containers", err)
	}
	out := make([]listed, 0, len(found))
	for _, c := range found {
		for _, name := range c.Names {
			if who, ok := identify(e.cfg.Owner, name, c.Labels); ok {
				out = append(out, listed{id: c.ID, name: strings.TrimPrefix(name, "/"), who: who, state: c.State})
				break
			}
		}
	}
	e.index.merge(key, m, out)
	return out, nil
}

// Observe returns all that the engine holds of a pod, per instance.
//
// It inspects what may have changed and nothing else. A container that this
// Engine is starting at the moment is shown as created.
func (e *Engine) Observe(ctx context.Context, key pods.Key) ([]pods.Observed, error) {
	known, complete := e.index.snapshot(key)
	if !complete {
		if _, err := e.list(ctx, &key); err != nil {
			return nil, err
		}
		known, _ = e.index.snapshot(key)
	}
	found := make([]*sighting, len(known))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(inspectsAtOnce)
	for i, g := range known {
		switch {
		case g.final != nil:
			found[i] = g.final
		case g.starting:
			found[i] = unseenAs(g, pods.StateCreated)
		default:
			group.Go(func() (err error) {
				found[i], err = e.see(groupCtx, g)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var seen []sighting
	for _, s := range found {
		if s != nil {
			seen = append(seen, *s)
		}
	}
	return assemble(seen), nil
}

// see inspects one container; nil when it is gone.
func (e *Engine) see(ctx context.Context, g glance) (*sighting, error) {
	short, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	in, err := e.api().ContainerInspect(short, g.id)
	switch {
	case cerrdefs.IsNotFound(err):
		e.index.drop(g.id)
		return nil, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		e.log.Warn().Str("pod", g.who.key.String()).Str("uid", string(g.who.uid)).Str("container", g.who.container).
			Dur("after", inspectTimeout).Msg("engine does not answer about this container")
		return e.glimpse(ctx, g)
	case err != nil:
		return nil, failed("inspect container", err)
	}
	out, final := e.sight(ctx, g.who, in)
	var keep *sighting
	if final {
		keep = out
	}
	e.index.learn(g.id, g.version, stopSignalOf(in), keep)
	return out, nil
}

// glimpse looks at a container of which an inspect does not come back, by the
// list, which waits for no container. It shows one that runs, so that it can
// still be signalled; of anything else too little is known to act on.
func (e *Engine) glimpse(ctx context.Context, g glance) (*sighting, error) {
	list, err := e.list(ctx, &g.who.key)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if l.id == g.id && l.state == container.StateRunning && !g.who.isSandbox() {
			return unseenAs(g, pods.StateRunning), nil
		}
	}
	return nil, fmt.Errorf("inspect container %s: no answer within %v", g.name, inspectTimeout)
}

// sight turns an inspected container into what the caller sees, with its
// termination message, and says whether that is final.
func (e *Engine) sight(ctx context.Context, who identity, in container.InspectResponse) (*sighting, bool) {
	s := e.settings()
	if who.isSandbox() {
		sandbox := sandboxOf(s, who, in)
		return &sighting{who: who, sandbox: &sandbox}, sandbox.State == pods.StateExited
	}
	c := containerOf(s, who, in)
	if c.State != pods.StateExited {
		return &sighting{who: who, container: &c}, false
	}
	tty := in.Config != nil && in.Config.Tty
	text, complete := e.terminationMessage(ctx, who, c, tty)
	c.Message = joinMessages(c.Message, text)
	return &sighting{who: who, container: &c}, complete
}

// unseenAs shows a container by its labels alone.
func unseenAs(g glance, st pods.State) *sighting {
	if g.who.isSandbox() {
		return &sighting{who: g.who, sandbox: &pods.Sandbox{ID: g.id, Attempt: g.who.attempt, State: st, Boot: g.who.boot}}
	}
	c := unseen(g.id, g.who)
	c.State = st
	return &sighting{who: g.who, container: &c}
}

func stopSignalOf(in container.InspectResponse) string {
	if in.Config != nil && in.Config.StopSignal != "" {
		return in.Config.StopSignal
	}
	return defaultStopSignal
}
