package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotFound is returned for a name that has no value.
var ErrNotFound = errors.New("not found")

// CorruptError says that a file could not be read back and where it is now.
type CorruptError struct {
	File  string // where it was
	Moved string // where it is now; File when it could not be moved
	Err   error  // what is wrong with it
}

func (e *CorruptError) Error() string {
	if e.Moved == e.File {
		return fmt.Sprintf("read %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("read %s: %v (moved to %s)", e.File, e.Err, e.Moved)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Quarantined is what was found unreadable since Open, oldest first.
func (s *Store) Quarantined() []*CorruptError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.quarantined)
}

// quarantine moves a file out of the way and remembers it.
func (s *Store) quarantine(path string, cause error) *CorruptError {
	e := &CorruptError{File: path, Moved: path, Err: cause}
	if to, err := s.moveAside(path); err != nil {
		e.Err = errors.Join(cause, err)
	} else {
		e.Moved = to
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quarantined = append(s.quarantined, e)
	return e
}

func (s *Store) moveAside(path string) (string, error) {
	rel, err := filepath.Rel(s.root, path)
	if err != nil {
		return "", err
	}
	base := s.Path("quarantine", strings.ReplaceAll(rel, string(filepath.Separator), "_"))
	to := base
	// An earlier one of the same name is kept: it may be the better copy.
	for n := 1; exists(to); n++ {
		to = fmt.Sprintf("%s.%d", base, n)
	}
	if err := s.disk.rename(path, to); err != nil {
		return "", err
	}
	return to, s.disk.syncDir(filepath.Dir(path))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// shortage reports whether reading failed for want of something that has
// nothing to do with the file: moving it away would lose a good value.
func shortage(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR, unix.EAGAIN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
