package docker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

// These tests pull from a registry on loopback with the engine that was found.

type hub struct {
	*dockertest.Registry
	t      *testing.T
	e      *Engine
	config string // file of credentials
}

func newHub(t *testing.T, change ...func(*Config)) *hub {
	t.Helper()
	api := dockertest.Client(t)
	h := &hub{t: t, Registry: dockertest.NewRegistry(t, api), config: filepath.Join(t.TempDir(), "config.json")}
	owner := dockertest.Owner(t, api)
	cfg := newEngineConfig(t, api.DaemonHost(), owner)
	cfg.CredentialFiles = []string{h.config}
	for _, f := range change {
		f(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	h.e = e
	return h
}

// login writes the file of credentials.
func (h *hub) login(user, password string) {
	h.t.Helper()
	text, err := json.Marshal(map[string]any{"auths": map[string]any{h.Address(): map[string]string{"username": user, "password": password}}})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.config, text, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hub) ref(name string) string { return h.Address() + "/" + name }

func (h *hub) ensure(name string, policy v1.PullPolicy) (pods.Image, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return h.e.EnsureImage(ctx, pods.ImageRequest{Ref: h.ref(name), Policy: policy})
}

// fails pulls and checks why that does not work.
func (h *hub) fails(name, reason string, words ...string) {
	h.t.Helper()
	_, err := h.ensure(name, v1.PullIfNotPresent)
	var failure *pods.EngineError
	if !errors.As(err, &failure) || failure.Reason != reason {
		h.t.Errorf("%s: %v, want %s", name, err, reason)
		return
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(err.Error()), w) {
			h.t.Errorf("%s: words %q without %q", name, err, w)
		}
	}
}

func (h *hub) works(name string) pods.Image {
	h.t.Helper()
	image, err := h.ensure(name, v1.PullIfNotPresent)
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return image
}

func TestPullFromRegistry(t *testing.T) {
	h := newHub(t)
	digest := h.Push("app", "1", dockertest.Pushed{})
	image := h.works("app:1")
	if !image.Pulled || image.Size < 100000 || image.Took <= 0 || image.Waited < image.Took || image.Warning != "" {
		t.Errorf("pulled: %+v", image)
	}
	if form, err := h.e.imageForm(context.Background(), image); err != nil || form != "docker-pullable://"+h.ref("app@"+digest) {
		t.Errorf("status form %q, %v, want the digest %s", form, err, digest)
	}
	before := h.Count(http.MethodGet, "/manifests/") + h.Count(http.MethodHead, "/manifests/")
	for _, name := range []string{"app:1", "app@" + digest, "app:other@" + digest} {
		if again := h.works(name); again.Pulled || again.ID != image.ID {
			t.Errorf("%s is there: %+v", name, again)
		}
	}
	if n := h.Count(http.MethodGet, "/manifests/") + h.Count(http.MethodHead, "/manifests/"); n != before {
		t.Errorf("the registry was asked %d times for what is there", n-before)
	}
	always, err := h.ensure("app:1", v1.PullAlways)
	if err != nil || !always.Pulled || always.ID != image.ID {
		t.Errorf("pulled again: %+v, %v", always, err)
	}

	// An image that is there by its digest only.
	digest = h.Push("pinned", "2", dockertest.Pushed{})
	for _, name := range []string{"pinned:2@" + digest, "pinned@" + digest} {
		if image, err := h.ensure(name, v1.PullIfNotPresent); err != nil || image.Pulled != strings.Contains(name, ":2@") {
			t.Errorf("%s: %+v, %v", name, image, err)
		}
	}
	h.fails("pinned@"+digestA, pods.ReasonErrImagePull)
	// The beginning of an id is no name.
	id := strings.TrimPrefix(image.ID, "sha256:")
	if _, err := h.e.EnsureImage(context.Background(), pods.ImageRequest{Ref: id[:12], Policy: v1.PullNever}); err == nil {
		t.Error("the beginning of an id was taken for a name")
	}
}

func TestOtherPlatform(t *testing.T) {
	h := newHub(t)
	if _, err := h.e.api().Ping(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.e.mu.Lock()
	h.e.platform = platformOf("linux", "riscv64") // as probing would find
	h.e.mu.Unlock()
	h.Push("app", "1", dockertest.Pushed{})
	if image := h.works("app:1"); !strings.Contains(image.Warning, "runs linux/riscv64") {
		t.Errorf("warning %q", image.Warning)
	}
}

func TestPullWithLogin(t *testing.T) {
	h := newHub(t)
	h.Push("app", "1", dockertest.Pushed{})
	h.RequireLogin("me", "right")
	h.fails("app:1", pods.ReasonErrImagePull, "auth")
	h.login("me", "wrong")
	h.fails("app:1", pods.ReasonErrImagePull, "auth")
	if err := os.WriteFile(h.config, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.fails("app:1", pods.ReasonErrImagePull, "auth", "read credentials in "+strings.ToLower(h.config))
	h.login("me", "right")
	h.works("app:1")

	// Two credentials fit: the better match is wrong, the other one is right.
	h.Push("two", "1", dockertest.Pushed{})
	text := fmt.Sprintf(`{"auths":{%q:{"username":"me","password":"old"},%q:{"username":"me","password":"right"}}}`, h.ref("two"), h.Address())
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.works("two:1")
}

func TestRefusingRegistry(t *testing.T) {
	h := newHub(t)
	h.Push("app", "1", dockertest.Pushed{})
	h.fails("missing:1", pods.ReasonErrImagePull, "missing")
	h.fails("app:2", pods.ReasonErrImagePull, "app:2")
	for _, row := range []struct {
		status        int
		code, message string
		reason        string
		words         []string
	}{
		{http.StatusUnauthorized, "UNAUTHORIZED", "who are you", pods.ReasonErrImagePull, []string{"auth"}},
		{http.StatusForbidden, "DENIED", "not on a sunday", pods.ReasonErrImagePull, []string{"denied", "not on a sunday"}},
		{http.StatusNotFound, "NAME_UNKNOWN", "no such repository", pods.ReasonErrImagePull, nil},
		{http.StatusTooManyRequests, "TOOMANYREQUESTS", "slow down", pods.ReasonErrImagePull, []string{"toomanyrequests", "slow down"}},
		{http.StatusInternalServerError, "UNKNOWN", "oh dear", pods.ReasonErrImagePull, []string{"500"}},
		{http.StatusServiceUnavailable, "UNAVAILABLE", "back soon", pods.ReasonRegistryUnavailable, []string{"503"}},
	} {
		h.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
			if row.status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			}
			// The first request only asks whether this is a registry.
			return strings.Contains(r.URL.Path, "/app/") && dockertest.Refuse(row.status, row.code, row.message)(w, r)
		})
		t.Run(strconv.Itoa(row.status), func(t *testing.T) {
			h.t = t
			h.fails("app:1", row.reason, row.words...)
		})
	}
	h.t = t
	h.SetFault(nil)
	h.works("app:1")
	h.Close()
	h.fails("gone:1", pods.ReasonRegistryUnavailable, "connection refused")
}

// incompressible is a layer of a size.
func incompressible(t *testing.T, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	rand.Read(data)
	return dockertest.Layer(t, "data", data)
}

// halfOf answers requests for big blobs with their first half.
func (h *hub) halfOf(then func(*http.Request)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		blob := h.Blob(r)
		if len(blob) < 1<<20 || r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
		w.Write(blob[:len(blob)/2])
		w.(http.Flusher).Flush()
		then(r)
		panic(http.ErrAbortHandler)
	}
}

func TestPullThatStandsStill(t *testing.T) {
	h := newHub(t, func(c *Config) { c.PullStall = 1500 * time.Millisecond })
	h.Push("app", "1", dockertest.Pushed{Layers: [][]byte{incompressible(t, 4<<20)}})
	h.SetFault(h.halfOf(func(r *http.Request) { <-r.Context().Done() }))
	h.fails("app:1", pods.ReasonErrImagePull, "stands still", "nothing came from the registry for 1.5s", "bytes")
	h.SetFault(nil)
	h.works("app:1")
}

// The engine itself goes on where a download was cut off.
func TestPullThatIsCutOff(t *testing.T) {
	h := newHub(t)
	h.Push("app", "1", dockertest.Pushed{Layers: [][]byte{incompressible(t, 4<<20)}})
	h.SetFault(h.halfOf(func(*http.Request) { h.SetFault(nil) }))
	h.works("app:1")
}

// Others do not wait for a pull that hangs, and who leaves takes nobody along.
func TestPullBesideOthers(t *testing.T) {
	h := newHub(t)
	h.Push("here", "1", dockertest.Pushed{})
	h.Push("slow", "1", dockertest.Pushed{})
	h.works("here:1")
	release := make(chan struct{})
	var asked atomic.Int32
	h.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/slow/manifests/1") {
			asked.Add(1)
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	leaves, leave := context.WithCancel(context.Background())
	defer leave()
	var group sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		ctx := context.Background()
		if i == 0 {
			ctx = leaves
		}
		group.Go(func() {
			_, errs[i] = h.e.EnsureImage(ctx, pods.ImageRequest{Ref: h.ref("slow:1"), Policy: v1.PullIfNotPresent})
		})
	}
	for deadline := time.Now().Add(patience); asked.Load() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the registry is not asked")
		}
		time.Sleep(5 * time.Millisecond)
	}
	since := time.Now()
	if h.works("here:1"); time.Since(since) > 2*time.Second {
		t.Errorf("what is there was found after %v", time.Since(since))
	}
	leave()
	close(release)
	group.Wait()
	if !errors.Is(errs[0], context.Canceled) || errs[1] != nil || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if n := h.Count(http.MethodHead, "/slow/manifests/1") + h.Count(http.MethodGet, "/slow/manifests/1"); n > 2 {
		t.Errorf("three calls asked the registry %d times for the manifest", n)
	}
}

// The configured sandbox image is pulled with the same credentials.
func TestPauseImageWithLogin(t *testing.T) {
	h := newHub(t)
	h.Push("pause", "1", dockertest.Pushed{})
	h.RequireLogin("me", "right")
	h.login("me", "right")
	h.e.cfg.PauseImage = h.ref("pause:1")
	if err := h.e.ensureSandboxImage(context.Background()); err != nil {
		t.Fatal(err)
	}
	if image := h.works("pause:1"); image.Pulled {
		t.Error("it was not pulled")
	}
}
