package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// residue says what is left of instances that are gone: containers, anonymous
// volumes, network endpoints, mounts, directories, cgroups of any hierarchy and
// processes. uids are the instances there are.
func (s *site) residue(w *witness, uids map[string]bool) (left []string) {
	s.t.Helper()
	say := func(format string, args ...any) { left = append(left, fmt.Sprintf(format, args...)) }
	present := map[string]bool{}
	for _, c := range s.containers() {
		present[c.ID] = true
		if run := runOf(c.Labels); !uids[run.uid] {
			say("container %s (%s)", run, c.State)
		}
	}
	goneUIDs, goneContainers, volumes := w.gone(uids, present)
	s.leftOnEngine(present, volumes, say)
	s.leftInRoot(uids, say)
	leftMounts(s.root, goneContainers, say)
	leftCgroups(goneUIDs, goneContainers, say)
	leftProcesses(goneContainers, say)
	return left
}

type sayer func(format string, args ...any)

// containers are all containers of the site, ended ones too.
func (s *site) containers() []container.Summary {
	s.t.Helper()
	by := filters.NewArgs(filters.Arg("label", "run.islet.owner="+s.owner()))
	list, err := s.api.ContainerList(context.Background(), container.ListOptions{All: true, Filters: by})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// leftOnEngine looks for probe containers, anonymous volumes without a
// container, and endpoints of containers that are gone.
func (s *site) leftOnEngine(present map[string]bool, volumes []string, say sayer) {
	ctx := context.Background()
	by := filters.NewArgs(filters.Arg("label", "run.islet.probe="+s.owner()))
	probes, err := s.api.ContainerList(ctx, container.ListOptions{All: true, Filters: by})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range probes {
		say("probe container %s", c.Names[0])
	}
	unused, err := s.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("dangling", "true"))})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, v := range unused.Volumes {
		if slices.Contains(volumes, v.Name) {
			say("anonymous volume %.12s", v.Name)
		}
	}
	mine := filters.NewArgs(filters.Arg("label", "run.islet.owner="+s.owner()))
	networks, err := s.api.NetworkList(ctx, network.ListOptions{Filters: mine})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(networks) > 1 {
		say("%d networks instead of one", len(networks))
	}
	for _, n := range networks {
		in, err := s.api.NetworkInspect(ctx, n.ID, network.InspectOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for id, e := range in.Containers {
			if !present[id] {
				say("network endpoint of %s (%.15s)", e.Name, id)
			}
		}
	}
}

// leftInRoot looks for what a write, an erasure or an instance left in the
// state directory.
func (s *site) leftInRoot(uids map[string]bool, say sayer) {
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil // changed while it is walked
			}
			return err
		}
		rel, _ := filepath.Rel(s.root, path)
		dir, name := filepath.Split(rel)
		switch {
		case strings.HasPrefix(name, ".tmp-"), strings.HasPrefix(name, ".gone-"):
			say("left half done: %s", rel)
		case dir == "quarantine/":
			say("in quarantine: %s", name)
		case dir == "pods/" && !uids[name]:
			say("pod directory %s", name)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// hex64 finds the ids of containers in what the kernel tells.
var hex64 = regexp.MustCompile(`[0-9a-f]{64}`)

func leftMounts(root string, gone map[string]bool, say sayer) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if strings.HasPrefix(f[4], root+"/") || slices.ContainsFunc(hex64.FindAllString(line, -1), func(id string) bool { return gone[id] }) {
			say("mount %s", f[4])
		}
	}
}

// leftCgroups looks below every hierarchy that is mounted, and below version 2.
func leftCgroups(uids, containers map[string]bool, say sayer) {
	for _, pattern := range cgroupsOf("*") {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			_, uid, _ := strings.Cut(filepath.Base(dir), "pod")
			uid = strings.ReplaceAll(strings.TrimSuffix(uid, ".slice"), "_", "-")
			if uids[uid] {
				say("cgroup %s", dir)
				continue
			}
			inside, _ := os.ReadDir(dir)
			for _, e := range inside {
				if containers[hex64.FindString(e.Name())] {
					say("cgroup %s", filepath.Join(dir, e.Name()))
				}
			}
		}
	}
}

// leftProcesses finds processes in the cgroup of a container that is gone, and
// those that look after one: shims and port proxies have its id in their words.
func leftProcesses(gone map[string]bool, say sayer) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		for _, file := range []string{"cgroup", "cmdline"} {
			text, _ := os.ReadFile(filepath.Join(proc, file)) // it may have ended
			for _, id := range hex64.FindAllString(string(text), -1) {
				if gone[id] {
					say("process %s of container %.12s", filepath.Base(proc), id)
					break
				}
			}
		}
	}
}
