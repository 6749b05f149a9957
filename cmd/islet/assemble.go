package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/docker"
	"github.com/islet-run/islet/docker/credentials"
	"github.com/islet-run/islet/node"
	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/sources"
	"github.com/islet-run/islet/store"
	"github.com/islet-run/islet/syncer"
)

// islet is everything that runs in one process, wired together.
type islet struct {
	log    zerolog.Logger
	store  *store.Store
	engine *docker.Engine
	// recovery comes before everything that is done to the engine.
	recovery *recovery
	file     *sources.File // nil: no source is read
	config   *sources.PodConfig
	syncer   *syncer.Syncer

	stopping *stopping
	snapshot atomic.Pointer[sources.Snapshot] // newest
}

// assemble opens the state and wires the parts; nothing runs yet. The caller
// closes what it returns.
func assemble(opts runOptions, log zerolog.Logger) (_ *islet, err error) {
	machine, err := node.Inspect(opts.Hostname, opts.NodeIPs)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(opts.RootDir)
	if err != nil {
		return nil, err
	}
	i := &islet{log: log, store: st, stopping: newStopping()}
	defer func() {
		if err != nil {
			i.close()
		}
	}()
	if i.engine, err = docker.New(engineConfig(opts, st, machine, log)); err != nil {
		return nil, err
	}
	if i.recovery, err = newRecovery(opts, st, i.engine, log); err != nil {
		return nil, err
	}
	i.file, err = sources.NewFile(sources.FileConfig{Path: opts.PodManifestPath, Poll: opts.FileCheckFrequency, Store: st, Log: log})
	if err != nil {
		return nil, err
	}
	i.config, err = sources.NewPodConfig(sources.PodConfigConfig{
		Sources: []string{sources.SourceFile}, Store: st, Running: i.recovery.find,
		Finished: syncer.Stored{Store: st}.Finished, Log: log,
	})
	if err != nil {
		return nil, err
	}
	stored := syncer.Stored{Store: st}
	recorder, err := syncer.NewRecorder(stored, time.Now)
	if err != nil {
		log.Warn().Err(err).Msg("some events of the past could not be read")
	}
	i.syncer = syncer.New(syncer.Config{
		Engine:   recoveredEngine{i.engine, i.recovery},
		Cgroups:  &node.Cgroups{Driver: func() string { return i.engine.Facts().CgroupDriver }},
		Records:  stored,
		Recorder: recorder,
		Node:     pods.Node{Name: machine.Name, HostIPs: machine.IPs},
		Dead:     pods.DeadPolicy{PerContainer: opts.MaxDeadPerContainer, MinAge: opts.MinContainerTTL},
		Log:      log,
	})
	return i, nil
}

func engineConfig(opts runOptions, st *store.Store, machine node.Machine, log zerolog.Logger) docker.Config {
	return docker.Config{
		Host:        opts.DockerEndpoint,
		Owner:       st.Owner(),
		Root:        st.Root(),
		NetworkName: networkName(opts, st.Owner()),
		PauseImage:  opts.PodInfraContainerImage,
		LogMaxSize:  fmt.Sprintf("%db", opts.ContainerLogMaxSize),
		LogMaxFiles: opts.ContainerLogMaxFiles,
		MaxPulls:    opts.MaxParallelImagePulls,
		PullQPS:     opts.RegistryPullQPS,
		PullBurst:   opts.RegistryBurst,
		WatchPulls:  opts.showPull,
		BootID:      machine.BootID,
		Log:         log,

		CredentialFiles: credentials.SearchPath(st.Root()),
	}
}

func (i *islet) close() {
	if i.engine != nil {
		_ = i.engine.Close()
	}
	if err := i.store.Close(); err != nil {
		i.log.Error().Err(err).Msg("state directory was not closed")
	}
}

// run runs the parts until ctx ends or one of them fails. It returns what went
// wrong first; that the parts were told to end is nothing wrong.
func (i *islet) run(ctx context.Context, more ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var first error
	var once sync.Once
	goRun := func(part func(context.Context) error) {
		g.Go(func() error {
			err := part(ctx)
			if err != nil && !errors.Is(err, context.Canceled) {
				once.Do(func() { first = err })
			}
			return err
		})
	}
	updates := make(chan sources.Update)
	targets := make(chan syncer.Target)
	if i.file != nil {
		goRun(func(ctx context.Context) error { return i.file.Run(ctx, updates) })
	}
	goRun(i.recovery.run)
	goRun(i.recovery.after(func(ctx context.Context) error { return i.config.Run(ctx, updates) }))
	goRun(func(ctx context.Context) error { return i.aim(ctx, targets) })
	goRun(func(ctx context.Context) error { return i.syncer.Run(ctx, targets) })
	for _, part := range more {
		goRun(part)
	}
	_ = g.Wait() // first has it, or there is nothing to say
	return first
}

// aim turns what the sources want into targets of the syncer, until stop says
// that nothing is wanted any more.
func (i *islet) aim(ctx context.Context, targets chan<- syncer.Target) error {
	snapshots, stop := i.config.Updates(), i.stopping.begun
	var next syncer.Target
	var out chan<- syncer.Target
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s := <-snapshots:
			i.snapshot.Store(&s)
			if stop != nil {
				next, out = targetOf(s), targets
			}
		case <-stop:
			// From now on nothing is wanted, whatever the sources say.
			next, out, stop = syncer.Target{Complete: true, Clean: true}, targets, nil
		case out <- next:
			out = nil
		}
	}
}

func targetOf(s sources.Snapshot) syncer.Target {
	t := syncer.Target{
		Pods:     make(map[pods.Key]*pods.Want, len(s.Pods)),
		Complete: s.Complete,
		Clean:    s.Clean,
	}
	for _, p := range s.Pods {
		key := pods.KeyOf(p.Pod)
		t.Pods[key] = &pods.Want{Pod: p.Pod, Hold: p.Hold, Source: p.Origin.Source, Path: p.Origin.Path, Digest: p.Digest, Edit: p.Edit}
		if p.After != "" {
			if t.After == nil {
				t.After = map[pods.Key]types.UID{}
			}
			t.After[key] = p.After
		}
	}
	return t
}

// ready says what is missing until islet works.
func (i *islet) ready() error {
	if i.stopping.isBegun() {
		return errors.New("islet is going down")
	}
	if !i.syncer.EngineUp() {
		return fmt.Errorf("reach Docker Engine: %w", pods.ErrEngineAway)
	}
	if s := i.snapshot.Load(); s == nil || !s.Complete {
		return errors.New("not every source has been read yet")
	}
	return nil
}
