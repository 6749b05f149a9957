package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// directories are made by Open. A directory may hold values; pods holds one
// directory per instance.
var directories = []string{
	"documents", "documents/file", "documents/url", "documents/push",
	"identities", "pods", "outcomes", "events", "claims", "pki", "quarantine",
}

// Store is an open root-dir. It holds the lock until Close.
type Store struct {
	root  string // absolute, links resolved
	disk  disk
	lock  *os.File
	key   []byte
	fresh bool

	flushAllFrom int // see the constant; less in tests

	mu          sync.Mutex
	owner       string
	quarantined []*CorruptError
}

// Open makes root a root-dir if it is none, takes its lock and removes what an
// interrupted write left behind. While another islet has the lock it returns a
// [LockedError]. Only one Store of a root can be open at a time, also within
// one process.
func Open(root string) (*Store, error) {
	return open(root, realDisk{})
}

func open(root string, d disk) (_ *Store, err error) {
	root, err = makeRoot(root)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(root)
	if err != nil {
		return nil, err
	}
	s := &Store{root: root, disk: d, lock: lock, flushAllFrom: flushAllFrom}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := s.makeDirectories(); err != nil {
		return nil, err
	}
	if err := s.clean(); err != nil {
		return nil, err
	}
	if s.owner, s.fresh, err = s.hexFile("owner", 16); err != nil {
		return nil, err
	}
	key, _, err := s.hexFile("key", 32)
	if err != nil {
		return nil, err
	}
	s.key, err = hex.DecodeString(key)
	return s, err
}

// makeRoot returns the absolute path of the root-dir, made and closed to
// others. It does not take over a directory that is open to others and full of
// things that islet did not put there: closing /tmp or /etc would be a
// disaster for the machine.
func makeRoot(root string) (string, error) {
	if root == "" {
		return "", errors.New("open root-dir: no path given")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("open root-dir: %w", err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", fmt.Errorf("make root-dir: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("open root-dir: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("open root-dir: %w", err)
	}
	if info.Mode().Perm() == 0o700 {
		return abs, nil
	}
	if err := checkOurs(abs); err != nil {
		return "", err
	}
	if err := os.Chmod(abs, 0o700); err != nil {
		return "", fmt.Errorf("close root-dir to others: %w", err)
	}
	return abs, nil
}

func checkOurs(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return fmt.Errorf("list root-dir: %w", err)
	}
	ours := append([]string{"lock", "owner", "key", "islet.sock", "lost+found"}, directories...)
	foreign := ""
	for _, e := range entries {
		switch {
		case e.Name() == "owner":
			return nil
		case !slices.Contains(ours, e.Name()):
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("open root-dir %s: it holds %q, which is not islet's, and is open to others; choose an empty directory or chmod it to 0700", root, foreign)
	}
	return nil
}

func (s *Store) makeDirectories() error {
	for _, dir := range directories {
		path := filepath.Join(s.root, dir)
		if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
			return fmt.Errorf("make root-dir: %w", err)
		}
	}
	return s.disk.syncDir(s.root)
}

func (s *Store) clean() error {
	for _, dir := range append([]string{"."}, directories...) {
		if err := removeTemps(s.disk, filepath.Join(s.root, dir)); err != nil {
			return err
		}
	}
	return s.cleanPods()
}

// hexFile reads a file of 2*n hex digits and makes it with random ones when it
// is not there, or cannot be one.
func (s *Store) hexFile(name string, n int) (value string, fresh bool, err error) {
	path := filepath.Join(s.root, name)
	data, err := os.ReadFile(path)
	if err == nil {
		if value = strings.TrimSpace(string(data)); isHex(value, 2*n) {
			return value, false, nil
		}
		s.quarantine(path, fmt.Errorf("not %d hex digits", 2*n))
	} else if !os.IsNotExist(err) {
		return "", false, fmt.Errorf("read %s: %w", name, err)
	}
	value = randomHex(n)
	return value, true, replace(s.disk, path, []byte(value+"\n"))
}

// Close gives the lock back. The store must not be used afterwards.
func (s *Store) Close() error { return s.lock.Close() }

// Held returns an error when the root-dir at its path is surely not the one
// that was opened: it was removed, moved away or replaced, and its lock keeps
// nobody out any more.
func (s *Store) Held() error {
	mine, err := s.lock.Stat()
	if err != nil {
		return nil // nothing is sure
	}
	there, err := os.Stat(s.Path("lock"))
	if err == nil && os.SameFile(mine, there) || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("keep root-dir %s: it is not this islet's any more: it was removed, moved away or replaced", s.root)
}

// Root is the absolute path of the root-dir, with links resolved.
func (s *Store) Root() string { return s.root }

// Path is the absolute path of something below the root-dir.
func (s *Store) Path(elem ...string) string {
	return filepath.Join(append([]string{s.root}, elem...)...)
}

// Owner is the id of this installation: 32 hex digits. Containers carry it as
// a label, and nothing without it is ever touched.
func (s *Store) Owner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// Fresh reports whether Open found no owner and made one: the root-dir is new,
// or what it held is lost.
func (s *Store) Fresh() bool { return s.fresh }

// SetOwner replaces the id of this installation: by one that --adopt-owner
// names, or by the one that containers of this root-dir carry after the file
// was lost.
func (s *Store) SetOwner(id string) error {
	if !isHex(id, 32) {
		return fmt.Errorf("set owner %q: must be 32 hex digits (0-9a-f)", id)
	}
	if err := replace(s.disk, s.Path("owner"), []byte(id+"\n")); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = id
	return nil
}

// KeyedDigest is a digest of text, in hex, that can be compared within this
// installation but says nothing about a guessed text to whoever does not have
// its key. The empty text has the empty digest.
func (s *Store) KeyedDigest(text string) string {
	if text == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))[:32]
}
