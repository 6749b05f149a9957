package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/islet-run/islet/httpapi"
	"github.com/rs/zerolog"
)

// serveConfig answers cfg in a new root-dir until the test ends.
func serveConfig(t *testing.T, cfg httpapi.Config) *client {
	t.Helper()
	root := t.TempDir()
	listener, err := httpapi.ListenUnix(filepath.Join(root, socketName))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = httpapi.Serve(ctx, listener, httpapi.Handler(cfg, zerolog.Nop()), zerolog.Nop()) })
	t.Cleanup(func() { cancel(); serving.Wait() })
	return newClient(root)
}

func TestClientDown(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"good", nil, ""},
		{"failed", errors.New("engine does not answer"), "down: engine does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serveConfig(t, httpapi.Config{Down: func(_ context.Context, report func(string)) error {
				report("one")
				report("two")
				return tt.err
			}})
			var lines []string
			err := c.Down(t.Context(), func(line string) { lines = append(lines, line) })
			if diff := cmp.Diff([]string{"one", "two"}, lines); diff != "" {
				t.Error(diff)
			}
			if got := errorText(err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestClientDownThatIsCut(t *testing.T) {
	c := serveConfig(t, httpapi.Config{Down: func(_ context.Context, report func(string)) error {
		report("one")
		panic("islet dies")
	}})
	err := c.Down(t.Context(), func(string) {})
	if err == nil || errors.Is(err, errUnreachable) {
		t.Fatalf("got %v", err)
	}
}

// A caller that stops waiting must be told so, and not that islet is away:
// down would go on without it otherwise.
func TestClientGivesUp(t *testing.T) {
	begun := make(chan struct{})
	c := serveConfig(t, httpapi.Config{Down: func(ctx context.Context, _ func(string)) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	err := c.Down(ctx, func(string) {})
	if !errors.Is(err, context.Canceled) || errors.Is(err, errUnreachable) {
		t.Fatalf("got %v", err)
	}
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancelLate()
	if _, err := c.Pods(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestClientRefusals(t *testing.T) {
	c := serveConfig(t, httpapi.Config{Why: func(string, string) (httpapi.Why, bool) { return httpapi.Why{}, false }})
	if _, err := c.Pods(t.Context()); err == nil || errors.Is(err, errUnreachable) || isNotFound(err) || !strings.Contains(err.Error(), "not served") {
		t.Errorf("501: %v", err)
	}
	if _, err := c.Why(t.Context(), podName{"default", "web"}); !isNotFound(err) {
		t.Errorf("404: %v", err)
	}
	if ready, err := c.Ready(t.Context()); err != nil || ready != (readiness{}) {
		t.Errorf("an islet that does not tell its readiness: %+v, %v", ready, err)
	}
}

// Something else may listen where islet should.
func TestClientOfStranger(t *testing.T) {
	root := t.TempDir()
	listener, err := httpapi.ListenUnix(filepath.Join(root, socketName))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte("SSH-2.0-OpenSSH\r\n"))
			}(conn)
		}
	}()
	_, err = newClient(root).Pods(t.Context())
	_ = listener.Close()
	<-done
	if !errors.Is(err, errUnreachable) || !strings.Contains(err.Error(), socketName) {
		t.Fatalf("got %v", err)
	}
}
