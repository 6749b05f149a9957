package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"
)

// patience bounds every wait for something that takes milliseconds.
const patience = 3 * time.Minute

// bench is one run.
type bench struct {
	options
	docker *client.Client
	starts *starts
	ended  *stops
	engine process // dockerd; zero when it cannot be seen
	islet  *islet
	floor  *floor
}

// result is all that was measured; report prints it.
type result struct {
	version            string
	floorOne, isletOne []time.Duration
	floorAll, isletAll []time.Duration
	idle               []idle
	floorStop          []time.Duration // first signal to last removal
	isletStop          []time.Duration // the same
	isletGone          []time.Duration // removal of the manifest to last removal
	restarts           []restart
	others             []other
}

func (b *bench) measure(ctx context.Context) error {
	var r result
	v, err := b.docker.ServerVersion(ctx)
	if err != nil {
		return fmt.Errorf("ask engine for its version: %w", err)
	}
	r.version = v.Version
	if err := b.islet.start(ctx); err != nil {
		return err
	}
	// The first pod loads the pause image and makes the network; it is the
	// pattern of the floor and measures nothing.
	if _, err := b.startByIslet(ctx, "bench-pattern"); err != nil {
		return err
	}
	if err := b.floor.copyFrom(ctx, b.islet.root, "bench-pattern"); err != nil {
		return err
	}
	if err := b.islet.remove(ctx, "bench-pattern"); err != nil {
		return err
	}
	steps := []func(context.Context, *result) error{b.idleEmpty, b.oneByOne, b.idleFull, b.stopOneByOne, b.manyPods, b.atOnce, b.others}
	for _, step := range steps {
		if err := step(ctx, &r); err != nil {
			return err
		}
	}
	r.print(os.Stdout, b.options)
	return nil
}

// startByIslet drops the manifest of one pod and returns how long it took until
// its container started.
func (b *bench) startByIslet(ctx context.Context, names ...string) (time.Duration, error) {
	from, err := b.islet.drop(names...)
	if err != nil {
		return 0, err
	}
	return b.lastStart(ctx, from, names)
}

// lastStart waits for the start of the container of every pod.
func (b *bench) lastStart(ctx context.Context, from time.Time, names []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last time.Time
	for _, name := range names {
		at, err := b.starts.wait(ctx, name)
		if err != nil {
			return 0, fmt.Errorf("wait for container of %s: %w%s", name, err, b.islet.complaint())
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(from), nil
}

// startByHand starts pods with at most parallel of them under way.
func (b *bench) startByHand(ctx context.Context, parallel int, names ...string) (time.Duration, error) {
	pods := make([]*floorPod, len(names))
	for i, name := range names {
		p, err := b.floor.prepare(name)
		if err != nil {
			return 0, err
		}
		pods[i] = p
	}
	from := time.Now().Round(0)
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, p := range pods {
		g.Go(func() error { return p.start(ctx) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return b.lastStart(ctx, from, names)
}

// oneByOne leaves the pods of islet running, those of the floor not.
func (b *bench) oneByOne(ctx context.Context, r *result) error {
	for i := range b.pods {
		trials := []func() error{
			func() error {
				name := fmt.Sprintf("floor-one-%d", i)
				d, err := b.startByHand(ctx, 1, name)
				r.floorOne = append(r.floorOne, d)
				return errors.Join(err, b.floor.remove(ctx))
			},
			func() error {
				d, err := b.startByIslet(ctx, fmt.Sprintf("bench-one-%d", i))
				r.isletOne = append(r.isletOne, d)
				return err
			},
		}
		if i%2 == 1 {
			slices.Reverse(trials)
		}
		for _, trial := range trials {
			b.calmDown(ctx)
			if err := trial(); err != nil {
				return err
			}
		}
		progress("one by one %d/%d: by hand %v, islet %v", i+1, b.pods, ms(r.floorOne[i]), ms(r.isletOne[i]))
	}
	return nil
}

func (b *bench) atOnce(ctx context.Context, r *result) error {
	if err := b.islet.remove(ctx); err != nil {
		return err
	}
	for round := range b.rounds {
		var byHand, dropped []string
		for i := range b.pods {
			byHand = append(byHand, fmt.Sprintf("floor-all-%d-%d", round, i))
			dropped = append(dropped, fmt.Sprintf("bench-all-%d-%d", round, i))
		}
		trials := []func() error{
			func() error {
				d, err := b.startByHand(ctx, b.parallel, byHand...)
				r.floorAll = append(r.floorAll, d)
				return errors.Join(err, b.floor.remove(ctx))
			},
			func() error {
				d, err := b.startByIslet(ctx, dropped...)
				if err != nil {
					return err
				}
				r.isletAll = append(r.isletAll, d)
				return b.islet.remove(ctx)
			},
		}
		if round%2 == 1 {
			slices.Reverse(trials)
		}
		for _, trial := range trials {
			b.calmDown(ctx)
			if err := trial(); err != nil {
				return err
			}
		}
		progress("%d at once %d/%d: by hand %v, islet %v", b.pods, round+1, b.rounds, ms(r.floorAll[round]), ms(r.isletAll[round]))
	}
	return nil
}

// calmDown waits until dockerd has little to do, and not for ever.
func (b *bench) calmDown(ctx context.Context) {
	const look = 200 * time.Millisecond
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		before, err := b.engine.cpu()
		time.Sleep(look)
		after, err2 := b.engine.cpu()
		if errors.Join(err, err2) != nil || after-before < look/50 {
			return
		}
	}
}

// cleanUp removes everything, whatever state it is in.
func (b *bench) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(b.floor.remove(ctx), b.islet.end(ctx))
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "    "+format+"\n", args...)
}

func (r *result) print(w io.Writer, o options) {
	fmt.Fprintln(w)
	fmt.Fprintf(w, "ratio, one by one, p50    %s  (islet / by hand; to be at most 1.15)\n", ratio(r.isletOne, r.floorOne))
	if len(r.floorAll) > 0 {
		fmt.Fprintf(w, "ratio, %2d at once, p50    %s  (same parallelism, %d; to be at most 1.15)\n", o.pods, ratio(r.isletAll, r.floorAll), o.parallel)
	}
	fmt.Fprintf(w, "\nDocker Engine %s, pod = pause + one container, from rename (or first create) to start event\n", r.version)
	row := func(name string, ds []time.Duration) { printRow(w, name, ds) }
	row("one by one, by hand", r.floorOne)
	row("one by one, islet", r.isletOne)
	if len(r.floorAll) > 0 {
		row(fmt.Sprintf("%d at once, by hand", o.pods), r.floorAll)
		row(fmt.Sprintf("%d at once, islet", o.pods), r.isletAll)
	}
	if len(r.idle) > 0 {
		fmt.Fprintf(w, "\nidle for %v: per cent of one core\n", o.idle)
	}
	for _, i := range r.idle {
		fmt.Fprintf(w, "  %s\n", i)
	}
	r.printStops(w)
	r.printRestarts(w)
	for _, o := range r.others {
		o.print(w, r.isletOne)
	}
}

func printRow(w io.Writer, name string, ds []time.Duration) {
	fmt.Fprintf(w, "  %-28s p50 %6s  p95 %6s  min %6s  n %d\n", name, ms(percentile(ds, 50)), ms(percentile(ds, 95)), ms(percentile(ds, 0)), len(ds))
}
