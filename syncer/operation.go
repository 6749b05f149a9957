package syncer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer/volumes"
)

// startTimeout bounds one create-and-start on the engine, as the kubelet's
// runtime request timeout does. Pulls have no bound.
const startTimeout = 2 * time.Minute

// operation prepares an action from what the worker knows now and returns what
// to run beside it. The returned function touches nothing the worker owns:
// pods in records are replaced, never changed.
func (w *worker) operation(in *instance, a pods.Action) func(context.Context) (pods.Image, error) {
	engine := w.s.Engine
	switch a.Kind {
	case pods.ActEnsureImage:
		return w.ensureImage(in.Record.Pod, a)
	case pods.ActCreateSandbox:
		return w.createSandbox(in.Record, a)
	case pods.ActStartContainer:
		return w.startContainer(in, a)
	case pods.ActSignal:
		return justErr(func(ctx context.Context) error { return engine.Signal(ctx, a.ID, a.Signal) })
	case pods.ActKill:
		return justErr(func(ctx context.Context) error { return engine.Signal(ctx, a.ID, "KILL") })
	}
	return justErr(func(ctx context.Context) error { return engine.Remove(ctx, a.ID, a.Force) })
}

func justErr(f func(context.Context) error) func(context.Context) (pods.Image, error) {
	return func(ctx context.Context) (pods.Image, error) { return pods.Image{}, f(ctx) }
}

func (w *worker) createSandbox(r pods.Record, a pods.Action) func(context.Context) (pods.Image, error) {
	return justErr(func(ctx context.Context) error {
		if err := w.s.gate.enter(ctx, classBegin); err != nil {
			return err
		}
		defer w.s.gate.leave()
		dir := w.s.Records.Dir(r.UID)
		if err := makePodDirs(dir); err != nil {
			return fmt.Errorf("make pod directory: %w", err)
		}
		if _, err := volumes.Prepare(r.Pod, dir); err != nil {
			return &pods.EngineError{Reason: "FailedMount", Err: err}
		}
		facts := w.s.Engine.Facts()
		req := pods.SandboxRequest{
			Key: w.key, Pod: r.Pod, Source: r.Source, Digest: r.Digest, Attempt: a.Attempt,
			Hostname:     pods.Hostname(r.Pod),
			CgroupParent: w.s.Cgroups.Parent(string(pods.QOS(r.Pod)), string(r.UID)),
			OOMScoreAdj:  pods.SandboxOOMScoreAdj(facts),
		}
		ctx, cancel := w.s.engineContext()
		defer cancel()
		_, err := w.s.Engine.StartSandbox(ctx, req)
		return err
	})
}

// engineContext bounds an engine call that has begun. That the start is called
// off does not reach it, as the engine would finish the work unseen; only the
// end of islet does, after a moment.
func (s *Syncer) engineContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.calls, startTimeout)
}

func makePodDirs(dir string) error {
	for _, d := range []string{filepath.Join(dir, "volumes"), filepath.Join(dir, "containers")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) startContainer(in *instance, a pods.Action) func(context.Context) (pods.Image, error) {
	r := in.Record
	image := in.Images[a.Container]
	sandbox, ok := pods.ReadySandbox(in.Observed)
	container, kind := pods.ContainerByName(r.Pod, a.Container)
	req := pods.ContainerRequest{
		Key: w.key, Pod: r.Pod, Container: container, Type: kind,
		Source: r.Source, Digest: r.Digest, Attempt: a.Attempt, Restarts: a.Restarts,
		SandboxID: sandbox.ID, Image: image,
	}
	ips := sandbox.IPs
	return justErr(func(ctx context.Context) error {
		if !ok || container == nil {
			return &pods.EngineError{Reason: pods.ReasonCreateContainerConfig, Err: fmt.Errorf("start container %q: its sandbox is gone", a.Container)}
		}
		if err := w.s.gate.enter(ctx, classContinue); err != nil {
			return err
		}
		defer w.s.gate.leave()
		if err := w.complete(&req, ips); err != nil {
			return &pods.EngineError{Reason: pods.ReasonCreateContainerConfig, Err: err}
		}
		ctx, cancel := w.s.engineContext()
		defer cancel()
		_, err := w.s.Engine.StartContainer(ctx, req)
		return err
	})
}

// complete fills in what has to be computed or made on disk for the container.
func (w *worker) complete(req *pods.ContainerRequest, ips []string) error {
	dir := w.s.Records.Dir(req.Pod.UID)
	if err := makePodDirs(dir); err != nil {
		return fmt.Errorf("make pod directory: %w", err)
	}
	set, err := volumes.Prepare(req.Pod, dir)
	if err != nil {
		return err
	}
	if req.Mounts, err = set.Mounts(req.Container); err != nil {
		return err
	}
	files, err := w.s.podFiles(dir, req, ips)
	if err != nil {
		return err
	}
	req.Mounts = append(req.Mounts, files...)
	env := pods.Env(req.Pod, req.Container)
	req.Env = env.List()
	req.Command, req.Args = env.Expand(req.Container.Command), env.Expand(req.Container.Args)
	if err := env.Err(); err != nil {
		return err
	}
	facts := w.s.Engine.Facts()
	req.Resources = pods.ResourcesOf(req.Pod, req.Container, facts)
	req.CgroupParent = w.s.Cgroups.Parent(string(pods.QOS(req.Pod)), string(req.Pod.UID))
	return nil
}
