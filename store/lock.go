package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedError says that another islet uses the root-dir.
type LockedError struct {
	Root string
	PID  int // 0 when the holder has not written it
}

func (e *LockedError) Error() string {
	who := "another islet"
	if e.PID > 0 {
		who = fmt.Sprintf("the islet with pid %d", e.PID)
	}
	return fmt.Sprintf("lock root-dir %s: in use by %s; stop it or choose another --root-dir", e.Root, who)
}

// takeLock takes the lock of root for as long as the returned file is open.
// The kernel gives it back when the process ends, however it ends.
func takeLock(root string) (*os.File, error) {
	path := filepath.Join(root, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock root-dir %s: %w", root, err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := &LockedError{Root: root, PID: readPID(f)}
		return nil, errors.Join(holder, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock root-dir %s: %w", root, err), f.Close())
	}
	// The pid is a help for people; a full disk must not keep islet from
	// looking after what runs.
	_ = writePID(f)
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(r io.ReaderAt) int {
	b := make([]byte, 20)
	n, _ := r.ReadAt(b, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
