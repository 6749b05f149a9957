package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"

	"github.com/islet-run/islet/testdata/images"
)

// manifest is a pod of one container that ends at once when told to.
const manifest = `apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: ` + containerName + `
      image: ` + images.ExampleRef + `
      imagePullPolicy: Never
      command: ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]
      resources:
        requests: {cpu: 10m, memory: 16Mi}
        limits: {memory: 64Mi}
      volumeMounts:
        - {name: scratch, mountPath: /scratch}
  volumes:
    - name: scratch
      emptyDir: {}
`

// islet is the program under measurement.
type islet struct {
	program, dir, root, log string
	docker                  *client.Client

	cmd   *exec.Cmd
	ended chan error // of cmd
}

// start runs islet and waits until it is ready.
func (i *islet) start(ctx context.Context) error {
	if err := os.MkdirAll(i.dir, 0o755); err != nil {
		return err
	}
	i.cmd = exec.Command(i.program, "run", "--pod-manifest-path", i.dir, "--root-dir", i.root,
		"--docker-endpoint", i.docker.DaemonHost(), "--log-format", "json", "--healthz-port", "0")
	i.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // Ctrl-C is ours to handle
	log, err := os.OpenFile(i.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	i.cmd.Stdout, i.cmd.Stderr = log, log
	if err := i.cmd.Start(); err != nil {
		i.cmd = nil
		return fmt.Errorf("start islet: %w", err)
	}
	i.ended = make(chan error, 1)
	go func(cmd *exec.Cmd) { i.ended <- cmd.Wait() }(i.cmd)
	return i.poll(ctx, "islet to be ready", func() (bool, error) { return i.ready(ctx), nil })
}

// ready reports whether islet knows all of its pods.
func (i *islet) ready(ctx context.Context) bool { return i.answers(ctx) == http.StatusOK }

// answers returns the status of /readyz, 0 when nobody answers.
func (i *islet) answers(ctx context.Context) int {
	var d net.Dialer
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", filepath.Join(i.root, "islet.sock"))
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://islet/readyz", nil)
	if err != nil {
		return 0
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// poll looks again and again until done says so.
func (i *islet) poll(ctx context.Context, what string, done func() (bool, error)) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		ok, err := done()
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("wait for %s: not within %v%s", what, patience, i.complaint())
		}
		select {
		case err := <-i.ended:
			i.cmd = nil
			return fmt.Errorf("wait for %s: islet has ended (%v)%s", what, err, i.complaint())
		default:
		}
	}
}

// drop renames a manifest per pod into the directory and returns the time just
// before the first.
func (i *islet) drop(names ...string) (time.Time, error) {
	for _, n := range names {
		if err := os.WriteFile(i.dir+"-"+n, fmt.Appendf(nil, manifest, n), 0o644); err != nil {
			return time.Time{}, err
		}
	}
	from := time.Now().Round(0)
	for _, n := range names {
		if err := os.Rename(i.dir+"-"+n, filepath.Join(i.dir, n+".yaml")); err != nil {
			return time.Time{}, err
		}
	}
	return from, nil
}

// remove takes the manifests of pods away, of all when none is named, and waits
// until nothing is left of these pods.
func (i *islet) remove(ctx context.Context, names ...string) error {
	filter := filters.NewArgs(filters.Arg("label", labelRoot+"="+i.root))
	files, err := filepath.Glob(filepath.Join(i.dir, "*.yaml"))
	if len(names) > 0 {
		files = nil
	}
	for _, n := range names {
		files = append(files, filepath.Join(i.dir, n+".yaml"))
		filter.Add("label", labelPod+"="+n)
	}
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		return err
	}
	return i.poll(ctx, "pods to be gone", func() (bool, error) {
		left, err := i.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filter})
		return len(left) == 0, err
	})
}

// stop ends islet and leaves its pods.
func (i *islet) stop(ctx context.Context) error {
	if i.cmd == nil {
		return nil
	}
	if err := i.cmd.Process.Signal(unix.SIGTERM); err != nil {
		return fmt.Errorf("stop islet: %w", err)
	}
	select {
	case err := <-i.ended:
		i.cmd = nil
		if err != nil {
			return fmt.Errorf("stop islet: %w%s", err, i.complaint())
		}
		return nil
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	err := i.cmd.Process.Kill()
	<-i.ended
	i.cmd = nil
	return errors.Join(errors.New("stop islet: it had to be killed"), err)
}

// end removes everything of this islet, with its own help while it runs.
func (i *islet) end(ctx context.Context) error {
	var errs []error
	if i.cmd != nil {
		errs = append(errs, i.remove(ctx), i.stop(ctx))
	}
	ofRoot := filters.NewArgs(filters.Arg("label", labelRoot+"="+i.root))
	left, err := i.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: ofRoot})
	errs = append(errs, err)
	for _, c := range left {
		errs = append(errs, i.docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}
	nets, err := i.docker.NetworkList(ctx, network.ListOptions{Filters: ofRoot})
	errs = append(errs, err)
	for _, n := range nets {
		errs = append(errs, i.docker.NetworkRemove(ctx, n.ID))
	}
	return errors.Join(errs...)
}

// complaint returns the end of islet's log, for an error message.
func (i *islet) complaint() string {
	const most = 4096
	text, err := os.ReadFile(i.log)
	if err != nil || len(text) == 0 {
		return ""
	}
	return "\nthe end of the log of islet:\n" + string(text[max(0, len(text)-most):])
}
