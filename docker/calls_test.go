package docker

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"reflect"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

// counter passes requests on to an engine and keeps what they were.
type counter struct {
	mu   sync.Mutex
	seen []string
}

var idInPath = regexp.MustCompile(`[0-9a-f]{64}`)

func (c *counter) note(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, r.Method+" "+idInPath.ReplaceAllString(version.ReplaceAllString(r.URL.Path, ""), "ID"))
}

// take returns the requests since the last take.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// proxy starts a proxy in front of an engine and returns its address.
func (c *counter) proxy(t testing.TB, api *client.Client) string {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return api.Dialer()(ctx) }}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.note(r)
		forward.ServeHTTP(w, r)
		io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return "tcp://" + server.Listener.Addr().String()
}

// Starting a pod makes the calls it has to and no more, observing it asks about
// what may have changed, and between changes nothing is asked.
func TestCalls(t *testing.T) {
	api := dockertest.Client(t)
	c := &counter{}
	r := rigAt(t, api, c.proxy(t, api))
	pod := r.pod("calls")
	ctx := context.Background()
	want := func(step string, calls ...string) {
		t.Helper()
		if got := c.take(); !reflect.DeepEqual(got, calls) {
			t.Errorf("%s asked\n%q, want\n%q", step, got, calls)
		}
	}
	const create, start, inspect = "POST /containers/create", "POST /containers/ID/start", "GET /containers/ID/json"
	if _, err := r.e.List(ctx); err != nil {
		t.Fatal(err)
	}
	c.take()

	box := r.sandbox(pod)
	want("StartSandbox", create, start, inspect)
	id, err := r.e.StartContainer(ctx, r.request(pod, box.ID, "main", "trap 'exit 0' TERM; while :; do sleep 0.05; done"))
	if err != nil {
		t.Fatal(err)
	}
	want("StartContainer", create, start)
	r.observe(keyOf(pod))
	want("Observe of a running pod", inspect, inspect)
	r.observe(pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: "nothing"})
	want("Observe of nothing")
	if err := r.e.Signal(ctx, id, "KILL"); err != nil {
		t.Fatal(err)
	}
	want("Signal", "POST /containers/ID/kill")
	r.ended(keyOf(pod), id)
	c.take()
	r.observe(keyOf(pod))
	want("Observe of a container that has ended, and its sandbox", inspect)
	if err := r.e.Remove(ctx, id, false); err != nil {
		t.Fatal(err)
	}
	want("Remove", "DELETE /containers/ID")

	// Nothing is the matter: nothing is asked. The time is short, but a check
	// of the connection in any usual interval would show.
	select {
	case <-time.After(1500 * time.Millisecond):
	case <-t.Context().Done():
	}
	want("idling")
}
