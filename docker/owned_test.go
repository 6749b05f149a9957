package docker

import (
	"context"
	"maps"
	"testing"

	"github.com/docker/docker/api/types/container"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

func TestRunning(t *testing.T) {
	row := func(pod, uid, name, kind, generation, digest, state string) container.Summary {
		return container.Summary{Names: []string{"/k8s_" + name + "_" + pod + "_default_" + uid + "_0"}, State: state, Labels: map[string]string{
			labelOwner: "me", labelRealm: "local", labelPodNamespace: "default", labelPodName: pod, labelPodUID: uid,
			labelContainer: name, labelType: kind, labelGeneration: generation, labelDigest: digest,
		}}
	}
	foreign := row("web", "u9", "POD", typeSandbox, "1", "d9", "running")
	foreign.Labels[labelOwner] = "other"
	list := []container.Summary{ // newest first
		foreign,
		row("edited", "u2", "main", "regular", "2", "d2", "running"),
		row("web", "u1", "main", "regular", "1", "d1", "exited"),
		row("web", "u1", "POD", typeSandbox, "1", "d1", "paused"),
		row("web", "u0", "main", "regular", "7", "d0", "running"),
		row("web", "u0", "POD", typeSandbox, "7", "d0", "running"),
		row("edited", "u2", "side", "regular", "1", "d1", "running"),
		row("edited", "u2", "POD", typeSandbox, "1", "d1", "running"),
		row("ended", "u3", "POD", typeSandbox, "1", "d3", "exited"),
	}
	key := func(name string) pods.Key { return pods.Key{Realm: "local", Namespace: "default", Name: name} }
	want := map[pods.Key]RunningPod{
		key("web"):    {UID: "u1", Generation: 1, Digest: "d1"},
		key("edited"): {UID: "u2", Generation: 2, Digest: "d2"},
	}
	if got := running("me", list); !maps.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What an owner without any state has left is found and ended by the engine's
// knowledge alone, and nobody else's is touched.
func TestStopOwned(t *testing.T) {
	api := dockertest.Client(t)
	lost, other := rigAt(t, api, ""), rigAt(t, api, "")
	ctx := context.Background()
	for _, r := range []*rig{lost, other} {
		pod := r.pod("left")
		box := r.sandbox(pod)
		req := r.request(pod, box.ID, "main", "trap 'exit 0' TERM; while :; do sleep 0.05; done")
		if _, err := r.e.StartContainer(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	e, err := New(Config{Host: api.DaemonHost(), Owner: "nobody-yet"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Become(lost.e.cfg.Owner, lost.e.cfg.NetworkName)
	found, err := e.Running(ctx)
	if err != nil || found[keyOf(lost.pod("left"))].UID != "left-uid" || len(found) != 1 {
		t.Fatalf("running %+v, %v", found, err)
	}
	told := map[string]types.UID{}
	if err := e.StopOwned(ctx, func(key pods.Key, uid types.UID) { told[key.String()] = uid }); err != nil {
		t.Fatal(err)
	}
	if want := map[string]types.UID{"default/left": "left-uid"}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if left, err := e.ownedContainers(ctx); err != nil || len(left) != 0 {
		t.Errorf("%d containers are left, %v", len(left), err)
	}
	if err := e.RemoveNetworks(ctx); err != nil {
		t.Error(err)
	}
	if exists, err := e.checkNetwork(ctx); exists || err != nil {
		t.Errorf("the network is still there: %v, %v", exists, err)
	}
	if found, err := other.e.Running(ctx); err != nil || len(found) != 1 {
		t.Errorf("the pods of another owner: %+v, %v", found, err)
	}
}
