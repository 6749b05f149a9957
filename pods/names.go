package pods

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ClusterDomain is the domain of names of pods with a subdomain.
const ClusterDomain = "cluster.local"

const (
	maxHostname = 63 // a DNS label
	maxUTSName  = 64 // what the kernel takes
)

// Hostname returns the hostname for the sandbox of a pod; "" with host
// network, where the machine's name is seen. With setHostnameAsFQDN it is the
// full name, which [Admit] refuses when it is longer than the kernel takes.
func Hostname(pod *v1.Pod) string {
	if pod.Spec.HostNetwork {
		return ""
	}
	host, domain := hostAndDomain(pod)
	if domain != "" && pod.Spec.SetHostnameAsFQDN != nil && *pod.Spec.SetHostnameAsFQDN {
		return host + "." + domain
	}
	return host
}

// hostAndDomain returns the short name of a pod, and its domain if it has one.
func hostAndDomain(pod *v1.Pod) (host, domain string) {
	if o := pod.Spec.HostnameOverride; o != nil && *o != "" {
		return truncateHost(*o), ""
	}
	host = pod.Name
	if pod.Spec.Hostname != "" {
		host = pod.Spec.Hostname
	}
	if pod.Spec.Subdomain != "" {
		domain = fmt.Sprintf("%s.%s.svc.%s", pod.Spec.Subdomain, pod.Namespace, ClusterDomain)
	}
	return truncateHost(host), domain
}

// truncateHost cuts a name to a DNS label that does not end in - or a dot.
func truncateHost(name string) string {
	if len(name) > maxHostname {
		name = name[:maxHostname]
	}
	return strings.TrimRight(name, "-.")
}

// HostsFile returns the text of /etc/hosts for the containers of a pod with
// the given addresses. nodeHosts is the machine's own file, which pods on the
// host network see.
func HostsFile(pod *v1.Pod, ips []string, nodeHosts string) string {
	var b strings.Builder
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		b.WriteString(nodeHosts)
		if nodeHosts != "" && !strings.HasSuffix(nodeHosts, "\n") {
			b.WriteByte('\n')
		}
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n")
		b.WriteString("127.0.0.1\tlocalhost\n")
		b.WriteString("::1\tlocalhost ip6-localhost ip6-loopback\n")
		b.WriteString("fe00::0\tip6-localnet\n")
		b.WriteString("fe00::0\tip6-mcastprefix\n")
		b.WriteString("fe00::1\tip6-allnodes\n")
		b.WriteString("fe00::2\tip6-allrouters\n")
		host, domain := hostAndDomain(pod)
		for _, ip := range ips {
			if domain != "" {
				fmt.Fprintf(&b, "%s\t%s.%s\t%s\n", ip, host, domain, host)
			} else {
				fmt.Fprintf(&b, "%s\t%s\n", ip, host)
			}
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, a := range pod.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
		}
	}
	return b.String()
}
