package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/islet-run/islet/httpapi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answerPatience bounds an answer that islet has at hand.
const answerPatience = 15 * time.Second

// client asks a running islet through its socket. It may be used from many
// goroutines.
type client struct {
	rootDir string
	socket  string
	http    http.Client
}

// newClient returns a client of the islet whose state is in rootDir.
func newClient(rootDir string) *client {
	if abs, err := filepath.Abs(rootDir); err == nil {
		rootDir = abs
	}
	c := &client{rootDir: rootDir, socket: filepath.Join(rootDir, socketName)}
	c.http.Transport = &http.Transport{
		// One connection per question: there are few, and none must be left
		// behind to delay the end of islet.
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := httpapi.Dial(ctx, c.socket)
			if err != nil {
				return nil, &unreachableError{client: c, cause: err}
			}
			return conn, nil
		},
	}
	return c
}

// unreachableError says that no islet answers, and what to do about it.
type unreachableError struct {
	client *client
	cause  error
}

func (e *unreachableError) Unwrap() error        { return e.cause }
func (e *unreachableError) Is(target error) bool { return target == errUnreachable }

func (e *unreachableError) Error() string {
	start, other := "islet run", "; if its state is elsewhere, say where with --root-dir"
	if e.client.rootDir != defaultRootDir {
		start, other = "islet run --root-dir "+e.client.rootDir, ""
	}
	switch {
	case errors.Is(e.cause, os.ErrNotExist):
		return fmt.Sprintf("islet is not running: there is no %s; start it with: %s%s", e.client.socket, start, other)
	case errors.Is(e.cause, syscall.ECONNREFUSED):
		return fmt.Sprintf("islet is not running: nobody answers on %s; start it with: %s%s", e.client.socket, start, other)
	case errors.Is(e.cause, os.ErrPermission):
		return fmt.Sprintf("no permission for %s; run this as root", e.client.socket)
	}
	return fmt.Sprintf("reach islet at %s: %v", e.client.socket, e.cause)
}

// apiError is what islet answered instead of what was asked for.
type apiError struct {
	status metav1.Status
	header http.Header
	text   string // of the body
}

func (e *apiError) Error() string { return clean(e.status.Message) }

func isNotFound(err error) bool {
	var answer *apiError
	return errors.As(err, &answer) && answer.status.Code == http.StatusNotFound
}

// Pods returns what islet runs.
func (c *client) Pods(ctx context.Context) (*v1.PodList, error) {
	var list v1.PodList
	return &list, c.get(ctx, "/pods", &list)
}

// Manifests returns every document that islet knows.
func (c *client) Manifests(ctx context.Context) (*httpapi.ManifestList, error) {
	var list httpapi.ManifestList
	return &list, c.get(ctx, "/manifests", &list)
}

// readiness says whether what islet tells is the whole and present truth.
type readiness struct {
	message    string // what is missing, "" when nothing is
	engineAway bool
}

// Ready returns the readiness of islet.
func (c *client) Ready(caller context.Context) (readiness, error) {
	ctx, cancel := context.WithTimeout(caller, answerPatience)
	defer cancel()
	response, err := c.send(ctx, http.MethodGet, "/readyz")
	var answer *apiError
	switch {
	case err == nil:
		return readiness{}, response.Body.Close()
	case !errors.As(err, &answer):
		return readiness{}, cmp.Or(caller.Err(), err)
	case answer.status.Code != http.StatusInternalServerError:
		return readiness{}, nil // an islet that does not know the question
	}
	var missing []string
	for line := range strings.Lines(answer.text) {
		if check, failed := strings.CutPrefix(line, "[-]"); failed {
			_, why, _ := strings.Cut(check, " failed: ")
			missing = append(missing, clean(cmp.Or(why, check)))
		}
	}
	return readiness{
		message:    cmp.Or(strings.Join(missing, "; "), answer.Error()),
		engineAway: answer.header.Get(httpapi.EngineHeader) == httpapi.EngineAway,
	}, nil
}

// Why returns the story of a pod; see isNotFound.
func (c *client) Why(ctx context.Context, pod podName) (*httpapi.Why, error) {
	var why httpapi.Why
	return &why, c.get(ctx, "/why/"+pod.namespace+"/"+pod.name, &why)
}

// Down ends the pods and then islet, and passes on what is reported meanwhile.
// It blocks until they are gone or ctx ends; what has been begun goes on then.
func (c *client) Down(ctx context.Context, report func(line string)) error {
	response, err := c.send(ctx, http.MethodPost, "/down")
	if err != nil {
		return cmp.Or(ctx.Err(), err) // a caller that gave up learns nothing of islet
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		report(clean(lines.Text()))
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("follow down: %w", err)
	}
	result := response.Trailer.Get(httpapi.ResultTrailer)
	if cause, failed := strings.CutPrefix(result, httpapi.ResultFailed); failed {
		return fmt.Errorf("down: %s", clean(cause))
	}
	if result != httpapi.ResultOK {
		return errors.New("follow down: islet ended before it was done; run down again to see what is left")
	}
	return nil
}

// podNames returns the names of all pods that run or are asked for.
func (c *client) podNames(ctx context.Context) ([]podName, error) {
	manifests, err := c.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	return knownPods(manifests.Items, pods.Items), nil
}

func (c *client) get(caller context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(caller, answerPatience)
	defer cancel()
	response, err := c.send(ctx, http.MethodGet, path)
	if err != nil {
		return cmp.Or(caller.Err(), err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return cmp.Or(caller.Err(), fmt.Errorf("read answer to %s: %w", path, err))
	}
	return nil
}

// send returns an answer of 200, whose body the caller closes, or an error.
func (c *client) send(ctx context.Context, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://islet"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask islet: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.explain(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusal(response, path)
}

// explain makes an error of transport one that says what to do. A connection
// that was cut means that islet ended meanwhile.
func (c *client) explain(err error) error {
	var unreachable *unreachableError
	if errors.As(err, &unreachable) {
		return unreachable
	}
	var transport *url.Error
	if errors.As(err, &transport) {
		err = transport.Err // without a URL that means nothing to people
	}
	return &unreachableError{client: c, cause: err}
}

// refusal reads the Status of an answer that is none.
func refusal(response *http.Response, path string) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("read answer to %s: %w", path, err)
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) != nil || status.Kind != "Status" {
		status.Message = fmt.Sprintf("islet answered %s to %s: %s", response.Status, path, shorten(string(text), maxReason))
	}
	status.Code = int32(response.StatusCode)
	return &apiError{status, response.Header, string(text)}
}
