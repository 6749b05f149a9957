package syncer

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

const (
	hostsTarget  = "/etc/hosts"
	resolvTarget = "/etc/resolv.conf"
)

// podFiles writes the files that islet puts into every container and returns
// their mounts: hosts, resolv.conf and the termination log. A volumeMount of
// the container at the same place wins, as with the kubelet.
func (s *Syncer) podFiles(dir string, req *pods.ContainerRequest, ips []string) ([]pods.Mount, error) {
	taken := map[string]bool{}
	for _, m := range req.Mounts {
		taken[m.ContainerPath] = true
	}
	var mounts []pods.Mount
	add := func(target, path string, text string, mode os.FileMode) error {
		if taken[target] {
			return nil
		}
		if err := writeInPlace(path, text, mode); err != nil {
			return fmt.Errorf("write %s of the pod: %w", target, err)
		}
		mounts = append(mounts, pods.Mount{HostPath: path, ContainerPath: target})
		return nil
	}
	if err := add(hostsTarget, filepath.Join(dir, "etc-hosts"), s.hosts(req.Pod, ips), 0o644); err != nil {
		return nil, err
	}
	if err := add(resolvTarget, filepath.Join(dir, "resolv.conf"), s.resolvConf(req.Pod), 0o644); err != nil {
		return nil, err
	}
	if target := req.Container.TerminationMessagePath; target != "" {
		logDir := filepath.Join(dir, "containers", req.Container.Name)
		if err := os.MkdirAll(logDir, 0o700); err != nil {
			return nil, fmt.Errorf("make termination log directory: %w", err)
		}
		// Any user of the container may write it.
		err := add(filepath.Join("/", target), filepath.Join(logDir, strconv.Itoa(req.Attempt)), "", 0o666)
		if err != nil {
			return nil, err
		}
	}
	return mounts, nil
}

func (s *Syncer) hosts(pod *v1.Pod, ips []string) string {
	return pods.HostsFile(pod, ips, readOrEmpty(s.HostsPath))
}

func (s *Syncer) resolvConf(pod *v1.Pod) string {
	return pods.ResolvConf(pod, readOrEmpty(s.ResolvConfPath))
}

// readOrEmpty reads a file of the machine that a pod can do without.
func readOrEmpty(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// writeInPlace truncates and writes: the file is bind-mounted into containers,
// and a rename would leave them with the old one. A file that says the same
// already is left alone.
func writeInPlace(path, text string, mode os.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}
