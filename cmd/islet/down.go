package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/store"
)

// exitPatience is how long islet may take to end after the last pod is gone.
const exitPatience = 15 * time.Second

// enginePatience is how long the engine may take to answer the first time; it
// is probed before it counts as up.
const enginePatience = 20 * time.Second

// downIslet stops all pods of this islet, or of all of them, and removes what is
// left if that is wanted.
func downIslet(ctx context.Context, opts downOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		cause := fmt.Errorf("pods were not all gone after %v; run down again to see what is left", opts.Timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, opts.Timeout, cause)
		defer cancel()
	}
	d := &downer{opts: opts, say: func(line string) { fmt.Fprintln(stdout, line) }, stdin: stdin, stdout: stdout, stderr: stderr}
	err := d.run(ctx)
	if cause := context.Cause(ctx); errors.Is(err, context.DeadlineExceeded) && cause != nil {
		return cause
	}
	return err
}

// downer is one run of down.
type downer struct {
	opts   downOptions
	say    func(line string)
	stdin  io.Reader
	stdout io.Writer // for questions
	stderr io.Writer
}

func (d *downer) run(ctx context.Context) error {
	switch {
	case d.opts.All:
		return d.all(ctx)
	case d.opts.Purge:
		return d.purgeOne(ctx)
	}
	return d.stop(ctx, d.opts.RootDir)
}

// stop ends the pods of one root-dir: through the running islet, or by itself
// when none runs.
func (d *downer) stop(ctx context.Context, rootDir string) error {
	err := newClient(rootDir).Down(ctx, d.say)
	switch {
	case err == nil:
		return waitUnlocked(ctx, rootDir)
	case errors.Is(err, errUnreachable):
		opts := d.opts
		opts.RootDir = rootDir
		return downAlone(ctx, opts, d.say, d.stderr)
	}
	return err
}

// waitUnlocked returns when islet has ended, so that the next command finds the
// state directory free.
func waitUnlocked(ctx context.Context, rootDir string) error {
	ctx, cancel := context.WithTimeout(ctx, exitPatience)
	defer cancel()
	for {
		st, err := store.Open(rootDir)
		if err == nil {
			return st.Close()
		}
		var locked *store.LockedError
		if !errors.As(err, &locked) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for islet to end: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// downAlone does what a running islet would. No source is read: what they say
// has no say in this, and the manifests stay accepted for the next run.
func downAlone(ctx context.Context, opts downOptions, say func(string), stderr io.Writer) error {
	if _, err := os.Stat(filepath.Join(opts.RootDir, "owner")); errors.Is(err, fs.ErrNotExist) {
		return &exitError{code: exitUnreachable, err: fmt.Errorf(
			"stop pods: no islet has run with its state in %s; if it is elsewhere, say where with --root-dir", opts.RootDir)}
	}
	run := defaultRunOptions()
	run.RootDir, run.DockerEndpoint = opts.RootDir, opts.DockerEndpoint
	i, err := assemble(run, newLogger(stderr, "human", 0).Level(errorLevel))
	if err != nil {
		return err
	}
	defer i.close()
	i.file = nil
	running, end := context.WithCancel(ctx)
	defer end()
	var stopped error
	err = i.run(running, func(ctx context.Context) error {
		defer end()
		if stopped = i.awaitEngine(ctx, opts.DockerEndpoint); stopped == nil {
			stopped = i.stopPods(ctx, ctx, end, say)
		}
		return nil
	})
	return errors.Join(stopped, err)
}

// awaitEngine returns once the engine answers. Unlike run, a command does not
// wait for ever.
func (i *islet) awaitEngine(ctx context.Context, endpoint string) error {
	deadline := time.After(enginePatience)
	for !i.syncer.EngineUp() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return fmt.Errorf("stop pods: Docker Engine at %s: %w", endpoint, pods.ErrEngineAway)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
