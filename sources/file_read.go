package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// maxManifest is one byte more than manifests.Decode accepts, so that it is
// Decode that says so.
const maxManifest = 10 << 20

// stamp is what tells, without opening it, that a file is as it was.
type stamp struct {
	Dev   uint64      `json:"dev"`
	Ino   uint64      `json:"ino"`
	Size  int64       `json:"size"`
	Mtime int64       `json:"mtime"` // nanoseconds since 1970
	Ctime int64       `json:"ctime"`
	Mode  fs.FileMode `json:"mode"`
}

// sameFile reports whether both stamps are of one file that at most was renamed
// or had its permissions changed in between. The inode alone does not say so:
// file systems give the number of a deleted file to the next new one.
func (s stamp) sameFile(o stamp) bool {
	return s.Ino != 0 && s.Dev == o.Dev && s.Ino == o.Ino && s.Size == o.Size && s.Mtime == o.Mtime
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano(), Mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Dev, s.Ino = st.Dev, st.Ino
		s.Ctime = time.Unix(st.Ctim.Unix()).UnixNano()
	}
	return s
}

// clockTick is longer than the step of any file system's time stamps. A file
// changed less than that before it was read may change again and keep its
// stamp.
const clockTick = 50 * time.Millisecond

func (s stamp) settled(now time.Time) bool {
	return now.Sub(time.Unix(0, s.Ctime)) > clockTick
}

// errVanished says that the file has gone since the directory was listed.
var errVanished = errors.New("vanished")

// statFile follows links and returns the stamp of a regular file that may be
// read; errVanished; or a *fault.
func statFile(path string) (stamp, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return stamp{}, errVanished
		}
		return stamp{}, &fault{problem{reasonUnreadable, "link to something that is not there"}}
	case err != nil:
		return stamp{}, &fault{problem{reasonUnreadable, plainCause(err).Error()}}
	}
	return stampOf(info), checkFile(info)
}

// fault is a problem on its way up.
type fault struct{ problem }

func (f *fault) Error() string { return f.message }

func checkFile(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return &fault{problem{reasonNotAFile, "is " + typeName(info.Mode()) + ", not a file; move it away"}}
	case info.Mode().Perm()&0o444 == 0:
		// root could read it all the same, but whoever did this meant it not
		// to be read.
		return &fault{problem{reasonUnreadable, fmt.Sprintf("has no read permission (mode %#o)", info.Mode().Perm())}}
	}
	return nil
}

// readFile reads a regular file, at most maxManifest bytes of it. It never
// waits for a FIFO's writer, nor opens a terminal as its own. It returns the
// stamp of what it read, errVanished or a *fault.
func readFile(path string) ([]byte, stamp, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stamp{}, errVanished
	}
	if err != nil {
		return nil, stamp{}, &fault{problem{reasonUnreadable, plainCause(err).Error()}}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, &fault{problem{reasonUnreadable, plainCause(err).Error()}}
	}
	if err := checkFile(info); err != nil {
		return nil, stamp{}, err
	}
	data, err := readAll(f, info.Size())
	if err != nil {
		return nil, stamp{}, &fault{problem{reasonUnreadable, plainCause(err).Error()}}
	}
	return data, stampOf(info), nil
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	// One byte more than the size, so that the end is seen without growing.
	buf := make([]byte, 0, min(size, maxManifest)+1)
	for len(buf) < maxManifest {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), maxManifest)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
