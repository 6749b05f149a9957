package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/islet-run/islet/testdata/images"
)

// other is another program that runs pods on one machine.
type other struct {
	name    string
	version string
	one     []time.Duration // start of one pod
	why     string          // why there are no figures
}

// otherTries is how many pods another program starts.
const otherTries = 5

// others measures what else is installed; what is not is said.
func (b *bench) others(ctx context.Context, r *result) error {
	podman, err := b.podman(ctx)
	if err != nil {
		podman.why = err.Error()
	}
	kubelet := other{name: "kubelet", why: "not installed"}
	if path, err := exec.LookPath("kubelet"); err == nil {
		kubelet.why = path + " is installed, but starts no pod on this engine without a CRI shim"
	}
	r.others = append(r.others, podman, kubelet)
	return ctx.Err()
}

// podman starts the same pod with podman kube play, from the command to its
// return, with which the containers run.
func (b *bench) podman(ctx context.Context) (o other, err error) {
	o = other{name: "podman kube play"}
	podman, err := exec.LookPath("podman")
	if err != nil {
		return o, errors.New("not installed")
	}
	version, err := exec.CommandContext(ctx, podman, "--version").Output()
	if err != nil {
		return o, fmt.Errorf("ask podman for its version: %w", err)
	}
	o.version = strings.TrimSpace(string(version))
	saved, err := b.docker.ImageSave(ctx, []string{images.ExampleRef})
	if err != nil {
		return o, fmt.Errorf("save example image: %w", err)
	}
	defer saved.Close()
	load := exec.CommandContext(ctx, podman, "load", "-q")
	load.Stdin = saved
	if text, err := load.CombinedOutput(); err != nil {
		return o, fmt.Errorf("load example image: %w: %s", err, strings.TrimSpace(string(text)))
	}
	for i := range otherTries {
		name := fmt.Sprintf("bench-podman-%d-%d", os.Getpid(), i)
		file := filepath.Join(filepath.Dir(b.islet.dir), name+".yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, manifest, name), 0o644); err != nil {
			return o, err
		}
		b.calmDown(ctx)
		from := time.Now()
		text, err := exec.CommandContext(ctx, podman, "kube", "play", file).CombinedOutput()
		took := time.Since(from)
		if down, err := exec.CommandContext(context.WithoutCancel(ctx), podman, "kube", "down", file).CombinedOutput(); err != nil {
			progress("podman kube down: %v: %s", err, down)
		}
		if err != nil {
			return o, fmt.Errorf("it cannot start the pod here: %w: %s", err, strings.TrimSpace(string(text)))
		}
		o.one = append(o.one, took)
	}
	return o, nil
}

func (o other) print(w io.Writer, islet []time.Duration) {
	if len(o.one) == 0 {
		fmt.Fprintf(w, "\n%s: %s\n", o.name, o.why)
		return
	}
	fmt.Fprintf(w, "\n%s (%s), one by one: ratio, p50 %s  (it / islet)\n", o.name, o.version, ratio(o.one, islet))
	printRow(w, "one by one, podman", o.one)
}
