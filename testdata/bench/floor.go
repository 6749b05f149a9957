package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
)

// floor starts pods with bare Docker calls, as copies of one that islet started.
type floor struct {
	docker *client.Client
	dir    string // what islet keeps for the pattern, copied
	owner  string

	pattern string // JSON of a floorPod
	name    string // of the pattern
	uid     string
	cgroups []string
}

// floorPod is what it takes to start one pod. It is copied as JSON, with other
// names in it.
type floorPod struct {
	Sandbox, Container created

	docker *client.Client
	ids    [2]string // sandbox, container; once started
}

// created is one container to be created.
type created struct {
	Name       string
	Config     *container.Config
	Host       *container.HostConfig
	Networking *network.NetworkingConfig
}

// copyFrom reads a running pod of islet back from the engine.
func (f *floor) copyFrom(ctx context.Context, root, pod string) error {
	all, err := f.docker.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(
		filters.Arg("label", labelPod+"="+pod), filters.Arg("label", labelRoot+"="+root))})
	if err != nil {
		return fmt.Errorf("list containers of pattern: %w", err)
	}
	var p floorPod
	var sandboxID, owner string
	for _, c := range all {
		one, err := f.docker.ContainerInspect(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("inspect pattern: %w", err)
		}
		if one.Config.Labels[labelContainer] == containerName {
			p.Container = containerCopy(one)
			continue
		}
		p.Sandbox = sandboxCopy(one)
		sandboxID, owner = one.ID, one.Config.Labels[labelOwner]
		f.uid = one.Config.Labels["io.kubernetes.pod.uid"]
	}
	if p.Container.Config == nil || p.Sandbox.Config == nil || f.uid == "" || owner == "" {
		return fmt.Errorf("copy pattern: the pod %s of %s has not one sandbox and one container with islet's labels", pod, root)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("copy pattern: %w", err)
	}
	podDir := filepath.Join(root, "pods", f.uid)
	if err := os.CopyFS(f.dir, os.DirFS(podDir)); err != nil {
		return fmt.Errorf("copy %s: %w", podDir, err)
	}
	f.name = pod
	f.pattern = strings.NewReplacer(podDir, f.dir, root, f.dir, owner, f.owner, sandboxID, "SANDBOX").Replace(string(text))
	return nil
}

func sandboxCopy(one container.InspectResponse) created {
	c := created{Name: strings.TrimPrefix(one.Name, "/"), Config: one.Config, Host: one.HostConfig}
	endpoints := map[string]*network.EndpointSettings{}
	for name, e := range one.NetworkSettings.Networks {
		var aliases []string
		for _, a := range e.Aliases {
			if !strings.HasPrefix(one.ID, a) { // the engine's own
				aliases = append(aliases, a)
			}
		}
		endpoints[name] = &network.EndpointSettings{Aliases: aliases}
	}
	if !one.HostConfig.NetworkMode.IsHost() {
		c.Networking = &network.NetworkingConfig{EndpointsConfig: endpoints}
	}
	return c
}

func containerCopy(one container.InspectResponse) created {
	c := created{Name: strings.TrimPrefix(one.Name, "/"), Config: one.Config, Host: one.HostConfig}
	// These come from the sandbox and may not be given.
	c.Config.Hostname, c.Config.Domainname, c.Config.ExposedPorts = "", "", nil
	return c
}

// prepare returns a pod with a name and a UID of its own.
func (f *floor) prepare(name string) (*floorPod, error) {
	uid := freshUID()
	underscored := strings.NewReplacer("-", "_")
	text := strings.NewReplacer(f.uid, uid, underscored.Replace(f.uid), underscored.Replace(uid), f.name, name).Replace(f.pattern)
	p := &floorPod{docker: f.docker}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("copy pattern: %w", err)
	}
	if parent := p.Sandbox.Host.CgroupParent; strings.HasPrefix(parent, "/") {
		f.cgroups = append(f.cgroups, parent)
	}
	return p, nil
}

func freshUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// start makes the four calls.
func (p *floorPod) start(ctx context.Context) error {
	sandbox, err := p.run(ctx, p.Sandbox)
	if err != nil {
		return err
	}
	host := p.Container.Host
	host.NetworkMode = container.NetworkMode(strings.ReplaceAll(string(host.NetworkMode), "SANDBOX", sandbox))
	host.IpcMode = container.IpcMode(strings.ReplaceAll(string(host.IpcMode), "SANDBOX", sandbox))
	host.PidMode = container.PidMode(strings.ReplaceAll(string(host.PidMode), "SANDBOX", sandbox))
	p.ids[0] = sandbox
	p.ids[1], err = p.run(ctx, p.Container)
	return err
}

// stop makes the calls that end a pod whose container heeds TERM: the signal,
// waiting for the end, and the two removals.
func (p *floorPod) stop(ctx context.Context) error {
	ended, failed := p.docker.ContainerWait(ctx, p.ids[1], container.WaitConditionNotRunning)
	if err := p.docker.ContainerKill(ctx, p.ids[1], "TERM"); err != nil {
		return fmt.Errorf("signal %s by hand: %w", p.Container.Name, err)
	}
	select {
	case <-ended:
	case err := <-failed:
		return fmt.Errorf("wait for the end of %s: %w", p.Container.Name, err)
	}
	for _, id := range []string{p.ids[1], p.ids[0]} {
		if err := p.docker.ContainerRemove(ctx, id, container.RemoveOptions{RemoveVolumes: true, Force: id == p.ids[0]}); err != nil {
			return fmt.Errorf("remove by hand: %w", err)
		}
	}
	return nil
}

func (p *floorPod) run(ctx context.Context, c created) (string, error) {
	made, err := p.docker.ContainerCreate(ctx, c.Config, c.Host, c.Networking, nil, c.Name)
	if err != nil {
		return "", fmt.Errorf("create %s by hand: %w", c.Name, err)
	}
	if err := p.docker.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return "", fmt.Errorf("start %s by hand: %w", c.Name, err)
	}
	return made.ID, nil
}

// remove removes all pods of the floor and their cgroups.
func (f *floor) remove(ctx context.Context) error {
	all, err := f.docker.ContainerList(ctx, container.ListOptions{All: true,
		Filters: filters.NewArgs(filters.Arg("label", labelOwner+"="+f.owner))})
	if err != nil {
		return fmt.Errorf("list containers of floor: %w", err)
	}
	var errs []error
	for _, c := range all {
		err := f.docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove container of floor: %w", err))
		}
	}
	for _, parent := range f.cgroups {
		removeCgroup(parent)
	}
	f.cgroups = nil
	return errors.Join(errs...)
}

// removeCgroup removes the empty cgroup of a pod in every hierarchy. What is
// left of it does no harm, so nothing is reported.
func removeCgroup(parent string) {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*" + parent)
	for _, dir := range append(roots, "/sys/fs/cgroup"+parent) {
		_ = os.Remove(dir)
	}
}
