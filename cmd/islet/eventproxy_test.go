package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fate is what becomes of the event stream on its way through an eventProxy.
type fate int

const (
	streamWhole  fate = iota // it passes
	streamCut                // it breaks, and cannot be had again
	streamSilent             // it stays open and says nothing
)

// eventProxy stands between islet and an engine and meddles with the event
// stream alone.
type eventProxy struct {
	host string

	mu      sync.Mutex
	fate    fate
	streams map[*context.CancelFunc]bool
}

func newEventProxy(t *testing.T, engine string) *eventProxy {
	t.Helper()
	// Not t.TempDir: a socket's path may have about 100 characters.
	dir, err := os.MkdirTemp("", "islet-proxy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p := &eventProxy{host: "unix://" + path, streams: map[*context.CancelFunc]bool{}}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(engine, "unix://"))
	}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport, proxy.FlushInterval = transport, -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			p.events(proxy, w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return p
}

// set decides on the streams that are open and on those to come.
func (p *eventProxy) set(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = f
	if f == streamSilent {
		return
	}
	for end := range p.streams {
		(*end)()
	}
}

func (p *eventProxy) now() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fate
}

func (p *eventProxy) events(next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	p.mu.Lock()
	if p.fate == streamCut {
		p.mu.Unlock()
		panic(http.ErrAbortHandler) // closes the connection
	}
	p.streams[&end] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.streams, &end)
		p.mu.Unlock()
	}()
	next.ServeHTTP(&eventWriter{ResponseWriter: w, p: p}, r.WithContext(ctx))
}

// eventWriter swallows what is written while the stream is to be silent.
type eventWriter struct {
	http.ResponseWriter
	p *eventProxy
}

func (w *eventWriter) Write(b []byte) (int, error) {
	if w.p.now() == streamSilent {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets the proxy flush.
func (w *eventWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
