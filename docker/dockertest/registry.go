package dockertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry is an image registry on loopback, in the process of the test. The
// engine of this machine pulls from it without TLS, as from every registry on
// loopback; a private daemon, which has a network of its own, cannot.
type Registry struct {
	t      testing.TB
	server *httptest.Server
	serve  http.Handler

	mu       sync.Mutex
	user     string // "": everybody may pull
	password string
	fault    func(http.ResponseWriter, *http.Request) bool
	blobs    map[string][]byte // by digest
	seen     []string
}

// NewRegistry starts a registry that ends with the test; what the engine has
// pulled from it is then removed. Start it before what uses its images.
func NewRegistry(t testing.TB, api *client.Client) *Registry {
	t.Helper()
	r := &Registry{
		t: t, serve: registry.New(registry.Logger(log.New(io.Discard, "", 0))), blobs: map[string][]byte{},
	}
	r.server = httptest.NewServer(r)
	host := api.DaemonHost()
	t.Cleanup(func() {
		r.Close()
		r.forget(host)
	})
	return r
}

// Address is host and port.
func (r *Registry) Address() string { return r.server.Listener.Addr().String() }

// Close ends the registry: connections are refused from now on.
func (r *Registry) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// RequireLogin has the registry ask for a user and password; "" for nobody's.
func (r *Registry) RequireLogin(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.password = user, password
}

// SetFault has the function look at every request first; it returns true when
// it has answered. nil: no fault.
func (r *Registry) SetFault(fault func(http.ResponseWriter, *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

// Refuse answers every request with a status, in the form of a registry.
func Refuse(status int, code, message string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
		return true
	}
}

// Count returns how many requests had this method and text in their path.
func (r *Registry) Count(method, text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.seen {
		if m, path, _ := strings.Cut(s, " "); m == method && strings.Contains(path, text) {
			n++
		}
	}
	return n
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, req.Method+" "+req.URL.Path)
	fault, user, password := r.fault, r.user, r.password
	_, digest, _ := strings.Cut(req.URL.Path, "/blobs/")
	blob := r.blobs[digest]
	r.mu.Unlock()
	if fault != nil && fault(w, req) {
		return
	}
	if u, p, _ := req.BasicAuth(); user != "" && (u != user || p != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		Refuse(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")(w, req)
		return
	}
	if blob != nil && req.Method == http.MethodGet {
		// The package's registry does not know how to go on in the middle.
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Docker-Content-Digest", digest)
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(blob))
		return
	}
	r.serve.ServeHTTP(w, req)
}

// Blob returns the bytes that a request asks for; nil: it asks for no blob.
func (r *Registry) Blob(req *http.Request) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, digest, _ := strings.Cut(req.URL.Path, "/blobs/")
	return r.blobs[digest]
}

// Pushed is an image to put into a registry.
type Pushed struct {
	Layers       [][]byte // tar archives; none: busybox, as of Image
	Architecture string   // "": this machine's
}

const (
	typeManifest = "application/vnd.docker.distribution.manifest.v2+json"
	typeConfig   = "application/vnd.docker.container.image.v1+json"
	typeLayer    = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// descriptor names a blob in a manifest.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Size      int    `json:"size"`
	Digest    string `json:"digest"`
}

// Push puts an image under repo:tag and returns the digest of its manifest. It
// shares no layer with images that were pushed before.
func (r *Registry) Push(repo, tag string, p Pushed) (digest string) {
	r.t.Helper()
	layers := p.Layers
	if layers == nil {
		busybox, err := busyboxLayer()
		if err != nil {
			r.t.Fatalf("make test image: %v", err)
		}
		layers = [][]byte{busybox}
	}
	architecture := p.Architecture
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	layers = append([][]byte{Layer(r.t, "unique", []byte(randomHex(16)))}, layers...)
	var described []descriptor
	var contents []string
	for _, layer := range layers {
		contents = append(contents, digestOf(layer))
		described = append(described, r.blob(repo, typeLayer, zipped(r.t, layer)))
	}
	config := map[string]any{
		"architecture": architecture, "os": "linux",
		"config": map[string]any{"Cmd": []string{"/bin/sh"}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": contents},
	}
	manifest := map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest,
		"config": r.blob(repo, typeConfig, marshal(r.t, config)), "layers": described,
	}
	text := marshal(r.t, manifest)
	r.put(http.MethodPut, "/v2/"+repo+"/manifests/"+tag, typeManifest, text)
	return digestOf(text)
}

// Layer is a tar archive of one file.
func Layer(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := writeFile(w, name, 0o644, data)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("make layer: %v", err)
	}
	return out.Bytes()
}

func (r *Registry) blob(repo, mediaType string, data []byte) descriptor {
	r.t.Helper()
	digest := digestOf(data)
	r.put(http.MethodPost, "/v2/"+repo+"/blobs/uploads/?digest="+digest, "application/octet-stream", data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[digest] = data
	return descriptor{mediaType, len(data), digest}
}

// put stores something, whatever faults there are.
func (r *Registry) put(method, path, mediaType string, data []byte) {
	r.t.Helper()
	req := httptest.NewRequest(method, path, bytes.NewReader(data))
	req.Header.Set("Content-Type", mediaType)
	answer := httptest.NewRecorder()
	r.serve.ServeHTTP(answer, req)
	if answer.Code/100 != 2 {
		r.t.Fatalf("push %s: %d %s", path, answer.Code, answer.Body)
	}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func zipped(t testing.TB, data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("compress layer: %v", err)
	}
	return out.Bytes()
}

func marshal(t testing.TB, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// forget removes what the engine has pulled.
func (r *Registry) forget(host string) {
	api, err := client.NewClientWithOpts(client.WithTLSClientConfigFromEnv(), client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		r.t.Errorf("remove pulled images: %v", err)
		return
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	list, err := api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", r.Address()+"/*"))})
	if err != nil {
		r.t.Errorf("list pulled images: %v", err)
	}
	for _, each := range list {
		for _, name := range append(each.RepoTags, each.RepoDigests...) {
			if !strings.HasPrefix(name, r.Address()) {
				continue
			}
			if _, err := api.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true}); err != nil && !gone(err) {
				r.t.Errorf("remove pulled image %s: %v", name, err)
			}
		}
	}
}
