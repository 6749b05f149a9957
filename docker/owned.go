package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/docker/pause"
	"github.com/islet-run/islet/pods"
)

// Become makes the engine that of another owner, who is on the network of that
// name. It is to be called before [Engine.Watch], and not beside other calls
// than [Engine.Owners] and [Engine.Running].
func (e *Engine) Become(owner, networkName string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Owner, e.cfg.NetworkName = owner, networkName
}

// RunningPod is a pod that runs, as its containers tell.
type RunningPod struct {
	UID        types.UID
	Generation int64
	// Digest is that of the document it was started from, or of the newest one
	// that any of its containers was started from.
	Digest string
}

// Running returns the pods of this owner whose sandbox runs. Of two instances
// under one name the one whose sandbox is newer counts: the other is ending.
func (e *Engine) Running(ctx context.Context) (map[pods.Key]RunningPod, error) {
	list, err := e.ownedContainers(ctx)
	if err != nil {
		return nil, err
	}
	return running(e.cfg.Owner, list), nil
}

func (e *Engine) ownedContainers(ctx context.Context) ([]container.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	by := filters.NewArgs(filters.Arg("label", labelOwner+"="+e.cfg.Owner))
	list, err := e.api().ContainerList(ctx, container.ListOptions{All: true, Filters: by})
	return list, failed("list containers", err)
}

// running reads the pods off a list, which comes newest first.
func running(owner string, list []container.Summary) map[pods.Key]RunningPod {
	out := map[pods.Key]RunningPod{}
	each := func(sandboxes bool, do func(identity, container.Summary)) {
		for _, c := range list {
			if len(c.Names) == 0 || c.State != container.StateRunning && c.State != container.StatePaused {
				continue
			}
			if who, ok := identify(owner, c.Names[0], c.Labels); ok && who.isSandbox() == sandboxes {
				do(who, c)
			}
		}
	}
	each(true, func(who identity, c container.Summary) {
		if _, newer := out[who.key]; !newer {
			out[who.key] = RunningPod{UID: who.uid, Generation: who.generation, Digest: c.Labels[labelDigest]}
		}
	})
	each(false, func(who identity, c container.Summary) {
		if p, ok := out[who.key]; ok && p.UID == who.uid && who.generation > p.Generation {
			out[who.key] = RunningPod{UID: who.uid, Generation: who.generation, Digest: c.Labels[labelDigest]}
		}
	})
	return out
}

// StopOwned ends and removes every container of this owner by what the engine
// alone knows: containers with the stop signal and the grace they were created
// with, then sandboxes. It is for owners of which no state is left; report is
// told, from one goroutine, of each pod that is gone.
func (e *Engine) StopOwned(ctx context.Context, report func(pods.Key, types.UID)) error {
	list, err := e.ownedContainers(ctx)
	if err != nil {
		return err
	}
	type instance struct {
		key pods.Key
		uid types.UID
	}
	apps, boxes, all := map[instance][]string{}, map[instance][]string{}, map[instance]bool{}
	for _, c := range list {
		for _, name := range c.Names {
			who, ok := identify(e.cfg.Owner, name, c.Labels)
			if !ok {
				continue
			}
			of := instance{who.key, who.uid}
			all[of] = true
			if who.isSandbox() {
				boxes[of] = append(boxes[of], c.ID)
			} else {
				apps[of] = append(apps[of], c.ID)
			}
			break
		}
	}
	gone := make(chan instance, len(all))
	var group errgroup.Group
	for of := range all {
		group.Go(func() error {
			if err := e.stopAndRemove(ctx, apps[of], boxes[of]); err != nil {
				return err
			}
			gone <- of
			return nil
		})
	}
	go func() {
		err = group.Wait()
		close(gone)
	}()
	for of := range gone {
		report(of.key, of.uid)
	}
	return err
}

// stopAndRemove ends the containers together and then their sandboxes.
func (e *Engine) stopAndRemove(ctx context.Context, containers, sandboxes []string) error {
	var group errgroup.Group
	for _, id := range containers {
		group.Go(func() error {
			err := e.api().ContainerStop(ctx, id, container.StopOptions{})
			if err != nil && !cerrdefs.IsNotFound(err) {
				return failed("stop container", err)
			}
			return e.Remove(ctx, id, true)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var errs []error
	for _, id := range sandboxes {
		errs = append(errs, e.Remove(ctx, id, true))
	}
	return errors.Join(errs...)
}

// RemoveNetworks removes every network of this owner, whatever its name.
func (e *Engine) RemoveNetworks(ctx context.Context) error {
	by := filters.NewArgs(filters.Arg("label", labelOwner+"="+e.cfg.Owner))
	list, err := e.api().NetworkList(ctx, network.ListOptions{Filters: by})
	if err != nil {
		return failed("list networks", err)
	}
	for _, n := range list {
		if err := e.api().NetworkRemove(ctx, n.ID); err != nil && !cerrdefs.IsNotFound(err) {
			return failed(fmt.Sprintf("remove network %q", n.Name), err)
		}
	}
	return nil
}

// RemovePauseImages removes every version of the built-in sandbox image that no
// container uses, also those that other versions of islet loaded. It returns
// those that are left because somebody uses them.
func (e *Engine) RemovePauseImages(ctx context.Context) (used []string, err error) {
	list, err := e.api().ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", pause.Repository))})
	if err != nil {
		return nil, failed("list images", err)
	}
	for _, img := range list {
		for _, tag := range img.RepoTags {
			if !strings.HasPrefix(tag, pause.Repository+":") {
				continue
			}
			_, err := e.api().ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true})
			switch {
			case cerrdefs.IsConflict(err):
				used = append(used, tag)
			case err != nil && !cerrdefs.IsNotFound(err):
				return used, failed("remove image "+tag, err)
			}
		}
	}
	return used, nil
}
