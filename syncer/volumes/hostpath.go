package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"
)

// Modes of what DirectoryOrCreate and FileOrCreate make, as the kubelet's.
const (
	hostDirMode  = 0o755
	hostFileMode = 0o644
)

// checkHostPath enforces the type of a hostPath volume. The type "" checks
// nothing but that the path exists: an engine would otherwise refuse the mount
// with words of its own.
func checkHostPath(h *v1.HostPathVolumeSource) error {
	kind := v1.HostPathUnset
	if h.Type != nil {
		kind = *h.Type
	}
	switch kind {
	case v1.HostPathDirectoryOrCreate:
		if err := os.MkdirAll(h.Path, hostDirMode); err != nil {
			return fmt.Errorf("make hostPath directory: %w", err)
		}
		kind = v1.HostPathDirectory
	case v1.HostPathFileOrCreate:
		if err := createFile(h.Path); err != nil {
			return fmt.Errorf("make hostPath file: %w", err)
		}
		kind = v1.HostPathFile
	}
	info, err := os.Stat(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hostPath %s does not exist (type DirectoryOrCreate or FileOrCreate would make it)", h.Path)
	}
	if err != nil {
		return fmt.Errorf("check hostPath: %w", err)
	}
	if want, ok := hostPathChecks[kind]; ok && !want.is(info.Mode()) {
		return fmt.Errorf("hostPath %s is not %s (type %s)", h.Path, want.noun, kind)
	}
	return nil
}

// createFile makes an empty file unless something is there already; the
// parent directory is not made, as upstream documents for FileOrCreate.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, hostFileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

type modeCheck struct {
	noun string
	is   func(fs.FileMode) bool
}

var hostPathChecks = map[v1.HostPathType]modeCheck{
	v1.HostPathDirectory: {"a directory", fs.FileMode.IsDir},
	v1.HostPathFile:      {"a regular file", fs.FileMode.IsRegular},
	v1.HostPathSocket:    {"a socket", func(m fs.FileMode) bool { return m&fs.ModeSocket != 0 }},
	v1.HostPathCharDev:   {"a character device", func(m fs.FileMode) bool { return m&fs.ModeCharDevice != 0 }},
	v1.HostPathBlockDev:  {"a block device", func(m fs.FileMode) bool { return m&fs.ModeDevice != 0 && m&fs.ModeCharDevice == 0 }},
}
