package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Cgroup drivers, as the engine names them.
const (
	DriverCgroupfs = "cgroupfs"
	DriverSystemd  = "systemd"
)

// Cgroups names and removes the cgroups of pods. Fields are set once before
// use; methods may be called from many goroutines.
type Cgroups struct {
	// Driver returns the engine's cgroup driver; it is asked on each call since
	// it is known only once the engine has answered.
	Driver func() string
	// Mount is where the hierarchies are mounted; "" means /sys/fs/cgroup.
	Mount string
}

// Parent returns what an engine gets as the cgroup parent of the pod's
// containers: an absolute path with cgroupfs, a slice name with systemd.
func (c *Cgroups) Parent(qos, uid string) string {
	qos = strings.ToLower(qos)
	if c.Driver() == DriverSystemd {
		return "islet-" + qos + "-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	return "/islet/" + qos + "/pod" + uid
}

// path is where Parent is found below a hierarchy: systemd nests a slice below
// the slices that its name names.
func (c *Cgroups) path(qos, uid string) string {
	parent := c.Parent(qos, uid)
	if c.Driver() != DriverSystemd {
		return parent
	}
	qos = strings.ToLower(qos)
	return filepath.Join("/islet.slice", "islet-"+qos+".slice", parent)
}

// Remove removes the cgroup of a pod in every hierarchy, leaves first. It waits
// until ctx ends for one that still has dying tasks. What is not there is no
// error.
func (c *Cgroups) Remove(ctx context.Context, qos, uid string) error {
	roots, err := c.hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := removeTree(ctx, filepath.Join(root, c.path(qos, uid))); err != nil {
			return fmt.Errorf("remove cgroup of pod %s: %w", uid, err)
		}
	}
	return nil
}

// hierarchies lists the places where a cgroup may stand: the mount itself
// (version 2) and each directory below it (the controllers of version 1).
func (c *Cgroups) hierarchies() ([]string, error) {
	mount := c.Mount
	if mount == "" {
		mount = "/sys/fs/cgroup"
	}
	entries, err := os.ReadDir(mount)
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	roots := []string{mount}
	for _, e := range entries {
		if e.IsDir() {
			roots = append(roots, filepath.Join(mount, e.Name()))
		}
	}
	return roots, nil
}

// removeTree removes dir and the directories below it. The files in a cgroup
// directory cannot be removed and go with it.
func removeTree(ctx context.Context, dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := rmdir(ctx, dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

// rmdir retries while the kernel still reaps the last tasks of the cgroup,
// which shows as EBUSY for some milliseconds after a container is gone.
func rmdir(ctx context.Context, dir string) error {
	for {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
