package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// restart is one restart of islet under running pods.
type restart struct {
	pods    int
	answers time.Duration // until its socket answers
	ready   time.Duration // until it knows all of its pods
	changed int           // containers that are not the same afterwards
}

// settle is how long after a restart nothing may have happened.
const settle = 5 * time.Second

// manyPods fills up to the number of pods asked for, and measures islet idle
// and restarted under them.
func (b *bench) manyPods(ctx context.Context, r *result) error {
	if b.many == 0 {
		return nil
	}
	var names []string
	for i := max(0, b.pods-min(b.stops, b.pods)); i < b.many; i++ {
		names = append(names, fmt.Sprintf("bench-many-%d", i))
	}
	if len(names) > 0 {
		progress("start pods until there are %d", b.many)
		if _, err := b.startByIslet(ctx, names...); err != nil {
			return err
		}
	}
	if err := b.idleFor(ctx, r, fmt.Sprintf("islet, %d pods", b.many)); err != nil {
		return err
	}
	for range 3 {
		if err := b.restart(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) restart(ctx context.Context, r *result) error {
	before, err := b.containers(ctx)
	if err != nil {
		return err
	}
	if err := b.islet.stop(ctx); err != nil {
		return err
	}
	b.calmDown(ctx)
	one := restart{pods: b.many}
	from := time.Now()
	answered := make(chan time.Duration, 1)
	watching, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for watching.Err() == nil && b.islet.answers(watching) == 0 {
			time.Sleep(time.Millisecond)
		}
		answered <- time.Since(from)
	}()
	if err := b.islet.start(ctx); err != nil {
		return err
	}
	one.ready, one.answers = time.Since(from), <-answered
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := b.containers(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(after, func(id string, _ bool) bool { return before[id] })
	one.changed = len(after)
	r.restarts = append(r.restarts, one)
	progress("restart under %d pods: API answers after %v", one.pods, ms(one.answers))
	return nil
}

// containers are the ids of the containers of islet's pods.
func (b *bench) containers(ctx context.Context) (map[string]bool, error) {
	list, err := b.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelRoot+"="+b.islet.root))})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	ids := make(map[string]bool, len(list))
	for _, c := range list {
		ids[c.ID] = true
	}
	return ids, nil
}

func (r *result) printRestarts(w io.Writer) {
	if len(r.restarts) == 0 {
		return
	}
	fmt.Fprintf(w, "\nrestart of islet under running pods (to answer within 2 s, and to restart nothing)\n")
	for _, one := range r.restarts {
		fmt.Fprintf(w, "  %3d pods: API answers after %6s, ready after %6s, new containers %d\n", one.pods, ms(one.answers), ms(one.ready), one.changed)
	}
}
