package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what is known of the machine. Sizes are bytes.
type Machine struct {
	Name        string   // node name: lower-case host name or the override
	IPs         []string // addresses that pods on the host network show; primary first
	MemoryBytes int64
	CPUs        int
	BootID      string
}

// Inspect reads the machine. hostnameOverride and nodeIPs replace what would be
// found when they are not empty.
func Inspect(hostnameOverride string, nodeIPs []string) (Machine, error) {
	name, err := nodeName(hostnameOverride)
	if err != nil {
		return Machine{}, err
	}
	if len(nodeIPs) == 0 {
		nodeIPs = addresses()
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return Machine{}, fmt.Errorf("read memory size: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Machine{}, fmt.Errorf("read boot id: %w", err)
	}
	return Machine{
		Name:        name,
		IPs:         nodeIPs,
		MemoryBytes: int64(info.Totalram) * int64(info.Unit),
		CPUs:        runtime.NumCPU(),
		BootID:      strings.TrimSpace(string(boot)),
	}, nil
}

// nodeName is the override or the host name, trimmed and in lower case as the
// kubelet has it. (component-helpers has the same three lines, and brings
// client-go along.)
func nodeName(override string) (string, error) {
	name := override
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("read host name: %w", err)
		}
		name = host
	}
	if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
		return "", errors.New("read host name: it is empty; set --hostname-override")
	}
	return name, nil
}

// addresses returns one address per family, of the interface that packets to
// the outside would leave by. A machine without any network still runs pods: it
// then has only its loopback address.
func addresses() []string {
	var ips []string
	// Connecting a UDP socket asks the routing table and sends nothing; the
	// destinations are documentation addresses (RFC 5737, RFC 3849).
	for _, dst := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} {
		conn, err := net.Dial("udp", dst)
		if err != nil {
			continue
		}
		if a, ok := conn.LocalAddr().(*net.UDPAddr); ok && !a.IP.IsLoopback() && !a.IP.IsLinkLocalUnicast() {
			ips = append(ips, a.IP.String())
		}
		_ = conn.Close()
	}
	if len(ips) == 0 {
		ips = []string{"127.0.0.1"}
	}
	return ips
}
