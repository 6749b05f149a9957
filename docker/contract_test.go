package docker

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/syncer"
	"github.com/islet-run/islet/syncer/enginetest"
)

var _ syncer.Engine = (*Engine)(nil)

// absent is in a registry that cannot exist.
const absent = "registry.invalid/absent:1"

// newEngine is an engine with an owner, a root and a network of the test's own.
func newEngine(t *testing.T, host, owner string) *Engine {
	t.Helper()
	e, err := New(newEngineConfig(t, host, owner))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func newEngineConfig(t *testing.T, host, owner string) Config {
	return Config{
		Host: host, Owner: owner, Root: t.TempDir(), NetworkName: "islet-" + owner[:13],
		Log: zerolog.New(zerolog.NewTestWriter(t)),
	}
}

func TestContract(t *testing.T) {
	api := dockertest.Client(t)
	image := dockertest.Image(t, api)
	owner := dockertest.Owner(t, api)
	enginetest.Contract(t, func(t *testing.T) enginetest.Subject {
		return enginetest.Subject{Engine: newEngine(t, api.DaemonHost(), owner), Image: image, Absent: absent}
	})
}
