package docker

import (
	"reflect"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

var testSettings = settings{
	owner: "owner-1", root: "/var/lib/islet", network: "islet", logMaxSize: "10m", logMaxFiles: 5,
	bootID: "boot-1", minOOM: -1000,
}

var testKey = pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: "web"}

func testPod() *v1.Pod {
	grace := int64(45)
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID, pod.Generation = "web", "default", "uid-1", 3
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.Containers = []v1.Container{{
		Name: "main", Image: "app:1", TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
	}}
	return pod
}

func sandboxRequest(change func(*pods.SandboxRequest)) pods.SandboxRequest {
	req := pods.SandboxRequest{
		Key: testKey, Pod: testPod(), Source: "file", Digest: "d1", Attempt: 2, Hostname: "web",
		CgroupParent: "/islet/besteffort/poduid-1", OOMScoreAdj: -998,
	}
	if change != nil {
		change(&req)
	}
	return req
}

func TestSandboxSpec(t *testing.T) {
	sp := sandboxSpec(testSettings, "islet-pause:1", sandboxRequest(nil))
	if want := "k8s_POD_web_default_uid-1_2"; sp.name != want {
		t.Errorf("name %s, want %s", sp.name, want)
	}
	no, zero := false, 0
	wantHost := &container.HostConfig{
		NetworkMode: "islet", IpcMode: "shareable", RestartPolicy: container.RestartPolicy{Name: "no"},
		LogConfig: container.LogConfig{Type: "none"}, OomScoreAdj: -998, SecurityOpt: []string{"no-new-privileges"},
		ReadonlyRootfs: true, ShmSize: 64 << 20, Init: &no,
		Resources: container.Resources{CPUShares: 2, CgroupParent: "/islet/besteffort/poduid-1"},
	}
	if diff := cmp.Diff(wantHost, sp.host); diff != "" {
		t.Errorf("host config (-want +got):\n%s", diff)
	}
	wantConfig := &container.Config{
		Hostname: "web", Image: "islet-pause:1", Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, StopTimeout: &zero,
		Labels: map[string]string{
			"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "uid-1",
			"io.kubernetes.container.name": "POD", "run.islet.owner": "owner-1", "run.islet.root": "/var/lib/islet",
			"run.islet.realm": "local", "run.islet.source": "file", "run.islet.type": "sandbox", "run.islet.attempt": "2",
			"run.islet.restarts": "0", "run.islet.hash": "", "run.islet.digest": "d1", "run.islet.generation": "3",
			"run.islet.boot": "boot-1", "run.islet.image": "islet-pause:1", "run.islet.image-id": "", "run.islet.sandbox": "",
			"run.islet.termination-path": "", "run.islet.termination-policy": "",
		},
	}
	if diff := cmp.Diff(wantConfig, sp.config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if got := sp.network.EndpointsConfig["islet"].Aliases; !reflect.DeepEqual(got, []string{"web.default", "web"}) {
		t.Errorf("aliases %v", got)
	}
}

func TestSandboxSpecVariants(t *testing.T) {
	for _, row := range []struct {
		name   string
		set    func(*settings)
		change func(*pods.SandboxRequest)
		check  func(*testing.T, spec)
	}{
		{"host network takes neither hostname nor ports nor an endpoint", nil, func(r *pods.SandboxRequest) {
			r.Pod.Spec.HostNetwork = true
			r.Pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}, func(t *testing.T, sp spec) {
			if sp.host.NetworkMode != "host" || sp.config.Hostname != "" || sp.config.ExposedPorts != nil || sp.host.PortBindings != nil || sp.network != nil {
				t.Errorf("%+v %+v %+v", sp.host, sp.config, sp.network)
			}
		}},
		{"an OOM score below what works is raised", func(s *settings) { s.minOOM = 0 }, nil, func(t *testing.T, sp spec) {
			if sp.host.OomScoreAdj != 0 {
				t.Errorf("score %d", sp.host.OomScoreAdj)
			}
		}},
		{"only pods of namespace default are known by their bare name", nil, func(r *pods.SandboxRequest) {
			r.Key.Namespace = "prod"
		}, func(t *testing.T, sp spec) {
			if got := sp.network.EndpointsConfig["islet"].Aliases; !reflect.DeepEqual(got, []string{"web.prod"}) {
				t.Errorf("aliases %v", got)
			}
		}},
		{"host IPC and PID", nil, func(r *pods.SandboxRequest) {
			r.Pod.Spec.HostIPC, r.Pod.Spec.HostPID = true, true
		}, func(t *testing.T, sp spec) {
			if sp.host.IpcMode != "host" || sp.host.PidMode != "host" || sp.host.ShmSize != 0 || sp.host.UsernsMode != "" {
				t.Errorf("%+v", sp.host)
			}
		}},
		{"namespaces of the host opt out of mapped users", func(s *settings) { s.remapped = true }, func(r *pods.SandboxRequest) {
			r.Pod.Spec.HostPID = true
		}, func(t *testing.T, sp spec) {
			if sp.host.UsernsMode != "host" {
				t.Errorf("%+v", sp.host)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := testSettings
			if row.set != nil {
				row.set(&s)
			}
			row.check(t, sandboxSpec(s, "islet-pause:1", sandboxRequest(row.change)))
		})
	}
}

func TestPorts(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := testPod()
	pod.Spec.InitContainers = []v1.Container{
		{Name: "plain", Ports: []v1.ContainerPort{{ContainerPort: 1, HostPort: 1}}},
		{Name: "sidecar", RestartPolicy: &always, Ports: []v1.ContainerPort{{ContainerPort: 9000, HostPort: 9001}}},
	}
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{
		{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP},
		{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP},
		{ContainerPort: 80, HostPort: 8081, HostIP: "127.0.0.1"},
		{ContainerPort: 53, HostPort: 53, Protocol: v1.ProtocolUDP, HostIP: "0:0:0:0:0:0:0:1"},
		{ContainerPort: 443},
	}
	exposed, bindings := ports(pod)
	wantBindings := nat.PortMap{
		"9000/tcp": {{HostPort: "9001"}},
		"80/tcp":   {{HostPort: "8080"}, {HostIP: "127.0.0.1", HostPort: "8081"}},
		"53/udp":   {{HostIP: "::1", HostPort: "53"}},
	}
	if diff := cmp.Diff(wantBindings, bindings); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for port := range bindings {
		if _, ok := exposed[port]; !ok {
			t.Errorf("%s is bound and not exposed", port)
		}
	}
	if len(exposed) != len(bindings) {
		t.Errorf("exposed %v", exposed)
	}
}

func containerRequest(change func(*pods.ContainerRequest)) pods.ContainerRequest {
	pod := testPod()
	req := pods.ContainerRequest{
		Key: testKey, Pod: pod, Container: &pod.Spec.Containers[0], Type: pods.TypeRegular, Source: "file", Digest: "d1",
		Attempt: 1, Restarts: 4, SandboxID: "sb1", Image: pods.Image{Ref: "app:1", ID: "sha256:aa"},
		Env:          []string{"A=1"},
		Mounts:       []pods.Mount{{HostPath: "/pods/uid-1/message", ContainerPath: "/dev/termination-log"}, {HostPath: "/data", ContainerPath: "/ro", ReadOnly: true}},
		CgroupParent: "/islet/poduid-1",
		Resources:    pods.Resources{CPUShares: 102, CPUQuota: 50000, MemoryLimit: 64 << 20, OOMScoreAdj: 900},
	}
	if change != nil {
		change(&req)
	}
	return req
}

func TestContainerSpec(t *testing.T) {
	req := containerRequest(nil)
	sp := containerSpec(testSettings, "docker://sha256:aa", req)
	if want := "k8s_main_web_default_uid-1_1"; sp.name != want {
		t.Errorf("name %s, want %s", sp.name, want)
	}
	no, timeout := false, 30
	wantHost := &container.HostConfig{
		NetworkMode: "container:sb1", IpcMode: "container:sb1", RestartPolicy: container.RestartPolicy{Name: "no"},
		LogConfig:   container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "10m", "max-file": "5"}},
		OomScoreAdj: 900, SecurityOpt: []string{"seccomp=unconfined"}, Init: &no,
		Mounts: []mount.Mount{
			{Type: "bind", Source: "/pods/uid-1/message", Target: "/dev/termination-log"},
			{Type: "bind", Source: "/data", Target: "/ro", ReadOnly: true, BindOptions: &mount.BindOptions{ReadOnlyNonRecursive: true}},
		},
		Resources: container.Resources{
			CPUShares: 102, CPUPeriod: 100000, CPUQuota: 50000, Memory: 64 << 20, MemorySwap: 64 << 20, CgroupParent: "/islet/poduid-1",
		},
	}
	if diff := cmp.Diff(wantHost, sp.host); diff != "" {
		t.Errorf("host config (-want +got):\n%s", diff)
	}
	wantConfig := &container.Config{
		Image: "sha256:aa", Env: []string{"A=1"}, StopTimeout: &timeout, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		Labels: map[string]string{
			"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "uid-1",
			"io.kubernetes.container.name": "main", "run.islet.owner": "owner-1", "run.islet.root": "/var/lib/islet",
			"run.islet.realm": "local", "run.islet.source": "file", "run.islet.type": "regular", "run.islet.attempt": "1",
			"run.islet.restarts": "4", "run.islet.hash": pods.ContainerHash(req.Container), "run.islet.digest": "d1",
			"run.islet.generation": "3", "run.islet.boot": "boot-1", "run.islet.image": "app:1",
			"run.islet.image-id": "docker://sha256:aa", "run.islet.sandbox": "sb1",
			"run.islet.termination-path": "/pods/uid-1/message", "run.islet.termination-policy": "File",
		},
	}
	if diff := cmp.Diff(wantConfig, sp.config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestContainerSpecVariants(t *testing.T) {
	yes := true
	stop := v1.SIGUSR1
	for _, row := range []struct {
		name   string
		change func(*pods.ContainerRequest)
		check  func(spec) bool
	}{
		{"no command, no args: the image's", nil,
			func(sp spec) bool { return sp.config.Entrypoint == nil && sp.config.Cmd == nil }},
		{"an empty command is none", func(r *pods.ContainerRequest) { r.Command, r.Args = []string{}, []string{} },
			func(sp spec) bool { return sp.config.Entrypoint == nil && sp.config.Cmd == nil }},
		{"args only: the image's entrypoint stays", func(r *pods.ContainerRequest) { r.Args = []string{"-v"} },
			func(sp spec) bool { return sp.config.Entrypoint == nil && len(sp.config.Cmd) == 1 }},
		{"command only: the image's arguments go", func(r *pods.ContainerRequest) { r.Command = []string{"/app"} },
			func(sp spec) bool { return len(sp.config.Entrypoint) == 1 && sp.config.Cmd == nil }},
		{"no limits", func(r *pods.ContainerRequest) { r.Resources = pods.Resources{CPUShares: 2} },
			func(sp spec) bool {
				r := sp.host.Resources
				return r.CPUShares == 2 && r.CPUPeriod == 0 && r.CPUQuota == 0 && r.Memory == 0 && r.MemorySwap == 0
			}},
		{"host network shows the node's name", func(r *pods.ContainerRequest) { r.Pod.Spec.HostNetwork = true },
			func(sp spec) bool { return sp.host.UTSMode == "host" && sp.host.NetworkMode == "container:sb1" }},
		{"host PID", func(r *pods.ContainerRequest) { r.Pod.Spec.HostPID = true },
			func(sp spec) bool { return sp.host.PidMode == "host" }},
		{"shared process namespace", func(r *pods.ContainerRequest) { r.Pod.Spec.ShareProcessNamespace = &yes },
			func(sp spec) bool { return sp.host.PidMode == "container:sb1" }},
		{"host IPC", func(r *pods.ContainerRequest) { r.Pod.Spec.HostIPC = true },
			func(sp spec) bool { return sp.host.IpcMode == "host" }},
		{"the runtime's seccomp profile, from the pod", func(r *pods.ContainerRequest) {
			r.Pod.Spec.SecurityContext = &v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}}
		}, func(sp spec) bool { return len(sp.host.SecurityOpt) == 0 }},
		{"a container's seccomp profile goes before the pod's", func(r *pods.ContainerRequest) {
			r.Pod.Spec.SecurityContext = &v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}}
			r.Container.SecurityContext = &v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}}
		}, func(sp spec) bool { return sp.host.SecurityOpt[0] == "seccomp=unconfined" }},
		{"stop signal", func(r *pods.ContainerRequest) { r.Container.Lifecycle = &v1.Lifecycle{StopSignal: &stop} },
			func(sp spec) bool { return sp.config.StopSignal == "SIGUSR1" }},
		{"terminal", func(r *pods.ContainerRequest) {
			r.Container.TTY, r.Container.Stdin, r.Container.StdinOnce = true, true, true
		},
			func(sp spec) bool { return sp.config.Tty && sp.config.OpenStdin && sp.config.StdinOnce }},
		{"short grace", func(r *pods.ContainerRequest) { g := int64(3); r.Pod.Spec.TerminationGracePeriodSeconds = &g },
			func(sp spec) bool { return *sp.config.StopTimeout == 3 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if sp := containerSpec(testSettings, "", containerRequest(row.change)); !row.check(sp) {
				t.Errorf("config %+v\nhost %+v", sp.config, sp.host)
			}
		})
	}
}

func TestIdentityRoundTrip(t *testing.T) {
	for _, sp := range []spec{
		sandboxSpec(testSettings, "islet-pause:1", sandboxRequest(nil)),
		containerSpec(testSettings, "docker://sha256:aa", containerRequest(nil)),
	} {
		who, ok := identify("owner-1", "/"+sp.name, sp.config.Labels)
		if !ok || who != sp.who {
			t.Errorf("read back %+v, %v, want %+v", who, ok, sp.who)
		}
		if suffixed := suffixed(sp.name); suffixed == sp.name || !ourName(suffixed) {
			t.Errorf("suffixed name %s", suffixed)
		}
	}
}

func TestIdentifyRefuses(t *testing.T) {
	good := containerSpec(testSettings, "", containerRequest(nil))
	for _, row := range []struct{ name, owner, container, drop string }{
		{"another owner", "owner-2", good.name, ""},
		{"a foreign name", "owner-1", "web", ""},
		{"no pod name", "owner-1", good.name, labelPodName},
		{"no uid", "owner-1", good.name, labelPodUID},
		{"no container name", "owner-1", good.name, labelContainer},
		{"no owner", "owner-1", good.name, labelOwner},
	} {
		labels := map[string]string{}
		for k, v := range good.config.Labels {
			if k != row.drop {
				labels[k] = v
			}
		}
		if who, ok := identify(row.owner, row.container, labels); ok {
			t.Errorf("%s: taken for %+v", row.name, who)
		}
	}
	labels := good.config.Labels
	labels[labelAttempt], labels[labelGeneration] = "many", ""
	if who, ok := identify("owner-1", good.name, labels); !ok || who.attempt != 0 || who.uid != types.UID("uid-1") {
		t.Errorf("unreadable numbers: %+v, %v", who, ok)
	}
}

// An image label must never become the identity of a container: every label
// that is read back has to be set on every container.
func TestEveryLabelIsSet(t *testing.T) {
	sandbox := sandboxSpec(testSettings, "i", sandboxRequest(nil)).config.Labels
	run := containerSpec(testSettings, "", containerRequest(nil)).config.Labels
	if len(sandbox) != len(run) {
		t.Errorf("%d labels on a sandbox, %d on a container", len(sandbox), len(run))
	}
	for label := range run {
		if _, ok := sandbox[label]; !ok {
			t.Errorf("label %s is not set on a sandbox", label)
		}
		if !strings.HasPrefix(label, "run.islet.") && !strings.HasPrefix(label, "io.kubernetes.pod.") && label != "io.kubernetes.container.name" {
			t.Errorf("label %s", label)
		}
	}
}
