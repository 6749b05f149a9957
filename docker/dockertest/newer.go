package dockertest

import (
	"os"
	"path/filepath"
	"testing"
)

// newerDir is where scripts/engine26.sh puts the newer engine.
func newerDir() string {
	if dir := os.Getenv("ISLET_ENGINE26_DIR"); dir != "" {
		return dir
	}
	return "/var/cache/islet-engine26"
}

// Newer returns the directory of the programs of the newer engine, 26.1. The
// test is skipped where scripts/engine26.sh has not made it.
func Newer(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a dockerd; not run with -short")
	}
	dir := newerDir()
	if _, err := os.Stat(filepath.Join(dir, "ready")); err != nil {
		t.Skipf("needs Docker Engine 26.1 beside the one that was found: run scripts/engine26.sh setup (%v)", err)
	}
	return filepath.Join(dir, "bin")
}

// StartNewer is Start with the newer engine.
func StartNewer(t testing.TB, flags ...string) *Daemon {
	t.Helper()
	return start(t, Newer(t), flags)
}

// Upgrade stops the daemon and starts the newer engine in its place, on the
// same data.
func (d *Daemon) Upgrade() {
	d.t.Helper()
	programs := Newer(d.t)
	d.Stop()
	d.programs = programs
	d.Start()
}
