package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// maxSocketPath is the longest path that fits a socket address (sun_path less
// its final NUL).
const maxSocketPath = 107

// ErrSocketInUse is matched by the error of [ListenUnix] when another islet
// answers on the socket.
var ErrSocketInUse = errors.New("another islet answers there")

// ListenUnix listens on a unix socket at path, whose directory must exist. The
// name appears with mode 0600 and ready to be connected to, or not at all. A
// socket that nobody answers is replaced; one that is answered is
// [ErrSocketInUse]; anything else under that name is left alone and an error.
// Two callers at once are kept apart by the lock of the state directory, not
// here. Close removes the name unless it is someone else's by then.
func ListenUnix(path string) (net.Listener, error) {
	if err := claimable(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Made in a directory that only root enters, so that nobody can connect
	// between bind and chmod.
	nursery := path + ".new"
	if err := os.RemoveAll(nursery); err != nil {
		return nil, fmt.Errorf("clear place for socket: %w", err)
	}
	if err := os.Mkdir(nursery, 0o700); err != nil {
		return nil, fmt.Errorf("make place for socket: %w", err)
	}
	defer os.RemoveAll(nursery)
	born := filepath.Join(nursery, "s")
	listener, err := bindUnix(born)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	info, err := settle(born, path)
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("put socket into place: %w", err)
	}
	return &unixListener{Listener: listener, path: path, info: info}, nil
}

// settle gives a new socket its mode and then its name.
func settle(born, path string) (os.FileInfo, error) {
	if err := os.Chmod(born, 0o600); err != nil {
		return nil, err
	}
	info, err := os.Lstat(born)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(born, path)
}

// claimable returns nil when path is free or holds a socket nobody answers.
func claimable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("there is a %s that is no socket; move it away", describeMode(info.Mode()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := Dial(ctx, path)
	switch {
	case err == nil:
		_ = conn.Close()
		return ErrSocketInUse
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%w (it is busy)", ErrSocketInUse)
	}
	return fmt.Errorf("see whether it is answered: %w", err)
}

func describeMode(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode.IsRegular():
		return "file"
	}
	return "special file"
}

func bindUnix(path string) (*net.UnixListener, error) {
	address, release, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, bareCause(err)
	}
	listener.SetUnlinkOnClose(false) // it would remove the name it was born with
	return listener, nil
}

// Dial connects to the unix socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	address, release, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", address)
	if err != nil {
		return nil, bareCause(err)
	}
	return conn, nil
}

// socketAddress returns a name for path that fits a socket address: a path too
// long is reached through a descriptor of its directory. release ends that
// name and must be called after bind or connect.
func socketAddress(path string) (address string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	address = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return address, func() { _ = dir.Close() }, nil
}

// bareCause drops the "dial unix PATH:" that net puts before the cause: callers
// name the path themselves, and it may be a name of socketAddress.
func bareCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// unixListener removes its name when closed.
type unixListener struct {
	net.Listener
	path string
	info os.FileInfo
	once sync.Once
}

func (l *unixListener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() {
		if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.info) {
			_ = os.Remove(l.path)
		}
	})
	return err
}
