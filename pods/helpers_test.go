package pods

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestEnv(t *testing.T) {
	c := &v1.Container{Env: []v1.EnvVar{
		{Name: "A", Value: "1"},
		{Name: "B", Value: "$(A)$(LATER)"},
		{Name: "EMPTY"},
		{Name: "LATER", Value: "x"},
		{Name: "A", Value: "$(A)2"},
		{Name: "ESCAPED", Value: "$$(A) $$$(A) $5 $"},
		{Name: "OPEN", Value: "$(A"},
		{Name: "FROM", ValueFrom: &v1.EnvVarSource{}},
	}}
	e := Env(nil, c)
	want := []string{"A=12", "B=1$(LATER)", "EMPTY=", "LATER=x", "ESCAPED=$(A) $12 $5 $", "OPEN=$(A"}
	if diff := cmp.Diff(want, e.List()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := e.Expand([]string{"sh", "-c", "echo $(A) $$(A) $(NO)"}); !cmp.Equal(got, []string{"sh", "-c", "echo 12 $(A) $(NO)"}) {
		t.Errorf("expand: %q", got)
	}
	if e.Expand(nil) != nil || e.Expand([]string{}) != nil {
		t.Error("no words must stay nil")
	}
}

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62) + ".b"
	for _, row := range []struct {
		name   string
		change func(pod *v1.Pod)
		want   string
	}{
		{"pod name", func(*v1.Pod) {}, "web"},
		{"hostname", func(p *v1.Pod) { p.Spec.Hostname = "h" }, "h"},
		{"override", func(p *v1.Pod) { p.Spec.Hostname, p.Spec.HostnameOverride = "h", ptr("over.example") }, "over.example"},
		{"cut to a label", func(p *v1.Pod) { p.Name = long }, strings.Repeat("a", 62)},
		{"host network", func(p *v1.Pod) { p.Spec.HostNetwork = true }, ""},
		{"subdomain alone", func(p *v1.Pod) { p.Spec.Subdomain = "s" }, "web"},
		{"full name", func(p *v1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "s", ptr(true) }, "web.s.default.svc.cluster.local"},
	} {
		pod := basePod()
		row.change(pod)
		if got := Hostname(pod); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestHostsFile(t *testing.T) {
	pod := basePod()
	const head = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
	if diff := cmp.Diff(head+"10.0.0.2\tweb\nfd00::2\tweb\n", HostsFile(pod, []string{"10.0.0.2", "fd00::2"}, "ignored")); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	pod.Spec.Subdomain = "s"
	pod.Spec.HostAliases = []v1.HostAlias{{IP: "1.2.3.4", Hostnames: []string{"a", "b"}}}
	const aliases = "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"
	if diff := cmp.Diff(head+"10.0.0.2\tweb.s.default.svc.cluster.local\tweb\n"+aliases, HostsFile(pod, []string{"10.0.0.2"}, "")); diff != "" {
		t.Errorf("domain and aliases (-want +got):\n%s", diff)
	}
	pod.Spec.HostNetwork = true
	want := "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n" + aliases
	if diff := cmp.Diff(want, HostsFile(pod, nil, "127.0.0.1 me")); diff != "" {
		t.Errorf("host network (-want +got):\n%s", diff)
	}
}

func TestResolvConf(t *testing.T) {
	const host = "# made by hand\nnameserver 192.168.1.1\nnameserver 192.168.1.2\nsearch old.example\nsearch example.com. lan\noptions edns0 timeout:2 timeout:3\n"
	for _, row := range []struct {
		name   string
		change func(s *v1.PodSpec)
		want   string
	}{
		{"ClusterFirst", func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSClusterFirst }, "nameserver 127.0.0.11\nsearch example.com lan\noptions ndots:0\n"},
		{"Default", func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault }, host},
		{"host network", func(s *v1.PodSpec) { s.DNSPolicy, s.HostNetwork = v1.DNSClusterFirst, true }, host},
		{"host network, ClusterFirstWithHostNet", func(s *v1.PodSpec) { s.DNSPolicy, s.HostNetwork = v1.DNSClusterFirstWithHostNet, true }, host},
		{"None", func(s *v1.PodSpec) {
			s.DNSPolicy = v1.DNSNone
			s.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"9.9.9.9"}}
		}, "nameserver 9.9.9.9\n"},
		{"Default merged", func(s *v1.PodSpec) {
			s.DNSPolicy = v1.DNSDefault
			s.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"192.168.1.1", "9.9.9.9", "8.8.8.8"}, Searches: []string{"lan", "more"},
				Options: []v1.PodDNSConfigOption{{Name: "timeout", Value: ptr("9")}, {Name: "rotate"}}}
		}, "nameserver 192.168.1.1\nnameserver 192.168.1.2\nnameserver 9.9.9.9\nsearch example.com lan more\noptions edns0 timeout:9 rotate\n"},
		{"too long searches are left out", func(s *v1.PodSpec) {
			s.DNSPolicy = v1.DNSNone
			s.DNSConfig = &v1.PodDNSConfig{Searches: []string{strings.Repeat("a", 254), "ok"}}
		}, "search ok\n"},
	} {
		pod := basePod()
		row.change(&pod.Spec)
		if diff := cmp.Diff(row.want, ResolvConf(pod, host)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	pod := basePod()
	pod.Spec.DNSConfig = &v1.PodDNSConfig{}
	for range 40 {
		pod.Spec.DNSConfig.Searches = append(pod.Spec.DNSConfig.Searches, strings.Repeat("b", len(pod.Spec.DNSConfig.Searches)+1))
	}
	for line := range strings.Lines(ResolvConf(pod, "")) {
		if f := strings.Fields(line); f[0] == "search" && len(f) != 33 {
			t.Errorf("%d search entries are kept, want 32", len(f)-1)
		}
	}
}

func quantities(cpu, memory string) v1.ResourceList {
	l := v1.ResourceList{}
	if cpu != "" {
		l[v1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		l[v1.ResourceMemory] = resource.MustParse(memory)
	}
	return l
}

func TestResourcesOf(t *testing.T) {
	facts := Facts{MemoryBytes: 1 << 30, MinOOM: -1000}
	for _, row := range []struct {
		name             string
		requests, limits v1.ResourceList
		pod              v1.ResourceList
		want             Resources
	}{
		{name: "nothing", want: Resources{CPUShares: 2, OOMScoreAdj: 1000}},
		{name: "request", requests: quantities("250m", "256Mi"), want: Resources{CPUShares: 256, OOMScoreAdj: 750}},
		{name: "limit counts as request", limits: quantities("2", ""), want: Resources{CPUShares: 2048, CPUQuota: 200000, OOMScoreAdj: 999}},
		{name: "least quota", limits: quantities("1m", ""), want: Resources{CPUShares: 2, CPUQuota: 1000, OOMScoreAdj: 999}},
		{name: "most shares", requests: quantities("9000000", ""), want: Resources{CPUShares: 262144, OOMScoreAdj: 999}},
		{name: "memory limit", requests: quantities("", "1Mi"), limits: quantities("", "64Mi"), want: Resources{CPUShares: 2, MemoryLimit: 64 << 20, OOMScoreAdj: 999}},
		{name: "guaranteed", requests: quantities("1", "64Mi"), limits: quantities("1", "64Mi"),
			want: Resources{CPUShares: 1024, CPUQuota: 100000, MemoryLimit: 64 << 20, OOMScoreAdj: -997}},
		{name: "limits of the pod", pod: quantities("500m", "32Mi"), want: Resources{CPUShares: 2, CPUQuota: 50000, MemoryLimit: 32 << 20, OOMScoreAdj: 999}},
		{name: "more than the machine", requests: quantities("", "8Gi"), want: Resources{CPUShares: 2, OOMScoreAdj: 3}},
	} {
		pod := basePod()
		pod.Spec.InitContainers, pod.Spec.Containers = nil, pod.Spec.Containers[:1]
		c := &pod.Spec.Containers[0]
		c.Resources = v1.ResourceRequirements{Requests: row.requests, Limits: row.limits}
		if row.pod != nil {
			pod.Spec.Resources = &v1.ResourceRequirements{Limits: row.pod}
		}
		if diff := cmp.Diff(row.want, ResourcesOf(pod, c, facts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestOOMScoreAdj(t *testing.T) {
	pod := basePod()
	pod.Spec.Containers[0].Resources.Requests = quantities("", "512Mi")
	pod.Spec.Containers[1].Resources.Requests = quantities("", "256Mi")
	facts := Facts{MemoryBytes: 1 << 30, MinOOM: -1000}
	if got := OOMScoreAdj(pod, &pod.Spec.Containers[0], facts); got != 500 {
		t.Errorf("half of the memory: %d", got)
	}
	if got := OOMScoreAdj(pod, &pod.Spec.InitContainers[1], facts); got != 750 {
		t.Errorf("a sidecar is as safe as the smallest regular container: %d", got)
	}
	if got := OOMScoreAdj(pod, &pod.Spec.InitContainers[0], facts); got != 999 {
		t.Errorf("init container: %d", got)
	}
	pod.Spec.Priority = ptr(int32(2000001000))
	if got := OOMScoreAdj(pod, &pod.Spec.Containers[0], facts); got != -997 {
		t.Errorf("node critical: %d", got)
	}
	facts.MinOOM = 0
	if got := OOMScoreAdj(pod, &pod.Spec.Containers[0], facts); got != 0 {
		t.Errorf("clamped: %d", got)
	}
	if got := SandboxOOMScoreAdj(facts); got != 0 {
		t.Errorf("clamped sandbox: %d", got)
	}
	if got := SandboxOOMScoreAdj(Facts{MinOOM: -1000}); got != -998 {
		t.Errorf("sandbox: %d", got)
	}
	pod = basePod()
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: quantities("", "300Mi")}
	if got := OOMScoreAdj(pod, &pod.Spec.Containers[0], Facts{MemoryBytes: 1000 << 20, MinOOM: -1000}); got != 900 {
		t.Errorf("share of the request of the pod: %d", got)
	}
}

func TestAdmit(t *testing.T) {
	facts := Facts{EngineName: "Docker Engine"}
	if got := Admit(basePod(), facts); got != nil {
		t.Fatalf("plain pod: %q", got)
	}
	for _, row := range []struct {
		name   string
		change func(s *v1.PodSpec)
		want   []string
	}{
		{"little memory", func(s *v1.PodSpec) {
			s.InitContainers[0].Resources.Limits = quantities("", "4Mi")
			s.Containers[0].Resources.Limits = quantities("", "6Mi")
		}, []string{"container setup has the memory limit 4Mi: Docker Engine accepts 6Mi and more"}},
		{"privileged", func(s *v1.PodSpec) { s.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: ptr(true)} },
			[]string{"container web is privileged: Docker Engine cannot start privileged containers on this machine"}},
		{"guaranteed is clamped", func(s *v1.PodSpec) {
			for i := range s.Containers {
				s.Containers[i].Resources.Limits = quantities("1", "64Mi")
				s.Containers[i].Resources.Requests = quantities("1", "64Mi")
			}
		}, nil},
		{"windows", func(s *v1.PodSpec) { s.OS = &v1.PodOS{Name: v1.Windows} }, []string{`spec.os.name is "windows": this machine runs linux`}},
		{"user namespace", func(s *v1.PodSpec) { s.HostUsers = ptr(false) }, []string{"spec.hostUsers is false: Docker Engine has no user namespace per pod"}},
		{"groups", func(s *v1.PodSpec) {
			s.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: ptr(v1.SupplementalGroupsPolicyStrict)}
		}, []string{"spec.securityContext.supplementalGroupsPolicy is Strict: Docker Engine always adds the groups of the image"}},
		{"huge pages", func(s *v1.PodSpec) {
			s.Containers[1].Resources.Limits = v1.ResourceList{"hugepages-2Mi": resource.MustParse("4Mi")}
		}, []string{"container app limits hugepages-2Mi: Docker Engine cannot set it"}},
		{"long full name", func(s *v1.PodSpec) {
			s.Hostname, s.Subdomain, s.SetHostnameAsFQDN = strings.Repeat("h", 40), "s", ptr(true)
		}, []string{`spec.setHostnameAsFQDN: the name "` + strings.Repeat("h", 40) + `.s.default.svc.cluster.local" has 68 characters, the kernel takes 64`}},
		{"limit of the pod", func(s *v1.PodSpec) { s.Resources = &v1.ResourceRequirements{Limits: quantities("", "1Mi")} },
			[]string{"the pod has the memory limit 1Mi: Docker Engine accepts 6Mi and more"}},
	} {
		pod := basePod()
		row.change(&pod.Spec)
		if diff := cmp.Diff(row.want, Admit(pod, facts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	facts.Privileged = true
	pod := basePod()
	pod.Spec.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: ptr(true)}
	if got := Admit(pod, facts); got != nil {
		t.Errorf("privileged where it works: %q", got)
	}
}

func TestContainerHash(t *testing.T) {
	a := v1.Container{Name: "a", Image: "i:1"}
	b := a
	b.Command = []string{"x"}
	if ContainerHash(&a) != ContainerHash(&b) {
		t.Error("only name and image count")
	}
	b.Image = "i:2"
	if ContainerHash(&a) == ContainerHash(&b) {
		t.Error("the image counts")
	}
	if !sameDefinition(&a, ContainerHash(&a)) || sameDefinition(&b, ContainerHash(&a)) || !sameDefinition(&a, "") {
		t.Error("sameDefinition and ContainerHash disagree")
	}
	if ContainerHash(&v1.Container{Name: "ab", Image: "c"}) == ContainerHash(&v1.Container{Name: "a", Image: "bc"}) {
		t.Error("name and image run together")
	}
}

func TestContainerByName(t *testing.T) {
	pod := basePod()
	for name, want := range map[string]ContainerType{"setup": TypeInit, "log": TypeInit, "web": TypeRegular, "none": ""} {
		c, kind := ContainerByName(pod, name)
		if kind != want || (want != "" && c.Name != name) || (want == "" && c != nil) {
			t.Errorf("%s: %v %q", name, c, kind)
		}
	}
	if !IsSidecar(pod, "log") || IsSidecar(pod, "setup") || IsSidecar(nil, "log") || !IsInit(pod, "setup") || IsInit(pod, "web") {
		t.Error("IsSidecar or IsInit")
	}
}

func TestActionTargets(t *testing.T) {
	for _, k := range []ActionKind{ActBegin, ActUpdate, ActDelete, ActFinish, ActRemember, ActForget} {
		if k.Beside() || (Action{Kind: k}).Target() != string(k) {
			t.Errorf("%s", k)
		}
	}
	for k, want := range map[ActionKind]string{
		ActEnsureImage: "image/c", ActCreateSandbox: "sandbox", ActStartContainer: "start/c",
		ActSignal: "signal/i", ActKill: "kill/i", ActRemove: "remove/i",
	} {
		if got := (Action{Kind: k, Container: "c", ID: "i"}).Target(); got != want || !k.Beside() {
			t.Errorf("%s: %s", k, got)
		}
	}
}
