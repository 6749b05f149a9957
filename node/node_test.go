package node

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestInspect(t *testing.T) {
	m, err := Inspect(" My-Node ", nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "my-node" {
		t.Errorf("name %q, want my-node", m.Name)
	}
	if len(m.IPs) == 0 || m.MemoryBytes < 1<<20 || m.CPUs < 1 || len(m.BootID) != 36 {
		t.Errorf("incomplete: %+v", m)
	}
	if m, err := Inspect("", []string{"192.0.2.7"}); err != nil || m.IPs[0] != "192.0.2.7" {
		t.Errorf("node IP override: %+v, %v", m, err)
	}
}

func TestCgroupParent(t *testing.T) {
	driver := DriverCgroupfs
	c := &Cgroups{Driver: func() string { return driver }}
	if got := c.Parent("Burstable", "a-b"); got != "/islet/burstable/poda-b" {
		t.Error(got)
	}
	driver = DriverSystemd
	if got := c.Parent("BestEffort", "a-b"); got != "islet-besteffort-poda_b.slice" {
		t.Error(got)
	}
}

func TestCgroupRemove(t *testing.T) {
	mount := t.TempDir()
	for driver, pod := range map[string]string{
		DriverCgroupfs: "islet/burstable/podu-1",
		DriverSystemd:  "islet.slice/islet-burstable.slice/islet-burstable-podu_1.slice",
	} {
		other := filepath.Join(mount, "cpu", filepath.Dir(pod), "podother")
		for _, dir := range []string{filepath.Join(mount, "cpu", pod, "c1"), filepath.Join(mount, "memory", pod), filepath.Join(mount, pod), other} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		c := &Cgroups{Driver: func() string { return driver }, Mount: mount}
		for range 2 { // the second call finds nothing and is no error
			if err := c.Remove(context.Background(), "Burstable", "u-1"); err != nil {
				t.Fatalf("%s: %v", driver, err)
			}
		}
		for _, root := range []string{"cpu", "memory", ""} {
			if _, err := os.Stat(filepath.Join(mount, root, pod)); !os.IsNotExist(err) {
				t.Errorf("%s: %s is still there (%v)", driver, filepath.Join(root, pod), err)
			}
		}
		if _, err := os.Stat(other); err != nil {
			t.Errorf("%s: another pod's cgroup was removed: %v", driver, err)
		}
	}
}
