package docker

import (
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// cpuPeriod is the period, in microseconds, that CPUQuota counts in.
const cpuPeriod = 100_000

// containerSpec turns a request into what the engine is asked for. imageID is
// the image as the status shows it.
func containerSpec(s settings, imageID string, req pods.ContainerRequest) spec {
	pod, c := req.Pod, req.Container
	who := identity{
		key: req.Key, uid: pod.UID, container: c.Name, kind: string(req.Type),
		attempt: req.Attempt, restarts: req.Restarts, generation: pod.Generation,
		hash: pods.ContainerHash(c), boot: s.bootID, sandbox: req.SandboxID,
		image: c.Image, imageID: imageID,
		terminationPath:   terminationPath(req),
		terminationPolicy: string(c.TerminationMessagePolicy),
	}
	timeout := stopTimeout(pod)
	config := &container.Config{
		// The id and not the name: a tag that moves between look-up and
		// creation must not change what runs.
		Image:       req.Image.ID,
		Entrypoint:  orNil(req.Command),
		Cmd:         orNil(req.Args),
		Env:         req.Env,
		WorkingDir:  c.WorkingDir,
		Labels:      who.labels(s, req.Source, req.Digest),
		Tty:         c.TTY,
		OpenStdin:   c.Stdin,
		StdinOnce:   c.StdinOnce,
		StopTimeout: &timeout,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		config.StopSignal = string(*c.Lifecycle.StopSignal)
	}
	no := false
	host := &container.HostConfig{
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{
			"max-size": s.logMaxSize,
			"max-file": strconv.Itoa(s.logMaxFiles),
		}},
		OomScoreAdj: max(req.Resources.OOMScoreAdj, s.minOOM),
		SecurityOpt: securityOptions(pod, c),
		Mounts:      mounts(req.Mounts),
		Init:        &no,
		Resources:   resources(req),
	}
	namespaces(pod, req.SandboxID, host)
	userNamespace(s, pod, host)
	return spec{name: containerName(c.Name, req.Key, pod.UID, req.Attempt), who: who, config: config, host: host}
}

// namespaces joins the container to the sandbox. The hostname is not shared
// through it: Docker copies the sandbox's, or with host network leaves the node's.
func namespaces(pod *v1.Pod, sandbox string, host *container.HostConfig) {
	join := "container:" + sandbox
	host.NetworkMode = container.NetworkMode(join)
	host.IpcMode = container.IpcMode(join)
	if pod.Spec.HostIPC {
		host.IpcMode = "host"
	}
	if pod.Spec.HostNetwork {
		host.UTSMode = "host"
	}
	switch {
	case pod.Spec.HostPID:
		host.PidMode = "host"
	case pod.Spec.ShareProcessNamespace != nil && *pod.Spec.ShareProcessNamespace:
		host.PidMode = container.PidMode(join)
	}
}

func resources(req pods.ContainerRequest) container.Resources {
	r := container.Resources{
		CPUShares:    req.Resources.CPUShares,
		CgroupParent: req.CgroupParent,
		Memory:       req.Resources.MemoryLimit,
		// Equal to the limit: no swap. Left out, Docker grants as much again.
		MemorySwap: req.Resources.MemoryLimit,
	}
	if req.Resources.CPUQuota > 0 {
		r.CPUPeriod, r.CPUQuota = cpuPeriod, req.Resources.CPUQuota
	}
	return r
}

// securityOptions: without a profile Kubernetes runs a container unconfined,
// whatever the engine's own default is.
func securityOptions(pod *v1.Pod, c *v1.Container) []string {
	profile := v1.SeccompProfileTypeUnconfined
	if s := pod.Spec.SecurityContext; s != nil && s.SeccompProfile != nil {
		profile = s.SeccompProfile.Type
	}
	if s := c.SecurityContext; s != nil && s.SeccompProfile != nil {
		profile = s.SeccompProfile.Type
	}
	if profile == v1.SeccompProfileTypeUnconfined {
		return []string{"seccomp=unconfined"}
	}
	return nil
}

func mounts(list []pods.Mount) []mount.Mount {
	var out []mount.Mount
	for _, m := range list {
		bind := mount.Mount{Type: mount.TypeBind, Source: m.HostPath, Target: m.ContainerPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			// As in Kubernetes, and in engines before 25: what is mounted
			// below stays as it is.
			bind.BindOptions = &mount.BindOptions{ReadOnlyNonRecursive: true}
		}
		out = append(out, bind)
	}
	return out
}

// terminationPath is the host file that is mounted where the container writes
// its termination message; empty when there is none.
func terminationPath(req pods.ContainerRequest) string {
	for _, m := range req.Mounts {
		if m.ContainerPath != "" && m.ContainerPath == req.Container.TerminationMessagePath {
			return m.HostPath
		}
	}
	return ""
}

func stopTimeout(pod *v1.Pod) int {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return int(min(max(*g, 0), maxStopTimeout))
	}
	return maxStopTimeout
}

// orNil makes an empty list nil: Docker takes an empty entrypoint for "none"
// and nil for "the image's", where Kubernetes knows only the latter.
func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}
