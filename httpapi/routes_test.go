package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/islet-run/islet/pods"
	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filled is a Config whose every function answers something.
func filled() Config {
	since := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return Config{
		Pods: func() *v1.PodList {
			return &v1.PodList{Items: []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"}}}}
		},
		Manifests: func() []Manifest {
			return []Manifest{{
				Source: "file", Path: "/m/web.yaml", Document: 1, Line: 1, Kind: "Pod", Namespace: "default", Name: "web",
				Verdict: VerdictAccepted, Since: since, Pod: &ManifestPod{UID: "u1", Phase: v1.PodRunning},
			}}
		},
		Why: func(namespace, name string) (Why, bool) {
			if namespace != "default" || name != "web" {
				return Why{}, false
			}
			return Why{Namespace: namespace, Name: name, UID: "u1", Phase: "Running"}, true
		},
		Ready:   func() error { return nil },
		Down:    func(_ context.Context, report func(string)) error { report("stopped default/web"); return nil },
		Version: map[string]string{"version": "v0.1.0"},
	}
}

func do(t *testing.T, handler http.Handler, method, target string) *http.Response {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, target, nil))
	return recorder.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestRoutes(t *testing.T) {
	sick := filled()
	sick.Ready = func() error { return errors.New("engine does not answer") }
	sick.Health = []Check{{Name: "loop", Run: func() error { return errors.New("stuck") }}}
	for _, tt := range []struct {
		name, method, target string
		cfg                  Config
		code                 int
		want                 string // part of the body
	}{
		{"health", "GET", "/healthz", filled(), 200, "ok"},
		{"health verbose", "GET", "/healthz?verbose", filled(), 200, "[+]ping ok\nhealthz check passed\n"},
		{"ping", "GET", "/healthz/ping", filled(), 200, "ok"},
		{"unknown check", "GET", "/healthz/nope", filled(), 404, `no such check: \"nope\"`},
		{"sick", "GET", "/healthz", sick, 500, "[+]ping ok\n[-]loop failed: stuck\nhealthz check failed\n"},
		{"sick excluded", "GET", "/healthz?exclude=loop", sick, 200, "ok"},
		{"sick part", "GET", "/healthz/loop", sick, 500, "internal server error: stuck"},
		{"ready", "GET", "/readyz", filled(), 200, "ok"},
		{"not ready", "GET", "/readyz?exclude=loop", sick, 500, "[-]ready failed: engine does not answer\nreadyz check failed\n"},
		{"ready part", "GET", "/readyz/ready", filled(), 200, "ok"},
		{"pods", "GET", "/pods", filled(), 200, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web"`},
		{"no pods", "GET", "/pods", Config{Pods: func() *v1.PodList { return nil }}, 200, `"items":[]`},
		{"manifests", "GET", "/manifests", filled(), 200, `{"items":[{"source":"file","path":"/m/web.yaml","document":1,"line":1,`},
		{"no manifests", "GET", "/manifests", Config{Manifests: func() []Manifest { return nil }}, 200, `{"items":[]}`},
		{"why", "GET", "/why/default/web", filled(), 200, `"events":[]`},
		{"why unknown", "GET", "/why/default/wbe", filled(), 404, `"message":"no pod default/wbe","reason":"NotFound"`},
		{"why bad name", "GET", "/why/default/We_b", filled(), 400, `"reason":"BadRequest"`},
		{"why escaped slash", "GET", "/why/default/a%2Fb", filled(), 400, `name \"a/b\"`},
		{"why bad namespace", "GET", "/why/a.b/web", filled(), 400, `namespace \"a.b\"`},
		{"version", "GET", "/version", filled(), 200, `{"version":"v0.1.0"}`},
		{"down", "POST", "/down", filled(), 200, "stopped default/web\n"},
		{"down by GET", "GET", "/down", filled(), 405, "GET is not allowed on /down; use POST"},
		{"post to pods", "POST", "/pods", filled(), 405, "use GET"},
		{"odd method", "BREW", "/pods", filled(), 405, "use GET"},
		{"odd method, no path", "BREW", "/coffee", filled(), 404, "no such path: /coffee"},
		{"no path", "GET", "/api/v1/pods", filled(), 404, `"message":"no such path: /api/v1/pods","reason":"NotFound","code":404`},
		{"nil pods", "GET", "/pods", Config{}, 501, `"reason":"NotImplemented"`},
		{"nil manifests", "GET", "/manifests", Config{}, 501, "NotImplemented"},
		{"nil why", "GET", "/why/default/web", Config{}, 501, "NotImplemented"},
		{"nil ready", "GET", "/readyz", Config{}, 501, "NotImplemented"},
		{"nil version", "GET", "/version", Config{}, 501, "NotImplemented"},
		{"nil down", "POST", "/down", Config{}, 501, "NotImplemented"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response := do(t, Handler(tt.cfg, zerolog.Nop()), tt.method, tt.target)
			text := body(t, response)
			if response.StatusCode != tt.code || !strings.Contains(text, tt.want) {
				t.Fatalf("got %d %s\nwant %d with %q", response.StatusCode, text, tt.code, tt.want)
			}
			if tt.code >= 400 && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
				checkStatus(t, tt.code, text)
			}
		})
	}
}

func checkStatus(t *testing.T, code int, text string) {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	if status.Kind != "Status" || status.APIVersion != "v1" || status.Status != metav1.StatusFailure || int(status.Code) != code {
		t.Fatalf("not a Status of %d: %s", code, text)
	}
}

func TestEngineAwayIsMarked(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("ping: %w", pods.ErrEngineAway), EngineAway},
		{errors.New("not every source has been read"), ""},
		{nil, ""},
	} {
		response := do(t, Handler(Config{Ready: func() error { return tt.err }}, zerolog.Nop()), "GET", "/readyz")
		if got := response.Header.Get(EngineHeader); got != tt.want {
			t.Errorf("%v: header %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestMethodNotAllowedNamesMethods(t *testing.T) {
	response := do(t, Handler(filled(), zerolog.Nop()), "DELETE", "/why/default/web")
	if got := response.Header.Get("Allow"); got != "GET" {
		t.Fatalf("Allow = %q, want GET", got)
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	server := httptest.NewServer(Handler(filled(), zerolog.Nop()))
	defer server.Close()
	response, err := server.Client().Head(server.URL + "/pods")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer server.Client().CloseIdleConnections()
	if response.StatusCode != 200 || response.ContentLength <= 0 {
		t.Fatalf("HEAD answered %d with length %d", response.StatusCode, response.ContentLength)
	}
}

func TestAnswersDoNotChangeWhatTheyAreGiven(t *testing.T) {
	shared := &v1.PodList{}
	do(t, Handler(Config{Pods: func() *v1.PodList { return shared }}, zerolog.Nop()), "GET", "/pods")
	if diff := cmp.Diff(&v1.PodList{}, shared); diff != "" {
		t.Fatalf("the shared list was changed:\n%s", diff)
	}
}

func TestLargeBodyIsRefused(t *testing.T) {
	request := httptest.NewRequest("POST", "/down", bytes.NewReader(make([]byte, maxBody+1)))
	recorder := httptest.NewRecorder()
	called := false
	cfg := Config{Down: func(context.Context, func(string)) error { called = true; return nil }}
	Handler(cfg, zerolog.Nop()).ServeHTTP(recorder, request)
	if recorder.Code != http.StatusRequestEntityTooLarge || called {
		t.Fatalf("code %d, called %v", recorder.Code, called)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{Pods: func() *v1.PodList { panic("lost the plot") }}
	response := do(t, Handler(cfg, zerolog.New(&log)), "GET", "/pods")
	if text := body(t, response); response.StatusCode != 500 || strings.Contains(text, "plot") {
		t.Fatalf("got %d %s", response.StatusCode, text)
	}
	if !strings.Contains(log.String(), "lost the plot") || !strings.Contains(log.String(), "routes_test.go") {
		t.Fatalf("log lacks the panic or its stack: %s", log.String())
	}
}

func TestUnencodableAnswerIsError(t *testing.T) {
	recorder := httptest.NewRecorder()
	writeJSON(recorder, 200, func() {})
	checkStatus(t, 500, recorder.Body.String())
}

func TestHealthPortSaysNoMore(t *testing.T) {
	handler := HealthHandler(zerolog.Nop())
	for target, code := range map[string]int{"/healthz": 200, "/healthz/ping": 200, "/pods": 404, "/readyz": 404, "/down": 404} {
		if got := do(t, handler, "GET", target).StatusCode; got != code {
			t.Errorf("%s: %d, want %d", target, got, code)
		}
	}
}

// FuzzPath checks that no path makes a handler panic, answer something else
// than the documented forms, or reach Why with what can be no name.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/why/default/web", "/why/a%2Fb/c", "/why/%zz/x", "//why//", "/healthz/%00", "/why/default/web/", "/../pods", "/why/default/\xff"} {
		f.Add(seed)
	}
	cfg := filled()
	cfg.Why = func(namespace, name string) (Why, bool) {
		if strings.ContainsAny(namespace+name, "/%\x00 \n") || namespace == "" || name == "" {
			panic("not a name: " + namespace + "/" + name)
		}
		return Why{Namespace: namespace, Name: name}, true
	}
	handler := Handler(cfg, zerolog.Nop())
	f.Fuzz(func(t *testing.T, path string) {
		target, err := url.ParseRequestURI(path)
		if err != nil {
			t.Skip()
		}
		request := httptest.NewRequest("GET", "/", nil)
		request.URL = target
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		switch recorder.Code {
		case 200, 400, 404, 405:
		default:
			t.Fatalf("%q: %d %s", path, recorder.Code, recorder.Body)
		}
	})
}
