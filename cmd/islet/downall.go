package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/docker"
	"github.com/islet-run/islet/node"
	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/store"
)

// cgroupPatience is how long down waits for the last tasks of a pod that is
// gone from the engine.
const cgroupPatience = 2 * time.Second

// all stops the pods of every owner on the engine.
func (d *downer) all(ctx context.Context) error {
	engine, err := d.engine("every-owner")
	if err != nil {
		return err
	}
	defer engine.Close()
	owners, err := engine.Owners(ctx)
	if err != nil {
		return err
	}
	if len(owners) == 0 && !d.opts.Purge {
		d.say("no pods of any islet are on the engine")
		return nil
	}
	what := "Stop all pods of"
	if d.opts.Purge {
		what = "Stop all pods and remove network and root-dir of"
	}
	question := fmt.Sprintf("%s these %s at %s?\n", what, count(len(owners), "owner"), d.opts.DockerEndpoint)
	for _, o := range owners {
		question += fmt.Sprintf("  %s  %s  root-dir %s\n", o.ID, count(o.Containers, "container"), clean(o.Root))
	}
	if err := d.confirm(question); err != nil {
		return err
	}
	var faults []error
	for _, o := range owners {
		d.say("owner " + o.ID + ", root-dir " + clean(o.Root))
		if err := d.oneOwner(ctx, o); err != nil {
			faults = append(faults, fmt.Errorf("owner %s: %w", o.ID, err))
		}
	}
	if d.opts.Purge && len(faults) == 0 {
		faults = append(faults, d.removeImages(ctx, engine))
	}
	return errors.Join(faults...)
}

// oneOwner stops the pods of an owner: by the islet that runs them, else as its
// state says, else as the engine alone knows them.
func (d *downer) oneOwner(ctx context.Context, o docker.OwnerInfo) error {
	present := ownerOf(o.Root) == o.ID
	if present {
		if err := d.stop(ctx, o.Root); err != nil {
			return err
		}
	}
	engine, err := d.engine(o.ID)
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.StopOwned(ctx, func(key pods.Key, uid types.UID) {
		d.say(key.String() + " stopped")
		removeCgroups(ctx, uid)
	}); err != nil {
		return err
	}
	if !d.opts.Purge {
		return nil
	}
	if err := engine.RemoveNetworks(ctx); err != nil {
		return err
	}
	if !present {
		return nil
	}
	return d.removeState(o.Root)
}

// purgeOne stops the pods of one root-dir and removes all that is left of it.
func (d *downer) purgeOne(ctx context.Context) error {
	root := d.opts.RootDir
	if err := d.confirm(fmt.Sprintf("Stop all pods of %s and remove this directory, the network and the pause image?\n", root)); err != nil {
		return err
	}
	if err := d.stop(ctx, root); err != nil {
		return err
	}
	engine, err := d.engine(ownerOf(root))
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.RemoveNetworks(ctx); err != nil {
		return err
	}
	if err := d.removeImages(ctx, engine); err != nil {
		return err
	}
	return d.removeState(root)
}

func (d *downer) engine(owner string) (*docker.Engine, error) {
	return docker.New(docker.Config{Host: d.opts.DockerEndpoint, Owner: owner})
}

func (d *downer) removeImages(ctx context.Context, engine *docker.Engine) error {
	used, err := engine.RemovePauseImages(ctx)
	for _, tag := range used {
		d.say("image " + tag + " stays: somebody uses it")
	}
	return err
}

// removeState removes a root-dir while holding its lock, so that no islet
// starts on half of it. A directory that cannot go itself, such as a mount
// point, is left empty.
func (d *downer) removeState(root string) error {
	st, err := store.Open(root)
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // the lock goes with the process
	entries, err := os.ReadDir(st.Root())
	if err != nil {
		return fmt.Errorf("list root-dir: %w", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(st.Path(e.Name())); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	if err := os.Remove(st.Root()); err != nil && !errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("remove root-dir: %w", err)
	}
	d.say("removed " + st.Root())
	return nil
}

// ownerOf reads the owner id of a root-dir; "" when there is none.
func ownerOf(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "owner"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// removeCgroups removes what is left of a pod that no record tells of, whatever
// its class and the engine's driver. An empty cgroup does no harm: one that
// stays is no reason to fail.
func removeCgroups(ctx context.Context, uid types.UID) {
	ctx, cancel := context.WithTimeout(ctx, cgroupPatience)
	defer cancel()
	if !store.ValidUID(string(uid)) {
		return
	}
	for _, driver := range []string{node.DriverCgroupfs, node.DriverSystemd} {
		groups := &node.Cgroups{Driver: func() string { return driver }}
		for _, qos := range []v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort} {
			_ = groups.Remove(ctx, string(qos), string(uid))
		}
	}
}

// confirm returns nil when the question is answered with yes.
func (d *downer) confirm(question string) error {
	if d.opts.Yes {
		return nil
	}
	if f, ok := d.stdin.(*os.File); ok && !isTerminal(f) {
		return usageError(errors.New("this asks first and there is no terminal to ask on: give --yes"))
	}
	fmt.Fprint(d.stdout, question+"[y/N] ")
	answer, err := bufio.NewReader(d.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
