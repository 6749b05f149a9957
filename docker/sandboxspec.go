package docker

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

const (
	// shmSize is /dev/shm of the whole pod: containers share the sandbox's.
	shmSize = 64 << 20
	// sandboxShares is the least the kernel takes; 0 would mean 1024.
	sandboxShares = 2
	// maxStopTimeout bounds what a stopping daemon grants a container, for it
	// waits for the slowest one. Pods are stopped by signal, not by this.
	maxStopTimeout = 30
)

// spec is a complete create request.
type spec struct {
	name    string
	who     identity
	config  *container.Config
	host    *container.HostConfig
	network *network.NetworkingConfig
}

// sandboxSpec turns a request into what the engine is asked for.
func sandboxSpec(s settings, image string, req pods.SandboxRequest) spec {
	pod := req.Pod
	who := identity{
		key: req.Key, uid: pod.UID, container: sandboxName, kind: typeSandbox,
		attempt: req.Attempt, generation: pod.Generation, boot: s.bootID, image: image,
	}
	exposed, bindings := ports(pod)
	no, timeout := false, 0
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(s.network),
		PortBindings:   bindings,
		IpcMode:        container.IPCModeShareable,
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:      container.LogConfig{Type: "none"},
		OomScoreAdj:    max(req.OOMScoreAdj, s.minOOM),
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		ShmSize:        shmSize,
		Init:           &no,
		Resources:      container.Resources{CPUShares: sandboxShares, CgroupParent: req.CgroupParent},
	}
	config := &container.Config{
		Hostname:     req.Hostname,
		Image:        image,
		Labels:       who.labels(s, req.Source, req.Digest),
		ExposedPorts: exposed,
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
		StopTimeout:  &timeout,
	}
	if pod.Spec.HostIPC {
		host.IpcMode, host.ShmSize = "host", 0
	}
	if pod.Spec.HostPID {
		host.PidMode = "host"
	}
	userNamespace(s, pod, host)
	out := spec{name: containerName(sandboxName, req.Key, pod.UID, req.Attempt), who: who, config: config, host: host}
	if pod.Spec.HostNetwork {
		// The daemon fills in the node's name, and would warn of ports.
		host.NetworkMode = "host"
		config.Hostname, config.ExposedPorts, host.PortBindings = "", nil, nil
		return out
	}
	out.network = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
		s.network: {Aliases: aliases(req.Key)},
	}}
	return out
}

// aliases are the names other pods of the network reach this one by.
func aliases(key pods.Key) []string {
	names := []string{key.Name + "." + key.Namespace}
	if key.Namespace == v1.NamespaceDefault {
		names = append(names, key.Name)
	}
	return names
}

// userNamespace opts out of a daemon's user id mapping where the daemon
// refuses to combine it with a namespace of the host.
func userNamespace(s settings, pod *v1.Pod, host *container.HostConfig) {
	if s.remapped && (pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC) {
		host.UsernsMode = "host"
	}
}

// ports collects the host ports of the containers that run beside each other:
// the regular ones and the sidecars. A binding without an exposed port is
// ignored by the daemon, so both are returned.
func ports(pod *v1.Pod) (nat.PortSet, nat.PortMap) {
	exposed, bindings := nat.PortSet{}, nat.PortMap{}
	add := func(c *v1.Container) {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			protocol := strings.ToLower(string(p.Protocol))
			if protocol == "" {
				protocol = "tcp"
			}
			port := nat.Port(strconv.Itoa(int(p.ContainerPort)) + "/" + protocol)
			binding := nat.PortBinding{HostIP: hostIP(p.HostIP), HostPort: strconv.Itoa(int(p.HostPort))}
			exposed[port] = struct{}{}
			if !slices.Contains(bindings[port], binding) {
				bindings[port] = append(bindings[port], binding)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	if len(exposed) == 0 {
		return nil, nil
	}
	return exposed, bindings
}

// hostIP normalises an address; what is none is left for the engine to refuse.
func hostIP(text string) string {
	if ip := net.ParseIP(text); ip != nil {
		return ip.String()
	}
	return text
}
