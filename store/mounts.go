package store

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MountedError says that something is mounted where islet wants to delete.
type MountedError struct {
	Dir    string
	Mounts []string
}

func (e *MountedError) Error() string {
	return fmt.Sprintf("erase %s: still mounted: %s; unmount it first", e.Dir, strings.Join(e.Mounts, ", "))
}

// refuseMounts returns a MountedError when dir, or something below it, is a
// mount point in this mount namespace.
func refuseMounts(dir string) error {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("look for mounts: %w", err)
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("look for mounts: %w", err)
	}
	below, err := mountsBelow(bytes.NewReader(data), resolved)
	if err != nil {
		return fmt.Errorf("look for mounts: %w", err)
	}
	if len(below) > 0 {
		return &MountedError{Dir: dir, Mounts: below}
	}
	return nil
}

// mountsBelow reads the format of proc_pid_mountinfo(5): the mount point is
// the fifth field.
func mountsBelow(mountinfo io.Reader, dir string) ([]string, error) {
	var below []string
	lines := bufio.NewScanner(mountinfo)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		point := unescapeOctal(fields[4])
		if point == dir || strings.HasPrefix(point, strings.TrimSuffix(dir, "/")+"/") {
			below = append(below, point)
		}
	}
	return below, lines.Err()
}

// unescapeOctal undoes \040 and its like, which the kernel writes for blanks,
// newlines and backslashes.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1:i+4]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '7' {
			return false
		}
	}
	return true
}
