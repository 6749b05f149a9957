package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	dockerclient "github.com/docker/docker/client"

	"github.com/islet-run/islet/docker/dockertest"
)

// Images of chaos pods: the second is the first under another name, the third
// has an anonymous volume.
const (
	chaosImageOther  = "islet.test/busybox:chaos-other"
	chaosImageVolume = "islet.test/busybox:chaos-volume"
)

// chaosImages makes sure that the engine has them.
func chaosImages(t *testing.T, api *dockerclient.Client) {
	t.Helper()
	ctx := t.Context()
	dockertest.Image(t, api)
	if err := api.ImageTag(ctx, dockertest.Busybox, chaosImageOther); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ImageInspect(ctx, chaosImageVolume); err == nil {
		return
	}
	owner := dockertest.Owner(t, api)
	made, err := api.ContainerCreate(ctx, &container.Config{Image: dockertest.Busybox, Labels: map[string]string{"run.islet.owner": owner}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	// No label of the container may get into the image.
	_, err = api.ContainerCommit(ctx, made.ID, container.CommitOptions{Reference: chaosImageVolume, Changes: []string{"VOLUME /data", `LABEL run.islet.owner=""`}})
	if err != nil {
		t.Fatal(err)
	}
}

// chaosPod says what is in a manifest; the zero value is no pod.
type chaosPod struct {
	shape int // index into chaosShapes, from 1
	// Edits: of a label (in place), of the image (in place, one container
	// restarts) and of the environment (the pod is replaced).
	label, image, env int
}

// chaosShape is a kind of pod. Its text has %d for the environment, then %s for
// the image of container c.
type chaosShape struct {
	name string
	// runs are the containers that run at rest, without the sandbox; none for
	// a job.
	runs []string
	spec string
}

const chaosSleep = `command: [sh, -c, 'trap "exit 0" TERM; sleep 10000 & wait']`

var chaosShapes = []chaosShape{
	{name: "no pod"},
	{name: "plain", runs: []string{"c"}, spec: `
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], {sleep}}
`},
	{name: "init and two containers", runs: []string{"c", "d"}, spec: `
  initContainers:
  - {name: i, image: {busybox}, command: [sh, -c, 'exit 0']}
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], {sleep}}
  - {name: d, image: {busybox}, {sleep}}
`},
	{name: "host network", runs: []string{"c"}, spec: `
  hostNetwork: true
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], {sleep}}
`},
	{name: "job", spec: `
  restartPolicy: Never
  containers:
  - {name: once, image: {image}, env: [{name: V, value: "{env}"}], command: [sh, -c, 'exit 0']}
`},
	{name: "volumes", runs: []string{"c", "v"}, spec: `
  volumes:
  - {name: scratch, emptyDir: {}}
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], volumeMounts: [{name: scratch, mountPath: /scratch}], {sleep}}
  - {name: v, image: {volume}, {sleep}}
`},
	{name: "sidecar", runs: []string{"c", "s"}, spec: `
  initContainers:
  - {name: s, image: {busybox}, restartPolicy: Always, {sleep}}
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], {sleep}}
`},
	{name: "host port", runs: []string{"c"}, spec: `
  containers:
  - {name: c, image: {image}, env: [{name: V, value: "{env}"}], ports: [{containerPort: 80, hostPort: {port}}], {sleep}}
`},
}

func (p chaosPod) none() bool { return p.shape == 0 }
func (p chaosPod) job() bool  { return !p.none() && len(chaosShapes[p.shape].runs) == 0 }

func (p chaosPod) imageName() string {
	if p.image%2 == 1 {
		return chaosImageOther
	}
	return dockertest.Busybox
}

// text is the manifest of the pod.
func (p chaosPod) text(name string, port int) string {
	spec := strings.NewReplacer(
		"{image}", p.imageName(), "{busybox}", dockertest.Busybox, "{volume}", chaosImageVolume,
		"{env}", fmt.Sprint(p.env), "{port}", fmt.Sprint(port), "{sleep}", chaosSleep,
	).Replace(chaosShapes[p.shape].spec)
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  labels: {l: \"%d\"}\nspec:\n  terminationGracePeriodSeconds: 1%s", name, p.label, spec)
}

// depth is how much of a pod an edit may touch.
type depth int

const (
	untouched depth = iota // no container
	restarted              // containers, but not the sandbox
	replaced               // the whole instance
)

// editDepth says what an edit from p to q may touch.
func (p chaosPod) editDepth(q chaosPod) depth {
	switch {
	case p.shape != q.shape, p.env != q.env, p.none():
		return replaced
	case p.image%2 == q.image%2:
		return untouched
	case p.job(): // an image edit of a finished pod is a replacement
		return replaced
	}
	return restarted
}
