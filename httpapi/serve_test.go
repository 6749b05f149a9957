package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
)

const patience = 10 * time.Second

// serve runs cfg on a socket until the test ends and returns a client of it.
func serve(t *testing.T, cfg Config) (client *http.Client, stop func() error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "islet.sock")
	listener, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, Handler(cfg, zerolog.Nop()), zerolog.Nop()) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, path) }}
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() {
			cancel()
			transport.CloseIdleConnections()
			result = <-done
		})
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return &http.Client{Transport: transport, Timeout: patience}, stop
}

func TestSocketServesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "islet.sock")
	listener, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, want a socket of 0600", info.Mode())
	}
	if _, err := os.Lstat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left something beside the socket: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Serve(ctx, listener, Handler(filled(), zerolog.Nop()), zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("socket is still there: %v", err)
	}
}

func TestSocketOfLiveIsletIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "islet.sock")
	listener, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := ListenUnix(path); !errors.Is(err, ErrSocketInUse) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, want ErrSocketInUse naming %s", err, path)
	}
}

func TestSocketOfDeadIsletIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "islet.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	listener, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestSocketLeavesOthersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "islet.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Fatalf("got %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "precious" {
		t.Fatal("the file was changed")
	}
}

func TestCloseKeepsSuccessorsSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "islet.sock")
	first, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	second, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_ = first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the successor's socket is gone: %v", err)
	}
}

func TestSocketPathMayBeLong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "islet.sock")
	if _, err := Dial(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("dial of nothing: %v", err)
	}
	listener, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if _, err := ListenUnix(path); !errors.Is(err, ErrSocketInUse) {
		t.Fatalf("second listen: %v", err)
	}
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	client, stop := serve(t, Config{Pods: func() *v1.PodList { close(entered); <-leave; return nil }})
	answer := make(chan error, 1)
	go func() {
		response, err := client.Get("http://islet/pods")
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		answer <- err
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(leave)
	if err := <-answer; err != nil {
		t.Errorf("running request was cut: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestBrokenListenerIsAnError(t *testing.T) {
	listener, err := ListenUnix(filepath.Join(t.TempDir(), "islet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := Serve(t.Context(), listener, http.NotFoundHandler(), zerolog.Nop()); err == nil {
		t.Fatal("no error")
	}
}

func TestDownStreams(t *testing.T) {
	seen := make(chan struct{})
	client, _ := serve(t, Config{Down: func(_ context.Context, report func(string)) error {
		report("stopping default/web\nwith a second line")
		<-seen // the first line must reach the client while down still works
		report("gone")
		return nil
	}})
	response, err := client.Post("http://islet/down", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	if !lines.Scan() || lines.Text() != "stopping default/web; with a second line" {
		t.Fatalf("first line %q, %v", lines.Text(), lines.Err())
	}
	close(seen)
	if !lines.Scan() || lines.Text() != "gone" || lines.Scan() {
		t.Fatalf("last line %q, %v", lines.Text(), lines.Err())
	}
	if got := response.Trailer.Get(ResultTrailer); got != ResultOK {
		t.Fatalf("result %q", got)
	}
}

func TestDownFailure(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		code       int
		trailer    string
	}{
		{"before a line", "", 500, ""},
		{"after a line", "stopping", 200, "failed: engine does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, _ := serve(t, Config{Down: func(_ context.Context, report func(string)) error {
				if tt.line != "" {
					report(tt.line)
				}
				return errors.New("engine does not answer")
			}})
			response, err := client.Post("http://islet/down", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.code || response.Trailer.Get(ResultTrailer) != tt.trailer {
				t.Fatalf("got %d, trailer %q", response.StatusCode, response.Trailer.Get(ResultTrailer))
			}
		})
	}
}

func TestDownSeesClientHangUp(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	client, _ := serve(t, Config{Down: func(ctx context.Context, report func(string)) error {
		report("stopping")
		close(begun)
		<-ctx.Done()
		report("nobody reads this")
		close(ended)
		return ctx.Err()
	}})
	response, err := client.Post("http://islet/down", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = response.Body.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("down was not told")
	}
}

func TestDownWithNothingToSay(t *testing.T) {
	var late func(string)
	client, _ := serve(t, Config{Down: func(_ context.Context, report func(string)) error { late = report; return nil }})
	response, err := client.Post("http://islet/down", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || string(text) != "nothing to stop\n" {
		t.Fatalf("%q, %v", text, err)
	}
	late("too late") // must be ignored and not touch an answer that is over
}

func TestServeHealth(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveHealth(ctx, taken.Addr().String(), 10*time.Millisecond, zerolog.New(&log))
	}()
	eventually(t, "a warning about the taken address", func() bool { return strings.Contains(log.String(), "--healthz-port") })
	_ = taken.Close()
	client := &http.Client{Timeout: time.Second}
	eventually(t, "health to be served once the address is free", func() bool {
		response, err := client.Get("http://" + taken.Addr().String() + "/healthz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == 200
	})
	client.CloseIdleConnections()
	cancel()
	<-done
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lockedBuffer is a bytes.Buffer for two goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
