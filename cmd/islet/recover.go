package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/islet-run/islet/docker"
	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/sources"
	"github.com/islet-run/islet/store"
	"github.com/islet-run/islet/syncer"
)

// recovery finds out whose pods run on the engine before anything is done to
// it, when the state that would say so is new or lost. Until it is done no
// manifest gets an identity and no pod is looked at.
type recovery struct {
	opts   runOptions
	store  *store.Store
	engine *docker.Engine
	log    zerolog.Logger

	known   map[string]bool                // names of the identities that are stored
	done    chan struct{}                  // closed when it is known whose pods run
	running map[pods.Key]docker.RunningPod // after done only find's, and sources'
}

// newRecovery returns one that is done already when nothing is lost.
func newRecovery(opts runOptions, st *store.Store, engine *docker.Engine, log zerolog.Logger) (*recovery, error) {
	r := &recovery{opts: opts, store: st, engine: engine, log: log, known: map[string]bool{}, done: make(chan struct{})}
	lost, err := st.Collection("identities").Each(func(name string, _ []byte) error { r.known[name] = true; return nil })
	if err != nil {
		return nil, err
	}
	for _, bad := range lost {
		log.Warn().Err(bad).Msg("a stored identity is lost: its pod goes on if its document is the same, else it is replaced")
	}
	if len(r.known) > 0 && len(lost) == 0 && !st.Fresh() && (opts.AdoptOwner == "" || opts.AdoptOwner == st.Owner()) {
		close(r.done)
	}
	return r, nil
}

const (
	recoveryFirstRetry = 100 * time.Millisecond
	recoveryLastRetry  = 2 * time.Second
)

// run ends when it is known. A refusal is an error: somebody has to decide.
func (r *recovery) run(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	default:
	}
	said := false
	for wait := recoveryFirstRetry; ; wait = min(2*wait, recoveryLastRetry) {
		err := r.look(ctx)
		var refused *ownerError
		switch {
		case err == nil:
			close(r.done)
			return nil
		case errors.As(err, &refused), ctx.Err() != nil:
			return err
		}
		if !said {
			said = true
			trouble := "it cannot be told yet whose pods run on the engine"
			if errors.Is(err, pods.ErrEngineAway) {
				trouble = "engine does not answer"
			}
			r.log.Warn().Err(err).Msg(trouble + "; trying again until it works")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// look decides who this islet is and reads what runs.
func (r *recovery) look(ctx context.Context) error {
	owners, err := r.engine.Owners(ctx)
	if err != nil {
		return err
	}
	own := r.store.Owner()
	id, err := chooseOwner(ownerQuestion{own: own, fresh: r.store.Fresh(), adopt: r.opts.AdoptOwner, root: r.store.Root()}, owners)
	if err != nil {
		return err
	}
	if id != own {
		if err := r.store.SetOwner(id); err != nil {
			return err
		}
		r.engine.Become(id, networkName(r.opts, id))
	}
	if r.running, err = r.engine.Running(ctx); err != nil {
		return err
	}
	r.readRecords()
	switch {
	case id == own && len(r.running) == 0:
	case r.opts.AdoptOwner != "" && id != own:
		r.log.Warn().Str("owner", id).Int("pods", len(r.running)).Msg("took over this owner and its pods")
	case id != own:
		r.log.Warn().Str("owner", id).Int("pods", len(r.running)).
			Msg("the state of this root-dir was lost: took back its owner id from the engine; pods whose document is the same go on")
	default:
		r.log.Warn().Str("owner", id).Int("pods", len(r.running)).
			Msg("the identities of this root-dir were lost: pods whose document is the same go on")
	}
	return nil
}

// readRecords has the records of instances, where there are any, go before what
// the engine tells: they know of edits that were applied in place, and of pods
// that have finished.
func (r *recovery) readRecords() {
	records, _, err := syncer.Stored{Store: r.store}.Load()
	if err != nil {
		r.log.Error().Err(err).Msg("some instance records could not be read; their pods are treated as unknown")
	}
	for _, rec := range records {
		if rec.Deletion != nil {
			if r.running[rec.Key].UID == rec.UID {
				delete(r.running, rec.Key) // it is ending
			}
			continue
		}
		r.running[rec.Key] = docker.RunningPod{UID: rec.UID, Generation: rec.Pod.Generation, Digest: rec.Digest}
	}
}

// find tells sources of a pod that runs and of which no identity was stored. It
// tells once: a name that comes back later is somebody else.
func (r *recovery) find(key sources.Key) (sources.Running, bool) {
	running := pods.Key{Realm: key.Realm, Namespace: key.Namespace, Name: key.Name}
	p, ok := r.running[running]
	ok = ok && !r.known[key.Realm+"/Pod/"+key.Namespace+"/"+key.Name]
	delete(r.running, running)
	return sources.Running{UID: p.UID, Generation: p.Generation, Digest: p.Digest}, ok
}

// after runs f once the recovery is done.
func (r *recovery) after(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-r.done:
			return f(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// recoveredEngine is an engine that is watched only once it is known who uses it.
type recoveredEngine struct {
	*docker.Engine
	recovery *recovery
}

// Watch implements syncer.Engine.
func (e recoveredEngine) Watch(ctx context.Context, notify func(pods.EngineEvent)) error {
	return e.recovery.after(func(ctx context.Context) error { return e.Engine.Watch(ctx, notify) })(ctx)
}

// ownerError is a decision that islet does not take by itself.
type ownerError struct{ error }

func (e *ownerError) Unwrap() error { return e.error }

// ownerQuestion is what an installation knows when it does not know whose pods
// on the engine are its own.
type ownerQuestion struct {
	own   string // the id in the store
	fresh bool   // which was made just now
	adopt string // --adopt-owner
	root  string // absolute
}

// chooseOwner returns the id to go by, or an *ownerError that says what to do.
func chooseOwner(q ownerQuestion, owners []docker.OwnerInfo) (string, error) {
	if q.adopt != "" {
		return adoptOwner(q, owners)
	}
	if !q.fresh {
		return q.own, nil
	}
	var here []docker.OwnerInfo
	for _, o := range owners {
		if o.Root == q.root {
			here = append(here, o)
		}
	}
	switch len(here) {
	case 0:
		return q.own, nil
	case 1:
		return here[0].ID, nil
	}
	return "", &ownerError{fmt.Errorf("recover owner of %s: the state is lost and several owners on the engine have had this root-dir: "+
		"choose one with --adopt-owner ID, and stop the others with 'islet down --all': %s", q.root, listOwners(here))}
}

func adoptOwner(q ownerQuestion, owners []docker.OwnerInfo) (string, error) {
	if q.adopt == q.own {
		return q.own, nil
	}
	found := false
	for _, o := range owners {
		switch {
		case o.ID == q.own && !q.fresh:
			return "", &ownerError{fmt.Errorf("adopt owner %s: the owner of this root-dir, %s, has %s on the engine, which nobody would look after: run 'islet down' first",
				q.adopt, q.own, count(o.Containers, "container"))}
		case o.ID == q.adopt:
			found = true
		}
	}
	if !found {
		known := "nobody has any"
		if len(owners) > 0 {
			known = "these have: " + listOwners(owners)
		}
		return "", &ownerError{fmt.Errorf("adopt owner %s: it has no containers on the engine; %s", q.adopt, known)}
	}
	return q.adopt, nil
}

func listOwners(owners []docker.OwnerInfo) string {
	lines := make([]string, len(owners))
	for i, o := range owners {
		lines[i] = fmt.Sprintf("%s (%s, root-dir %s)", o.ID, count(o.Containers, "container"), clean(o.Root))
	}
	return strings.Join(lines, ", ")
}

// networkName is the bridge of an owner: "islet" for the usual root-dir, so
// that people find it, and one of its own for every other.
func networkName(opts runOptions, owner string) string {
	if opts.RootDir == defaultRootDir {
		return docker.DefaultNetwork
	}
	return docker.DefaultNetwork + "-" + owner[:min(8, len(owner))]
}
