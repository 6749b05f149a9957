package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

const (
	labelPod       = "io.kubernetes.pod.name"
	labelContainer = "io.kubernetes.container.name"
	labelOwner     = "run.islet.owner"
	labelRoot      = "run.islet.root"

	// containerName is the name of the one container of every pod here.
	containerName = "main"
)

// starts remembers when the container of each pod was started, by pod name. The
// names of all pods of a run are different.
type starts struct {
	mu      sync.Mutex
	at      map[string]time.Time
	changed chan struct{} // closed and replaced with every news
	err     error
}

// watchStarts listens to the engine until ctx ends.
func watchStarts(ctx context.Context, docker *client.Client) (*starts, error) {
	s := &starts{at: map[string]time.Time{}, changed: make(chan struct{})}
	messages, errs := docker.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("event", string(events.ActionStart)),
		filters.Arg("label", labelContainer+"="+containerName),
	)})
	go func() {
		for {
			select {
			case m := <-messages:
				s.note(m.Actor.Attributes[labelPod], time.Unix(0, m.TimeNano), nil)
			case err := <-errs:
				s.note("", time.Time{}, fmt.Errorf("read events: %w", err))
				return
			}
		}
	}()
	return s, nil
}

func (s *starts) note(pod string, at time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = err
	} else if _, again := s.at[pod]; !again {
		s.at[pod] = at
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait returns when the container of a pod was started first.
func (s *starts) wait(ctx context.Context, pod string) (time.Time, error) {
	for {
		s.mu.Lock()
		at, ok := s.at[pod]
		changed, err := s.changed, s.err
		s.mu.Unlock()
		if ok || err != nil {
			return at, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}
