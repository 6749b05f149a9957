package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script answers the requests of an Engine, in any order of routes: per route
// the answers in turn, the last one for all that follow.
type script struct {
	t      *testing.T
	mu     sync.Mutex
	routes map[string][]answer
	seen   []string
}

type answer struct {
	code int
	body any // JSON, or a string as it is
}

func says(code int, message string) answer {
	return answer{code, map[string]string{"message": message}}
}

var version = regexp.MustCompile(`^/v1\.\d+`)

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	route := r.Method + " " + version.ReplaceAllString(r.URL.Path, "")
	if name := r.URL.Query().Get("name"); name != "" {
		route += " " + name
	}
	s.mu.Lock()
	s.seen = append(s.seen, route)
	queue := s.routes[route]
	if len(queue) == 0 {
		longest := ""
		for pattern := range s.routes {
			if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(route, prefix) && len(pattern) > len(longest) {
				longest = pattern
			}
		}
		if longest != "" {
			queue, route = s.routes[longest], longest
		}
	}
	if len(queue) > 1 {
		s.routes[route] = queue[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Api-Version", "1.41")
	if strings.HasSuffix(route, "/_ping") {
		return
	}
	if len(queue) == 0 {
		s.t.Errorf("unexpected request %s", route)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if text, ok := queue[0].body.(string); ok {
		w.WriteHeader(queue[0].code)
		io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(queue[0].code)
	if queue[0].body != nil {
		json.NewEncoder(w).Encode(queue[0].body)
	}
}

func (s *script) count(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, route := range s.seen {
		if strings.HasPrefix(route, prefix) {
			n++
		}
	}
	return n
}

// scripted is an Engine whose daemon answers as told.
func scripted(t *testing.T, routes map[string][]answer) (*Engine, *script) {
	t.Helper()
	s := &script{t: t, routes: routes}
	server := httptest.NewServer(s)
	e, err := New(Config{Host: "tcp://" + server.Listener.Addr().String(), Owner: "owner-1", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		server.Close()
	})
	return e, s
}

// containerJSON is an inspect answer for one of ours.
func containerJSON(id string, sp spec, st container.State) container.InspectResponse {
	return container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{ID: id, Name: "/" + sp.name, Created: created, State: &st, HostConfig: sp.host},
		Config:            &container.Config{Labels: sp.config.Labels},
	}
}

const inspectHolder = "GET /containers/k8s_main_web_default_uid-1_1/json"

// runSpec is the spec of the request as the scripted engine makes it.
func runSpec(e *Engine) spec {
	return containerSpec(e.settings(), "docker://sha256:aa", containerRequest(nil))
}

func TestStartContainerConflicts(t *testing.T) {
	const create = "POST /containers/create"
	taken := says(409, `Conflict. The container name "/k8s_main_web_default_uid-1_1" is already in use`)
	cleanState := container.State{Status: "created", StartedAt: never, FinishedAt: never}
	foreign := container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{ID: "foreign", Name: "/k8s_main_web_default_uid-1_1", State: &container.State{Status: "running"}},
		Config:            &container.Config{},
	}
	for _, row := range []struct {
		name   string
		holder func(spec) []answer
		create []answer // by the plain name, after the first conflict
		wantID string
		reason string
		starts int
	}{
		{"a running one is taken over", func(sp spec) []answer {
			return []answer{{200, containerJSON("old", sp, container.State{Status: "running", Running: true, StartedAt: started})}}
		}, nil, "old", "", 0},
		{"one that never started is started", func(sp spec) []answer {
			return []answer{{200, containerJSON("old", sp, cleanState)}}
		}, nil, "old", "", 1},
		{"one that has ended is not repeated", func(sp spec) []answer {
			return []answer{{200, containerJSON("old", sp, container.State{Status: "exited", ExitCode: 1, StartedAt: started, FinishedAt: ended})}}
		}, nil, "old", "", 0},
		{"a failed start fails again", func(sp spec) []answer {
			return []answer{{200, containerJSON("old", sp, container.State{Status: "created", ExitCode: 127, Error: "no such file"})}}
		}, nil, "", pods.ReasonRunContainer, 0},
		{"one of an old spec that never started is replaced", func(sp spec) []answer {
			labels := map[string]string{}
			for k, v := range sp.config.Labels {
				labels[k] = v
			}
			labels[labelHash] = "old"
			sp.config = &container.Config{Labels: labels}
			return []answer{{200, containerJSON("stale", sp, cleanState)}}
		}, []answer{{201, map[string]string{"Id": "new"}}}, "new", "", 1},
		{"a name nothing holds is waited for", func(spec) []answer {
			return []answer{says(404, "No such container")}
		}, []answer{taken, {201, map[string]string{"Id": "new"}}}, "new", "", 1},
		{"a stranger is gone around", func(spec) []answer {
			return []answer{{200, foreign}}
		}, nil, "suffixed", "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			routes := map[string][]answer{
				create + " k8s_main_web_default_uid-1_1":   append([]answer{taken}, row.create...),
				create + " k8s_main_web_default_uid-1_1_*": {{201, map[string]string{"Id": "suffixed"}}},
				"POST /containers/*":                       {{204, nil}},
				"DELETE /containers/stale":                 {{204, nil}},
				"GET /containers/json":                     {{200, []container.Summary{}}},
			}
			e, s := scripted(t, routes)
			e.forms.put("sha256:aa", "app:1", "docker://sha256:aa")
			routes[inspectHolder] = row.holder(runSpec(e))
			id, err := e.StartContainer(context.Background(), containerRequest(nil))
			if id != row.wantID {
				t.Errorf("id %q, want %q (%v)", id, row.wantID, err)
			}
			var failure *pods.EngineError
			if row.reason == "" && err != nil || row.reason != "" && (!errors.As(err, &failure) || failure.Reason != row.reason) {
				t.Errorf("error %v, want reason %q", err, row.reason)
			}
			starts := 0
			for _, route := range s.seen {
				if strings.HasSuffix(route, "/start") {
					starts++
				}
			}
			if starts != row.starts {
				t.Errorf("%d starts, want %d: %v", starts, row.starts, s.seen)
			}
		})
	}
}

func TestStartContainerRefusesIncompleteRequests(t *testing.T) {
	e, _ := scripted(t, nil)
	for _, change := range []func(*pods.ContainerRequest){
		func(r *pods.ContainerRequest) { r.Pod = nil },
		func(r *pods.ContainerRequest) { r.SandboxID = "" },
		func(r *pods.ContainerRequest) { r.Image.ID = "" },
	} {
		_, err := e.StartContainer(context.Background(), containerRequest(change))
		var failure *pods.EngineError
		if !errors.As(err, &failure) || failure.Reason != pods.ReasonCreateContainerConfig {
			t.Errorf("error %v", err)
		}
	}
}

func TestStartContainerCreateFails(t *testing.T) {
	e, _ := scripted(t, map[string][]answer{"POST /containers/create*": {says(400, "Minimum memory limit allowed is 6MB")}})
	e.forms.put("sha256:aa", "app:1", "docker://sha256:aa")
	_, err := e.StartContainer(context.Background(), containerRequest(nil))
	var failure *pods.EngineError
	if !errors.As(err, &failure) || failure.Reason != pods.ReasonCreateContainer {
		t.Errorf("error %v", err)
	}
	if err.Error() != "create container: Minimum memory limit allowed is 6MB" || !cerrdefs.IsInvalidArgument(err) {
		t.Errorf("error %q", err)
	}
}

func TestRemoveConflicts(t *testing.T) {
	removing := container.State{Status: "removing"}
	running := container.State{Status: "running", Running: true}
	for _, row := range []struct {
		name    string
		force   bool
		remove  []answer
		inspect func(spec) []answer
		want    bool
		calls   int
	}{
		{"gone already", false, []answer{says(404, "No such container")}, nil, true, 1},
		{"a removal under way is waited for", true, []answer{says(409, "removal of container x is already in progress")},
			func(sp spec) []answer {
				return []answer{{200, containerJSON("x", sp, removing)}, {200, containerJSON("x", sp, removing)}, says(404, "No such container")}
			}, true, 1},
		{"it runs", false, []answer{says(409, "You cannot remove a running container")},
			func(sp spec) []answer { return []answer{{200, containerJSON("x", sp, running)}} }, false, 1},
		{"a forced removal that meets its end", true, []answer{says(500, "Could not kill running container"), {204, nil}}, nil, true, 2},
		{"without force a failure is one", false, []answer{says(500, "device or resource busy")}, nil, false, 1},
		{"a busy mount that stays", true, []answer{says(500, "device or resource busy")}, nil, false, removeTries},
	} {
		t.Run(row.name, func(t *testing.T) {
			routes := map[string][]answer{"DELETE /containers/x": row.remove}
			e, s := scripted(t, routes)
			sp := runSpec(e)
			if row.inspect != nil {
				routes["GET /containers/x/json"] = row.inspect(sp)
			}
			e.index.add("x", sp.name, sp.who)
			err := e.Remove(context.Background(), "x", row.force)
			if (err == nil) != row.want {
				t.Errorf("error %v", err)
			}
			if e.index.known("x") == row.want {
				t.Errorf("known after it: %v", e.index.known("x"))
			}
			if n := s.count("DELETE"); n != row.calls {
				t.Errorf("%d removals, want %d", n, row.calls)
			}
		})
	}
}

func TestStrangersAreNotTouched(t *testing.T) {
	foreign := container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{ID: "x", Name: "/db", State: &container.State{Status: "running"}},
		Config:            &container.Config{Labels: map[string]string{labelOwner: "owner-2"}},
	}
	e, s := scripted(t, map[string][]answer{"GET /containers/x/json": {{200, foreign}}})
	if err := e.Signal(context.Background(), "x", "KILL"); err == nil {
		t.Error("a stranger was signalled")
	}
	if err := e.Remove(context.Background(), "x", true); err == nil {
		t.Error("a stranger was removed")
	}
	if n := s.count("POST") + s.count("DELETE"); n != 0 {
		t.Errorf("requests %v", s.seen)
	}
}

func TestEnsureImage(t *testing.T) {
	const pulled = `{"status":"Pulling from library/app"}` + "\n" + `{"status":"Downloading","progressDetail":{"current":1,"total":2},"id":"x"}` + "\n"
	found := answer{200, map[string]any{"Id": "sha256:aa", "Size": 7, "RepoTags": []string{"app:1"}, "RepoDigests": []string{"app@" + digestA}}}
	other := answer{200, map[string]any{"Id": "sha256:app1", "RepoTags": []string{"other:1"}}}
	missing := says(404, "No such image: app:1")
	for _, row := range []struct {
		name   string
		policy v1.PullPolicy
		look   []answer
		pull   []answer
		reason string
		words  string
		pulls  int
	}{
		{"present", v1.PullIfNotPresent, []answer{found}, nil, "", "", 0},
		{"absent and pulled", v1.PullIfNotPresent, []answer{missing, found}, []answer{{200, pulled}}, "", "", 1},
		{"an id that begins like the name is not the image", v1.PullNever, []answer{other}, nil, pods.ReasonErrImageNeverPull, `container image "app:1" is not present with pull policy of Never`, 0},
		{"always pulls what is present", v1.PullAlways, []answer{found}, []answer{{200, pulled}}, "", "", 1},
		{"an error in the stream", v1.PullIfNotPresent, []answer{missing},
			[]answer{{200, pulled + `{"errorDetail":{"message":"unexpected HTTP status: 500"},"error":"unexpected HTTP status: 500"}` + "\n"}},
			pods.ReasonErrImagePull, `pull image "app:1": unexpected HTTP status: 500`, 1},
		{"a registry that is away", v1.PullIfNotPresent, []answer{missing},
			[]answer{{200, pulled + `{"errorDetail":{"message":"unexpected HTTP status: 503"},"error":"unexpected HTTP status: 503"}` + "\n"}},
			pods.ReasonRegistryUnavailable, `pull image "app:1": unexpected HTTP status: 503`, 1},
		{"an error of an old engine in the stream", v1.PullIfNotPresent, []answer{missing}, []answer{{200, `{"error":"toomanyrequests"}`}},
			pods.ReasonErrImagePull, `pull image "app:1": toomanyrequests`, 1},
		{"refused", v1.PullIfNotPresent, []answer{missing}, []answer{says(404, "manifest for app:1 not found: manifest unknown")},
			pods.ReasonErrImagePull, `pull image "app:1": manifest for app:1 not found: manifest unknown`, 1},
		{"the stream ends early", v1.PullIfNotPresent, []answer{missing}, []answer{{200, `{"status":"Down`}}, pods.ReasonErrImagePull, "", 1},
		{"the engine cannot tell", v1.PullIfNotPresent, []answer{says(500, "layer store is broken")}, nil,
			pods.ReasonImageInspectError, `inspect image "app:1": layer store is broken`, 0},
		{"pulled and not there", v1.PullIfNotPresent, []answer{missing}, []answer{{200, pulled}}, pods.ReasonErrImagePull, "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, s := scripted(t, map[string][]answer{
				"GET /images/docker.io/library/app:1/json": row.look, "GET /images/app:1/json": row.look, "POST /images/create": row.pull,
			})
			told := 0
			image, err := e.EnsureImage(context.Background(), pods.ImageRequest{Ref: "app:1", Policy: row.policy, Pulling: func() { told++ }})
			if told != row.pulls {
				t.Errorf("told %d times that it is pulled, want %d", told, row.pulls)
			}
			if row.reason == "" {
				if pulled := row.pulls > 0; image.Pulled != pulled || (image.Took > 0) != pulled || image.Waited < image.Took {
					t.Errorf("pulled %v in %v (%v), want %v", image.Pulled, image.Took, image.Waited, pulled)
				}
				image.Pulled, image.Took, image.Waited = false, 0, 0
				if want := (pods.Image{Ref: "app:1", ID: "sha256:aa", Size: 7}); err != nil || image != want {
					t.Errorf("got %+v, %v", image, err)
				}
				if form, _ := e.forms.get("sha256:aa", "app:1"); form != "docker-pullable://app@"+digestA {
					t.Errorf("status form %q", form)
				}
			} else {
				var failure *pods.EngineError
				if !errors.As(err, &failure) || failure.Reason != row.reason || row.words != "" && err.Error() != row.words {
					t.Errorf("error %q, want %s %q", fmt.Sprint(err), row.reason, row.words)
				}
			}
			if n := s.count("POST /images/create"); n != row.pulls {
				t.Errorf("%d pulls, want %d", n, row.pulls)
			}
		})
	}
}

func TestNetworkOwnership(t *testing.T) {
	network := func(name, owner string) answer {
		return answer{200, map[string]any{"Name": name, "Id": "n1", "Labels": map[string]string{labelOwner: owner}}}
	}
	missing := says(404, "network islet not found")
	for _, row := range []struct {
		name    string
		inspect []answer
		create  []answer
		ok      bool
		creates int
	}{
		{"ours", []answer{network("islet", "owner-1")}, nil, true, 0},
		{"another owner's", []answer{network("islet", "owner-2")}, nil, false, 0},
		{"nobody's", []answer{{200, map[string]any{"Name": "islet"}}}, nil, false, 0},
		{"absent", []answer{missing}, []answer{{201, map[string]string{"Id": "n1"}}}, true, 1},
		{"an id that begins like the name", []answer{network("other", "owner-2")}, []answer{{201, map[string]string{"Id": "n1"}}}, true, 1},
		{"made by another call meanwhile", []answer{missing, network("islet", "owner-1")}, []answer{says(409, "already exists")}, true, 1},
		{"no addresses left", []answer{missing}, []answer{says(403, "could not find an available, non-overlapping IPv4 address pool")}, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, s := scripted(t, map[string][]answer{"GET /networks/islet": row.inspect, "POST /networks/create": row.create})
			if err := e.ensureNetwork(context.Background()); (err == nil) != row.ok {
				t.Errorf("error %v", err)
			}
			if e.networkReady.Load() != row.ok {
				t.Errorf("ready: %v", e.networkReady.Load())
			}
			if n := s.count("POST"); n != row.creates {
				t.Errorf("%d creations", n)
			}
		})
	}
}
