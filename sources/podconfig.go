package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/islet-run/islet/manifests"
	"github.com/islet-run/islet/store"
)

// RealmLocal is the realm of everything that does not come from an API server.
const RealmLocal = "local"

// Key names one object.
type Key struct {
	Realm     string `json:"realm"`
	Kind      string `json:"kind"` // Pod, ConfigMap, Secret, PersistentVolumeClaim
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (k Key) String() string { return k.Kind + " " + k.Namespace + "/" + k.Name }

// Running is a pod that runs although no identity of it is stored, because the
// store was lost.
type Running struct {
	UID        types.UID
	Generation int64
	Digest     string // manifests.Document.Digest of what was started
}

// PodConfigConfig is what a [PodConfig] needs. Zero values take the defaults
// given.
type PodConfigConfig struct {
	// Sources are the configured ones, in order: file, url, push. An update of
	// another source is an error of the program and is dropped with a log line.
	Sources []string
	Store   *store.Store
	Log     zerolog.Logger
	// Quiet is how long after the last update the sets are merged: 2 ms, and not
	// at all with a single source, as there is nothing to join. The
	// sources have waited already; this only joins what comes at once.
	Quiet time.Duration
	// MaxWait bounds Quiet, from the first update: 20 ms.
	MaxWait time.Duration
	// FirstWait is how long after the start the first snapshot waits for all
	// sources: 100 ms.
	FirstWait time.Duration
	// Retry is how long after the store could not be written it is tried again:
	// 1 s.
	Retry time.Duration
	// Running finds a pod by namespace/name that runs without a stored identity;
	// nil when the store is not lost.
	Running func(Key) (Running, bool)
	// Finished reports whether the instance has finished for good: an edit of
	// its containers, which a running one would take in place, is then a new
	// instance. nil: none has.
	Finished func(types.UID) bool
	// The functions of package manifests, unless a test sets others.
	Decode          func([]byte, manifests.Options) []manifests.Document
	Compare         func(old, new *v1.Pod) (manifests.Change, string)
	EffectiveDigest func(runtime.Object) string
	// NewUID mints UIDs: random ones.
	NewUID func() types.UID
}

// PodConfig merges the sets of all sources into one wanted state and owns the
// identity of every object in it. See the package comment for its rules.
type PodConfig struct {
	cfg     PodConfigConfig
	records *store.Collection
	out     chan Snapshot
	renew   chan renewal

	mu    sync.Mutex // guards table
	table []Entry    // digests not keyed yet

	// Everything below belongs to Run.
	sets       map[string]*Update
	identities map[Key]*identity
	loaded     []*identity // as they were stored, until the first write
	verdicts   map[entryID]*verdict
	round      uint64 // number of the merge
	published  *Snapshot
	batch      batch
	stuck      *Entry // why the store could not be written
}

type renewal struct {
	key  Key
	done chan error
}

// ErrUnknown is returned by Renew for a name that no document claims.
var ErrUnknown = errors.New("no document claims this name")

// NewPodConfig checks the configuration. It does no I/O.
func NewPodConfig(cfg PodConfigConfig) (*PodConfig, error) {
	if cfg.Store == nil {
		return nil, errors.New("pod config: no store given")
	}
	for _, s := range cfg.Sources {
		if _, ok := sourceRank[s]; !ok {
			return nil, fmt.Errorf("pod config: unknown source %q", s)
		}
	}
	for _, d := range []struct {
		value *time.Duration
		std   time.Duration
	}{
		{&cfg.Quiet, 2 * time.Millisecond},
		{&cfg.MaxWait, 20 * time.Millisecond},
		{&cfg.FirstWait, 100 * time.Millisecond},
		{&cfg.Retry, time.Second},
	} {
		if *d.value < 0 {
			return nil, errors.New("pod config: negative duration")
		}
		if *d.value == 0 && d.value == &cfg.Quiet && len(cfg.Sources) == 1 {
			continue
		}
		if *d.value == 0 {
			*d.value = d.std
		}
	}
	if cfg.Decode == nil {
		cfg.Decode = manifests.Decode
	}
	if cfg.Compare == nil {
		cfg.Compare = manifests.Compare
	}
	if cfg.EffectiveDigest == nil {
		cfg.EffectiveDigest = manifests.EffectiveDigest
	}
	if cfg.NewUID == nil {
		cfg.NewUID = uuid.NewUUID
	}
	return &PodConfig{
		cfg:        cfg,
		records:    cfg.Store.Collection("identities"),
		out:        make(chan Snapshot),
		renew:      make(chan renewal),
		sets:       map[string]*Update{},
		identities: map[Key]*identity{},
		verdicts:   map[entryID]*verdict{},
	}, nil
}

// Updates is where Run publishes the wanted state: each receive gets the
// newest, and one is sent only when it differs from the one received last. It
// is never closed.
func (p *PodConfig) Updates() <-chan Snapshot { return p.out }

// Renew gives an object a new UID, so that its instance ends and a new one
// starts: what a restart, or a DELETE of a pod from a file, means. It returns
// when the new UID is durable, [ErrUnknown] when no document claims the name,
// or ctx's error.
func (p *PodConfig) Renew(ctx context.Context, key Key) error {
	r := renewal{key: key, done: make(chan error, 1)}
	select {
	case p.renew <- r:
	case <-ctx.Done():
		return fmt.Errorf("renew %s: %w", key, ctx.Err())
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("renew %s: %w", key, ctx.Err())
	}
}

// Run merges what comes from in until ctx ends. It returns ctx's error, or one
// that says why it could not start. Only one Run at a time.
func (p *PodConfig) Run(ctx context.Context, in <-chan Update) error {
	if err := p.load(); err != nil {
		return err
	}
	var (
		due   = time.After(p.cfg.FirstWait) // nil while nothing is pending
		first = time.Time{}                 // when the oldest pending update came
		send  *Snapshot
	)
	if len(p.cfg.Sources) == 0 {
		due = time.After(0)
	}
	for {
		var out chan<- Snapshot
		var next Snapshot
		if send != nil {
			out, next = p.out, *send
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u := <-in:
			if !p.accept(u) {
				continue
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			if p.published == nil && !p.complete() {
				continue // FirstWait is running
			}
			due = time.After(min(p.cfg.Quiet, first.Add(p.cfg.MaxWait).Sub(now)))
		case <-due:
			due, first = nil, time.Time{}
			if !p.step(&send) {
				due = time.After(p.cfg.Retry)
			}
		case r := <-p.renew:
			r.done <- p.renewNow(r.key)
			if !p.step(&send) {
				due = time.After(p.cfg.Retry)
			}
		case out <- next:
			send = nil
		}
	}
}

func (p *PodConfig) accept(u Update) bool {
	if !slices.Contains(p.cfg.Sources, u.Source) {
		p.cfg.Log.Error().Str("source", u.Source).Msg("update of a source that is not configured")
		return false
	}
	p.sets[u.Source] = &u
	return true
}

func (p *PodConfig) complete() bool { return len(p.sets) == len(p.cfg.Sources) }

// step merges, makes the result durable and, if it is news, puts it up for
// sending. It reports false when it must be tried again.
func (p *PodConfig) step(send **Snapshot) bool {
	snap, entries := p.merge()
	if err := p.persist(); err != nil {
		p.stick(err)
		p.setEntries(append([]Entry{*p.stuck}, entries...))
		if s := p.durable(); s != nil {
			p.published, *send = s, s
		}
		return false
	}
	p.loaded = nil
	if p.stuck != nil {
		p.stuck = nil
		p.cfg.Log.Info().Msg("the store can be written again")
	}
	p.setEntries(entries)
	if p.published != nil && p.published.equal(snap) {
		return true
	}
	p.published, *send = snap, snap
	return true
}

// renewNow mints a UID; the caller publishes it.
func (p *PodConfig) renewNow(key Key) error {
	id := p.identities[key]
	if id == nil {
		return fmt.Errorf("renew %s: %w", key, ErrUnknown)
	}
	was := *id
	id.renew(p.cfg.NewUID())
	p.batch.put(key, id)
	if err := p.persist(); err != nil {
		*id = was
		p.batch.put(key, id)
		return fmt.Errorf("renew %s: %w", key, err)
	}
	return nil
}

// equal reports whether both want the same. Objects are compared by address:
// merge keeps the address of what did not change.
func (s *Snapshot) equal(o *Snapshot) bool {
	return s.Complete == o.Complete && s.Clean == o.Clean &&
		slices.Equal(s.Pods, o.Pods) && slices.Equal(s.ConfigMaps, o.ConfigMaps) &&
		slices.Equal(s.Secrets, o.Secrets) && slices.Equal(s.Claims, o.Claims)
}
