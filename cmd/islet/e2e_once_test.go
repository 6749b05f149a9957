package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
)

// onceYAML is a pod whose container leaves a line in a file of the machine each
// time it runs, and fails as long as there are not so many lines.
func onceYAML(name, policy, dir, lines string, more ...string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + `
  labels: {round: one}
spec:
  hostNetwork: true
  restartPolicy: ` + policy + `
  containers:
  - name: c
    image: ` + dockertest.Busybox + `
    command: [sh, -c, 'date >> /out/` + name + `; test $(wc -l < /out/` + name + `) -ge ` + lines + `']
    volumeMounts: [{name: out, mountPath: /out}]
` + strings.Join(more, "") + `  volumes: [{name: out, hostPath: {path: ` + dir + `, type: DirectoryOrCreate}}]
`
}

// A pod that runs once has run once: after restarts of islet, of the engine and
// of the machine, and when its container was removed by hand. New arguments or a
// new image are a new pod; a label is not.
func TestRunOnceMeansOnce(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	api := dockertest.ClientAt(t, d.Host())
	dockertest.Image(t, api)
	s := siteOn(t, api)
	s.boots("11111111-1111-4111-8111-111111111111")
	out := filepath.Join(t.TempDir(), "out")
	lines := func(name string) int {
		data, _ := os.ReadFile(filepath.Join(out, name))
		return strings.Count(string(data), "\n")
	}
	// The second restart comes ten seconds after the first.
	failures, runs := "2", 2
	if soak() {
		failures, runs = "3", 3
	}
	s.write("once.yaml", onceYAML("once", "Never", out, "1"))
	s.write("retry.yaml", onceYAML("retry", "OnFailure", out, failures))
	s.start()
	succeeded := func() bool {
		report, code := s.status()
		if code != exitGood || len(report.Pods.Items) != 2 {
			return false
		}
		return report.Pods.Items[0].Status.Phase == v1.PodSucceeded && report.Pods.Items[1].Status.Phase == v1.PodSucceeded
	}
	check := func(after string, once, retry int) {
		t.Helper()
		s.noticed()
		s.until("both have succeeded", succeeded)
		if a, b := lines("once"), lines("retry"); a != once || b != retry {
			t.Fatalf("after %s: once ran %d times, want %d; retry %d, want %d", after, a, once, b, retry)
		}
	}
	check("the start", 1, runs)
	for range 3 {
		s.kill()
		s.start()
	}
	check("restarts of islet", 1, runs)
	d.Stop()
	d.Start()
	check("a restart of the engine", 1, runs)
	s.kill()
	s.boots("22222222-2222-4222-8222-222222222222")
	d.Reboot()
	s.start()
	check("a reboot", 1, runs)
	s.collect()
	check("removal by hand", 1, runs)
	s.kill()
	s.start()
	check("removal by hand and a restart of islet", 1, runs)

	s.write("once.yaml", strings.Replace(onceYAML("once", "Never", out, "1"), "round: one", "round: two", 1))
	s.until("the label is shown", func() bool {
		report, _ := s.status()
		return maps.Equal(report.Pods.Items[0].Labels, map[string]string{"round": "two"})
	})
	check("an edit of a label", 1, runs)
	s.write("once.yaml", strings.Replace(onceYAML("once", "Never", out, "1"), "date", "echo edited", 1))
	s.until("the edited one runs", func() bool { return lines("once") == 2 })
	check("an edit of the arguments", 2, runs)
	other := "islet.test/busybox:once"
	if err := api.ImageTag(context.Background(), dockertest.Busybox, other); err != nil {
		t.Fatal(err)
	}
	s.write("once.yaml", strings.Replace(strings.Replace(onceYAML("once", "Never", out, "1"), "date", "echo edited", 1), dockertest.Busybox, other, 1))
	s.until("the new image runs", func() bool { return lines("once") == 3 })
	check("an edit of the image", 3, runs)
}

// collect removes the ended containers of the site behind islet's back.
func (s *site) collect() {
	s.t.Helper()
	list, err := s.api.ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", "run.islet.owner="+s.owner()), filters.Arg("status", "exited"))})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range list {
		if err := s.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}
