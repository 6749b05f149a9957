package pods

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// embeddedDNS is where the engine answers on a user-defined network: it knows
// the other pods and asks the machine's servers for the rest.
const embeddedDNS = "127.0.0.11"

// Limits of resolvers, as the kubelet applies them.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
	maxSearchLen   = 253
)

// ResolvConf returns the text of /etc/resolv.conf for the containers of a pod.
// host is the machine's own file.
//
// There is no cluster DNS: ClusterFirst asks the engine's resolver on the
// islet network, with the machine's search list; a pod on the host network and
// Default get the machine's settings; None only what dnsConfig says. dnsConfig
// is merged into all of them.
func ResolvConf(pod *v1.Pod, host string) string {
	machine := parseResolv(host)
	var r resolv
	switch {
	case pod.Spec.DNSPolicy == v1.DNSNone:
	case pod.Spec.DNSPolicy == v1.DNSDefault || pod.Spec.HostNetwork:
		if pod.Spec.DNSConfig == nil {
			return host
		}
		r = machine
	default:
		r = resolv{nameservers: []string{embeddedDNS}, searches: machine.searches, options: []option{{"ndots", "0"}}}
	}
	if c := pod.Spec.DNSConfig; c != nil {
		r.merge(c)
	}
	return r.String()
}

type option struct{ name, value string }

type resolv struct {
	nameservers, searches []string
	options               []option
}

// parseResolv reads a resolv.conf: nameservers add up, the last search line
// and the last of an option count.
func parseResolv(text string) (r resolv) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") || strings.HasPrefix(f[0], ";") {
			continue
		}
		switch f[0] {
		case "nameserver":
			r.nameservers = append(r.nameservers, f[1])
		case "search":
			r.searches = nil
			for _, s := range f[1:] {
				if s != "." {
					s = strings.TrimSuffix(s, ".")
				}
				r.searches = append(r.searches, s)
			}
		case "options":
			for _, o := range f[1:] {
				name, value, _ := strings.Cut(o, ":")
				r.set(name, value)
			}
		}
	}
	return r
}

func (r *resolv) set(name, value string) {
	for i := range r.options {
		if r.options[i].name == name {
			r.options[i].value = value
			return
		}
	}
	r.options = append(r.options, option{name, value})
}

func (r *resolv) merge(c *v1.PodDNSConfig) {
	r.nameservers = append(r.nameservers[:len(r.nameservers):len(r.nameservers)], c.Nameservers...)
	r.searches = append(r.searches[:len(r.searches):len(r.searches)], c.Searches...)
	for _, o := range c.Options {
		value := ""
		if o.Value != nil {
			value = *o.Value
		}
		r.set(o.Name, value)
	}
}

// String writes the file, without duplicates and within the limits.
func (r resolv) String() string {
	var b strings.Builder
	for _, n := range firstOf(unique(r.nameservers), maxNameservers) {
		b.WriteString("nameserver " + n + "\n")
	}
	var kept []string
	chars := 0
	for _, s := range unique(r.searches) {
		if len(s) > maxSearchLen {
			continue
		}
		if len(kept) == maxSearches || chars+len(s) > maxSearchChars {
			break
		}
		chars += len(s) + 1
		kept = append(kept, s)
	}
	if len(kept) > 0 {
		b.WriteString("search " + strings.Join(kept, " ") + "\n")
	}
	if len(r.options) > 0 {
		b.WriteString("options")
		for _, o := range r.options {
			b.WriteString(" " + o.name)
			if o.value != "" {
				b.WriteString(":" + o.value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func unique(list []string) (kept []string) {
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			kept = append(kept, s)
		}
	}
	return kept
}

func firstOf(list []string, n int) []string { return list[:min(n, len(list))] }
