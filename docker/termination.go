package docker

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// Bounds of a termination message, as the kubelet has them.
const (
	messageBytes = 4096 // of the message file, its end
	logLines     = 80   // of the log, when the log stands in
	logBytes     = 2048
)

// logTimeout bounds reading the end of a log that stands in for a message.
const logTimeout = 5 * time.Second

// terminationMessage reads what an ended container left as its message: the end
// of the file it was given for that or, when its policy says so and it failed
// without one, the end of its log. complete is false when another look may tell
// more.
func (e *Engine) terminationMessage(ctx context.Context, who identity, c pods.Container, tty bool) (text string, complete bool) {
	if who.terminationPath != "" {
		if text = readTail(who.terminationPath, messageBytes); text != "" {
			return text, true
		}
	}
	fallback := who.terminationPolicy == string(v1.TerminationMessageFallbackToLogsOnError)
	if !fallback || c.ExitCode == 0 || c.Reason == pods.ReasonContainerCannotRun {
		return "", true
	}
	text, err := e.logTail(ctx, c.ID, tty)
	if err != nil {
		e.log.Debug().Err(err).Str("pod", who.key.String()).Str("container", who.container).Msg("no termination message")
		return "", false
	}
	return text, true
}

// readTail returns the last n bytes of a regular file, "" when there is none.
func readTail(path string, n int64) string {
	// The file was bound into the container, and what is there now may be
	// anything: neither follow a link nor wait for a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if _, err := f.Seek(max(info.Size()-n, 0), io.SeekStart); err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, n))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(data), "")
}

// logTail returns the end of a log. With a terminal the log has no frames.
func (e *Engine) logTail(ctx context.Context, id string, tty bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := e.api().ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(logLines)})
	if err != nil {
		return "", failed("read log", err)
	}
	defer stream.Close()
	end := &tail{limit: logBytes}
	if tty {
		_, err = io.Copy(end, stream)
	} else {
		_, err = stdcopy.StdCopy(end, end, stream)
	}
	if err != nil {
		return "", failed("read log", err)
	}
	return strings.ToValidUTF8(string(end.data), ""), nil
}

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	limit int
	data  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if extra := len(t.data) - t.limit; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

// joinMessages appends what the container left to what the engine said.
func joinMessages(engine, left string) string {
	if engine == "" {
		return left
	}
	if left == "" {
		return engine
	}
	return engine + ": " + left
}
