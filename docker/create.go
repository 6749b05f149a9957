package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/islet-run/islet/pods"
)

const (
	// createTries bounds how often a creation is tried anew because the name
	// was taken, and phantomTries how long a name may be reserved by nothing.
	createTries  = 12
	phantomTries = 5
	phantomWait  = 100 * time.Millisecond
)

// holder is the container that a creation ended with: a new one, or one of the
// same run that was there already.
type holder struct {
	id    string
	found bool // it was there already; the rest is about such a one
	who   identity
	in    container.InspectResponse
}

func (h holder) state(s settings) state { return stateOf(s, h.who.boot, h.in) }

// create creates a container. When its name is taken it finds out by whom:
//
//   - the same run of the same container, from a call whose answer got lost:
//     that one is returned;
//   - nothing that can be inspected: a creation still under way, or a
//     reservation an old daemon forgot. It is waited for, then gone around;
//   - anybody else: left alone, and a suffix is added to the name.
func (e *Engine) create(ctx context.Context, sp spec) (holder, error) {
	name, phantoms := sp.name, 0
	var taken error
	for range createTries {
		res, err := e.api().ContainerCreate(ctx, sp.config, sp.host, sp.network, nil, name)
		if err == nil {
			e.index.add(res.ID, name, sp.who)
			for _, w := range res.Warnings {
				e.log.Debug().Str("pod", sp.who.key.String()).Str("container", sp.who.container).Str("warning", w).Msg("engine warned about a container")
			}
			return holder{id: res.ID}, nil
		}
		if !cerrdefs.IsConflict(err) {
			return holder{}, failed("create container", err)
		}
		taken = err
		in, err := e.api().ContainerInspect(ctx, name)
		switch {
		case cerrdefs.IsNotFound(err) && phantoms < phantomTries:
			phantoms++
			if err := sleep(ctx, phantomWait); err != nil {
				return holder{}, failed("create container", err)
			}
		case cerrdefs.IsNotFound(err):
			name = suffixed(sp.name)
		case err != nil:
			return holder{}, failed("inspect container that holds the name", err)
		case e.isRun(in, sp.who):
			return e.found(in), nil
		default:
			// An earlier call may have gone around the stranger already.
			if h, err := e.findRun(ctx, sp.who); err != nil || h.found {
				return h, err
			}
			name = suffixed(sp.name)
		}
	}
	return holder{}, failed(fmt.Sprintf("create container after %d conflicts", createTries), taken)
}

// isRun reports whether an inspected container is ours and the same run.
func (e *Engine) isRun(in container.InspectResponse, who identity) bool {
	if in.ContainerJSONBase == nil || in.Config == nil {
		return false
	}
	have, ok := identify(e.cfg.Owner, in.Name, in.Config.Labels)
	return ok && have.sameRun(who)
}

// found takes a container of ours into the index and returns it.
func (e *Engine) found(in container.InspectResponse) holder {
	name := strings.TrimPrefix(in.Name, "/")
	who, _ := identify(e.cfg.Owner, name, in.Config.Labels)
	e.index.add(in.ID, name, who)
	return holder{id: in.ID, found: true, who: who, in: in}
}

// findRun looks for a container of the same run under another name.
func (e *Engine) findRun(ctx context.Context, who identity) (holder, error) {
	list, err := e.api().ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", labelOwner+"="+e.cfg.Owner),
		filters.Arg("label", labelPodUID+"="+string(who.uid)),
	)})
	if err != nil {
		return holder{}, failed("list containers", err)
	}
	for _, c := range list {
		in, err := e.api().ContainerInspect(ctx, c.ID)
		if cerrdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return holder{}, failed("inspect container", err)
		}
		if e.isRun(in, who) {
			return e.found(in), nil
		}
	}
	return holder{}, nil
}

// start starts a created container.
func (e *Engine) start(ctx context.Context, id string) error {
	return failed("start container", e.api().ContainerStart(ctx, id, container.StartOptions{}))
}

func suffixed(name string) string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return name + "_" + hex.EncodeToString(b[:])
}

// sleep waits, or returns why it did not.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startable reports whether a found container waits for its first start and is
// what would be created now.
func startable(st state, have, want identity) bool {
	return st.state == pods.StateCreated && have.sandbox == want.sandbox && have.hash == want.hash && have.generation == want.generation
}
