package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// gonePrefix marks a pod directory that is being erased.
const gonePrefix = ".gone-"

const instanceFile = "instance.json"

// PodDir is the directory of the instance with this UID. It exists once
// PutInstance has been called. It panics on a UID that could leave the pods
// directory; see [ValidUID] for one that comes from outside.
func (s *Store) PodDir(uid string) string {
	if !ValidUID(uid) {
		panic(fmt.Sprintf("store: bad pod uid %q", uid))
	}
	return s.Path("pods", uid)
}

// ValidUID reports whether uid can name a pod directory: 1 to 128 letters,
// digits and "-_.", not starting with a dot.
func ValidUID(uid string) bool {
	if uid == "" || len(uid) > 128 || uid[0] == '.' {
		return false
	}
	for i := 0; i < len(uid); i++ {
		if !plain(uid[i]) {
			return false
		}
	}
	return true
}

// Pods lists the UIDs that have a directory, sorted. One without a readable
// instance.json is in the list: what it holds must be cleaned up as well.
func (s *Store) Pods() ([]string, error) {
	entries, err := os.ReadDir(s.Path("pods"))
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var uids []string
	for _, e := range entries {
		if e.IsDir() && ValidUID(e.Name()) {
			uids = append(uids, e.Name())
		}
	}
	return uids, nil
}

// PutInstance makes v the instance.json of a pod, durably, and the directory
// with it when it is not there.
func (s *Store) PutInstance(uid string, v any) error {
	dir := s.PodDir(uid)
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode instance %s: %w", uid, err)
	}
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := s.disk.syncDir(s.Path("pods")); err != nil {
			return fmt.Errorf("make pod directory: %w", err)
		}
	case !os.IsExist(err):
		return fmt.Errorf("make pod directory: %w", err)
	}
	return replace(s.disk, filepath.Join(dir, instanceFile), append(data, '\n'))
}

// GetInstance reads the instance.json of a pod into v: [ErrNotFound] when there
// is none, [CorruptError] when it cannot be read.
func (s *Store) GetInstance(uid string, v any) error {
	path := filepath.Join(s.PodDir(uid), instanceFile)
	data, err := readBounded(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("read %s: %w", path, ErrNotFound)
	case err != nil && shortage(err):
		return fmt.Errorf("read %s: %w", path, err)
	case err == nil:
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return s.quarantine(path, err)
	}
	return nil
}

// ErasePod removes the directory of a pod with all that is in it. It refuses,
// with a [MountedError], while something is mounted in there: what is mounted
// is not islet's to delete. A UID without a directory is no error.
func (s *Store) ErasePod(uid string) error {
	dir := s.PodDir(uid)
	if !exists(dir) {
		return nil
	}
	if err := refuseMounts(dir); err != nil {
		return err
	}
	// The rename makes the end of the instance one step: a crash after it
	// leaves something to sweep, never half an instance.
	gone := s.Path("pods", gonePrefix+uid)
	if exists(gone) {
		if err := s.sweep(gone); err != nil {
			return err
		}
	}
	if err := s.disk.rename(dir, gone); err != nil {
		return fmt.Errorf("erase pod %s: %w", uid, err)
	}
	if err := s.disk.syncDir(s.Path("pods")); err != nil {
		return fmt.Errorf("erase pod %s: %w", uid, err)
	}
	return s.sweep(gone)
}

func (s *Store) sweep(dir string) error {
	if err := refuseMounts(dir); err != nil {
		return err
	}
	if err := s.disk.removeAll(dir); err != nil {
		return fmt.Errorf("erase pod: %w", err)
	}
	return nil
}

// cleanPods finishes what a crash interrupted in the pods directory.
func (s *Store) cleanPods() error {
	entries, err := os.ReadDir(s.Path("pods"))
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for _, e := range entries {
		path := s.Path("pods", e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), gonePrefix):
			// What is mounted there stays until a later start finds it free.
			var mounted *MountedError
			if err := s.sweep(path); err != nil && !errors.As(err, &mounted) {
				return err
			}
		case ValidUID(e.Name()):
			if err := removeTemps(s.disk, path); err != nil {
				return err
			}
		}
	}
	return nil
}
