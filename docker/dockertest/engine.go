package dockertest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
)

// Labels as package docker sets them; written out here so that a test fails
// when they change by mistake.
const (
	ownerLabel = "run.islet.owner"
	probeLabel = "run.islet.probe"
)

// cleanupTimeout bounds what is done after a test.
const cleanupTimeout = 2 * time.Minute

// Host returns the address of the engine that tests use.
func Host(t testing.TB) string {
	t.Helper()
	return Client(t).DaemonHost()
}

// Client returns a client of the engine that tests use; it is closed when the
// test ends. A test without an engine fails, and with -short it is skipped.
func Client(t testing.TB) *client.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Docker Engine; not run with -short")
	}
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatalf("configure engine for tests: %v", err)
	}
	return checked(t, api)
}

// ClientAt is Client for the engine at an address.
func ClientAt(t testing.TB, host string) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatalf("configure engine at %s: %v", host, err)
	}
	return checked(t, api)
}

func checked(t testing.TB, api *client.Client) *client.Client {
	t.Helper()
	t.Cleanup(func() { api.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := api.Ping(ctx); err != nil {
		t.Fatalf("no Docker Engine answers at %s: start one, set DOCKER_HOST, or run with -short: %v", api.DaemonHost(), err)
	}
	return api
}

// Owner returns a random owner id. When the test ends, everything on the engine
// that carries it is removed: containers, then networks.
func Owner(t testing.TB, api *client.Client) string {
	t.Helper()
	var b [16]byte
	rand.Read(b[:])
	owner := "test-" + hex.EncodeToString(b[:])
	host := api.DaemonHost()
	t.Cleanup(func() { RemoveOwned(t, host, owner) })
	return owner
}

// RemoveOwned removes everything on the engine that carries the owner id. It uses a client of its own: the test's may be closed by now.
func RemoveOwned(t testing.TB, host, owner string) {
	api, err := client.NewClientWithOpts(client.WithTLSClientConfigFromEnv(), client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Errorf("remove what the test left: %v", err)
		return
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if _, err := api.Ping(ctx); client.IsErrConnectionFailed(err) {
		return // a private daemon that is gone, with all it had
	}
	for _, label := range []string{ownerLabel, probeLabel} {
		by := filters.NewArgs(filters.Arg("label", label+"="+owner))
		list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: by})
		if err != nil {
			t.Errorf("list what the test left: %v", err)
		}
		for _, c := range list {
			if err := api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil && !gone(err) {
				t.Errorf("remove container the test left: %v", err)
			}
		}
	}
	by := filters.NewArgs(filters.Arg("label", ownerLabel+"="+owner))
	networks, err := api.NetworkList(ctx, network.ListOptions{Filters: by})
	if err != nil {
		t.Errorf("list networks the test left: %v", err)
	}
	for _, n := range networks {
		if err := api.NetworkRemove(ctx, n.ID); err != nil && !gone(err) {
			t.Errorf("remove network the test left: %v", err)
		}
	}
}
