package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/docker/docker/client"

	"github.com/islet-run/islet/pods"
)

// callError is the failure of a call: what was tried and the engine's words.
// It matches pods.ErrEngineAway when the engine gave no answer, and otherwise
// the classes of package errdefs that the client assigns.
type callError struct {
	call string
	err  error
	away bool
}

func (e *callError) Error() string { return e.call + ": " + words(e.err) }

func (e *callError) Unwrap() []error {
	if e.away {
		return []error{e.err, pods.ErrEngineAway}
	}
	return []error{e.err}
}

// failed wraps the error of a call; call reads "verb noun". nil stays nil.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return &callError{call: call, err: err, away: isAway(err)}
}

// engineError is failed with a waiting reason.
func engineError(reason, call string, err error) error {
	return &pods.EngineError{Reason: reason, Err: failed(call, err)}
}

// words is what the engine said, without the client's preamble.
func words(err error) string {
	text := strings.TrimSpace(err.Error())
	return strings.TrimPrefix(text, "Error response from daemon: ")
}

// isAway reports whether the request got no answer. A context that ended says
// nothing about the engine.
func isAway(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if client.IsErrConnectionFailed(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	var operation *net.OpError
	return errors.As(err, &operation) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
