package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// podContainers is how many containers a pod here has, its sandbox included.
const podContainers = 2

// stops remembers the end of each pod, by pod name.
type stops struct {
	mu      sync.Mutex
	pods    map[string]*stop
	changed chan struct{} // closed and replaced with every news
	err     error
}

// stop is the end of one pod as the engine tells it.
type stop struct {
	signalled time.Time // the first signal to any of its containers
	removed   time.Time // the last removal
	removals  int
}

// watchStops listens to the engine until ctx ends.
func watchStops(ctx context.Context, docker *client.Client) (*stops, error) {
	s := &stops{pods: map[string]*stop{}, changed: make(chan struct{})}
	messages, errs := docker.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("event", string(events.ActionKill)), filters.Arg("event", string(events.ActionDestroy)),
		filters.Arg("label", labelPod),
	)})
	go func() {
		for {
			select {
			case m := <-messages:
				s.note(m, nil)
			case err := <-errs:
				s.note(events.Message{}, fmt.Errorf("read events: %w", err))
				return
			}
		}
	}()
	return s, nil
}

func (s *stops) note(m events.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	name := m.Actor.Attributes[labelPod]
	p := s.pods[name]
	if p == nil {
		p = &stop{}
		s.pods[name] = p
	}
	at := time.Unix(0, m.TimeNano)
	switch {
	case m.Action == events.ActionDestroy:
		p.removed = at
		p.removals++
	case p.signalled.IsZero():
		p.signalled = at
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait returns when the last container of a pod has been removed.
func (s *stops) wait(ctx context.Context, pod string) (stop, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		s.mu.Lock()
		p, changed, err := s.pods[pod], s.changed, s.err
		if p != nil && p.removals >= podContainers {
			defer s.mu.Unlock()
			return *p, nil
		}
		s.mu.Unlock()
		if err != nil {
			return stop{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return stop{}, fmt.Errorf("wait for the end of %s: %w", pod, ctx.Err())
		}
	}
}

// stopOneByOne ends pods that oneByOne left to islet, and as many by hand.
func (b *bench) stopOneByOne(ctx context.Context, r *result) error {
	n := min(b.stops, b.pods)
	for i := range n {
		if err := errors.Join(b.stopByHand(ctx, r, fmt.Sprintf("floor-stop-%d", i)), b.stopByIslet(ctx, r, fmt.Sprintf("bench-one-%d", i))); err != nil {
			return err
		}
		progress("stop %d/%d: by hand %v, islet %v", i+1, n, ms(r.floorStop[i]), ms(r.isletStop[i]))
	}
	return nil
}

func (b *bench) stopByHand(ctx context.Context, r *result, name string) error {
	p, err := b.floor.prepare(name)
	if err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	b.calmDown(ctx)
	if err := p.stop(ctx); err != nil {
		return err
	}
	end, err := b.ended.wait(ctx, name)
	r.floorStop = append(r.floorStop, end.removed.Sub(end.signalled))
	return errors.Join(err, b.floor.remove(ctx))
}

func (b *bench) stopByIslet(ctx context.Context, r *result, name string) error {
	b.calmDown(ctx)
	from := time.Now().Round(0)
	if err := os.Remove(filepath.Join(b.islet.dir, name+".yaml")); err != nil {
		return err
	}
	end, err := b.ended.wait(ctx, name)
	r.isletStop = append(r.isletStop, end.removed.Sub(end.signalled))
	r.isletGone = append(r.isletGone, end.removed.Sub(from))
	return err
}

func (r *result) printStops(w io.Writer) {
	if len(r.isletStop) == 0 {
		return
	}
	fmt.Fprintf(w, "\nstop of a pod whose container heeds TERM\n")
	fmt.Fprintf(w, "  ratio, p50 %s  (islet / by hand, from the first signal to the last removal)\n", ratio(r.isletStop, r.floorStop))
	printRow(w, "by hand", r.floorStop)
	printRow(w, "islet", r.isletStop)
	printRow(w, "islet, from rm of the file", r.isletGone)
	fmt.Fprintf(w, "  (islet waits 1 s and looks again before it believes that a file is gone)\n")
}
