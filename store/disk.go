package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// disk is every step by which the store changes what is on the disk, so that a
// test can fail, or stop, after any one of them.
type disk interface {
	// create makes a new file; it fails when the name is taken.
	create(path string) (diskFile, error)
	rename(from, to string) error
	remove(path string) error
	removeAll(path string) error
	syncDir(path string) error
	// syncAll flushes the whole file system that holds path.
	syncAll(path string) error
}

type diskFile interface {
	io.WriteCloser
	Sync() error
}

type realDisk struct{}

func (realDisk) create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (realDisk) rename(from, to string) error { return os.Rename(from, to) }
func (realDisk) remove(path string) error     { return os.Remove(path) }
func (realDisk) removeAll(path string) error  { return os.RemoveAll(path) }

func (realDisk) syncDir(path string) error {
	return onDir(path, func(d *os.File) error { return d.Sync() })
}

func (realDisk) syncAll(path string) error {
	return onDir(path, func(d *os.File) error { return unix.Syncfs(int(d.Fd())) })
}

func onDir(path string, do func(*os.File) error) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(do(d), d.Close())
}

// tempPrefix marks a file that is not yet, or will never be, a value.
const tempPrefix = ".tmp-"

// writeTemp writes data to a new temporary file in dir and returns its path.
func writeTemp(d disk, dir string, data []byte, flush bool) (string, error) {
	path := filepath.Join(dir, tempPrefix+randomHex(8))
	f, err := d.create(path)
	if err != nil {
		return "", cause(err)
	}
	_, err = f.Write(data)
	if err == nil && flush {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(cause(err), d.remove(path))
	}
	return path, nil
}

// cause takes the paths off an error of package os: those of temporary files
// are different each time, and say nothing to anybody.
func cause(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// replace makes data the content of path, durably and as a whole.
func replace(d disk, path string, data []byte) error {
	dir := filepath.Dir(path)
	temp, err := writeTemp(d, dir, data, true)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := d.rename(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(cause(err), d.remove(temp)))
	}
	if err := d.syncDir(dir); err != nil {
		return fmt.Errorf("flush %s: %w", dir, err)
	}
	return nil
}

// removeTemps removes what an interrupted write left in dir.
func removeTemps(d disk, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if err := d.remove(filepath.Join(dir, e.Name())); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}
