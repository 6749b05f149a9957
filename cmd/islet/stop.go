package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/islet-run/islet/sources"
)

// stopping is the end of all pods. Once begun it is carried through, whoever
// asked for it and whether or not they still listen.
type stopping struct {
	once  sync.Once
	begun chan struct{} // closed: nothing is wanted any more
	done  chan struct{} // closed: every pod is gone, or err says why not
	err   error         // read after done
}

func newStopping() *stopping {
	return &stopping{begun: make(chan struct{}), done: make(chan struct{})}
}

func (s *stopping) isBegun() bool {
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

// beginStop has every pod end with its grace, and then islet. The pods get new
// identities, so that the next run starts new instances of them.
func (i *islet) beginStop(running context.Context, end func()) {
	i.stopping.once.Do(func() {
		close(i.stopping.begun)
		go func() {
			defer end()
			defer close(i.stopping.done)
			err := i.followStop(running, func(string) {})
			if err == nil {
				err = i.renewAll(running)
			}
			i.stopping.err = err
		}()
	})
}

// stopPods begins the end of all pods and follows it, with a line to report
// for each step. It returns when the last is gone, or when ctx ends; the pods
// go on ending then, as long as running lasts, and islet after them (end).
func (i *islet) stopPods(ctx, running context.Context, end func(), report func(string)) error {
	i.beginStop(running, end)
	err := i.followStop(ctx, report)
	if err == nil {
		select {
		case <-i.stopping.done:
		case <-ctx.Done():
			err = fmt.Errorf("stop pods: %w", context.Cause(ctx))
		}
	}
	select {
	case <-i.stopping.done: // its end is what may have ended ctx
		return i.stopping.err
	default:
		return err
	}
}

// followStop reports what ends until nothing is left.
func (i *islet) followStop(ctx context.Context, report func(string)) error {
	changed, cancel := i.syncer.Subscribe()
	defer cancel()
	left := i.shownPods()
	report("stopping " + count(len(left), "pod"))
	check := time.NewTicker(time.Second) // what no view shows: strays, erasing, the engine
	defer check.Stop()
	away := false
	for !i.syncer.Idle() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop pods: %w", context.Cause(ctx))
		case <-changed:
		case <-check.C:
		}
		if up := i.syncer.EngineUp(); !up && !away {
			report("the engine does not answer; waiting for it")
			away = true
		} else if up {
			away = false
		}
		now := i.shownPods()
		for name := range left {
			if !now[name] {
				delete(left, name)
				report(name + " stopped")
			}
		}
	}
	for name := range left {
		report(name + " stopped")
	}
	return nil
}

func (i *islet) shownPods() map[string]bool {
	shown := map[string]bool{}
	for _, v := range i.syncer.Views() {
		shown[v.Pod.Namespace+"/"+v.Pod.Name] = true
	}
	return shown
}

func (i *islet) renewAll(ctx context.Context) error {
	s := i.snapshot.Load()
	if s == nil {
		return nil
	}
	for _, p := range s.Pods {
		key := sources.Key{Realm: sources.RealmLocal, Kind: "Pod", Namespace: p.Pod.Namespace, Name: p.Pod.Name}
		if err := i.config.Renew(ctx, key); err != nil && !errors.Is(err, sources.ErrUnknown) {
			return err
		}
	}
	return nil
}
