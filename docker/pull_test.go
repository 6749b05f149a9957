package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docker/docker/api/types/registry"

	"github.com/islet-run/islet/docker/credentials"
)

// fakePull is a pull that the test carries on by hand.
type fakePull struct {
	name string
	user string
	ctx  context.Context
	w    *io.PipeWriter
}

// says adds messages to the stream of progress.
func (f *fakePull) says(messages ...string) {
	for _, m := range messages {
		io.WriteString(f.w, m+"\n") //nolint:errcheck // the reader may be gone
	}
	synctest.Wait()
}

// ends ends the stream, with an error if there are words for one.
func (f *fakePull) ends(words string) {
	if words != "" {
		text, _ := json.Marshal(words)
		f.says(`{"errorDetail":{"message":` + string(text) + `}}`)
	}
	f.w.Close()
	synctest.Wait()
}

// pullBench is a puller whose engine is played by the test.
type pullBench struct {
	t  *testing.T
	p  *puller
	mu sync.Mutex
	on []*fakePull // all that began, in order
}

// benched runs a test of a puller in a bubble.
func benched(t *testing.T, cfg Config, test func(b *pullBench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &pullBench{t: t}
		if cfg.MaxPulls == 0 {
			cfg.MaxPulls = 2
		}
		if cfg.PullStall == 0 {
			cfg.PullStall = 5 * time.Minute
		}
		b.p = newPuller(cfg, func(ctx context.Context, name, auth string) (io.ReadCloser, error) {
			r, w := io.Pipe()
			context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
			b.mu.Lock()
			defer b.mu.Unlock()
			b.on = append(b.on, &fakePull{name: name, user: userOf(t, auth), ctx: ctx, w: w})
			return r, nil
		})
		test(b)
		b.p.close()
	})
}

func userOf(t *testing.T, auth string) string {
	if auth == "" {
		return ""
	}
	text, err := base64.URLEncoding.DecodeString(auth)
	if err != nil {
		t.Errorf("credentials %q: %v", auth, err)
	}
	var c registry.AuthConfig
	if err := json.Unmarshal(text, &c); err != nil {
		t.Errorf("credentials %q: %v", text, err)
	}
	return c.Username
}

// asked is the outcome of one call of pull.
type asked struct {
	cancel context.CancelFunc
	done   chan struct{}
	got    pulled
	err    error
}

func (a *asked) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (b *pullBench) ask(req pullRequest) *asked {
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	a := &asked{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.got, a.err = b.p.pull(ctx, req)
	}()
	synctest.Wait()
	return a
}

// begun returns the pulls that have begun, by name.
func (b *pullBench) begun() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, f := range b.on {
		names = append(names, strings.TrimPrefix(f.name, "docker.io/library/"))
	}
	return names
}

func (b *pullBench) pull(i int) *fakePull {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if i >= len(b.on) {
		b.t.Fatalf("only %d pulls have begun", len(b.on))
	}
	return b.on[i]
}

func (b *pullBench) wantBegun(step string, want ...string) {
	b.t.Helper()
	if got := b.begun(); !slices.Equal(got, want) {
		b.t.Errorf("%s: begun %q, want %q", step, got, want)
	}
}

func request(ref string, users ...string) pullRequest {
	named, err := parseImage(ref)
	if err != nil {
		panic(err)
	}
	req := pullRequest{named: named, ref: ref}
	for _, u := range users {
		req.credentials = append(req.credentials, credentials.Credential{Auth: registry.AuthConfig{Username: u, Password: "p"}, From: "f"})
	}
	return req
}

func TestPullsTakeTurns(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		var calls []*asked
		for _, name := range []string{"a:1", "b:1", "c:1", "d:1"} {
			calls = append(calls, b.ask(request(name)))
		}
		b.wantBegun("two at once", "a:1", "b:1")
		urgent := request("pause:1")
		urgent.urgent = true
		b.ask(urgent)
		b.wantBegun("the sandbox image waits for nobody", "a:1", "b:1", "pause:1")
		time.Sleep(3 * time.Second)
		b.pull(1).ends("")
		b.wantBegun("the next in line", "a:1", "b:1", "pause:1", "c:1")
		if c := calls[1]; !c.ended() || c.err != nil || c.got.took != 3*time.Second {
			t.Errorf("b: %+v", c)
		}
		time.Sleep(time.Second)
		b.pull(3).ends("denied")
		b.wantBegun("a failure makes room too", "a:1", "b:1", "pause:1", "c:1", "d:1")
		if c := calls[2]; c.err == nil || c.err.Error() != "denied" || c.got.took != time.Second {
			t.Errorf("c, which waited 3 s and took 1 s: %+v", c)
		}
	})
}

func TestPullsAreSerialised(t *testing.T) {
	benched(t, Config{MaxPulls: 1}, func(b *pullBench) {
		b.ask(request("a:1"))
		b.ask(request("b:1"))
		b.wantBegun("one at once", "a:1")
		b.pull(0).ends("")
		b.wantBegun("then the other", "a:1", "b:1")
	})
}

func TestPullPace(t *testing.T) {
	benched(t, Config{MaxPulls: 9, PullQPS: 0.5, PullBurst: 2}, func(b *pullBench) {
		for i := range 4 {
			b.ask(request(fmt.Sprintf("i%d:1", i)))
		}
		b.wantBegun("a burst", "i0:1", "i1:1")
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if n := len(b.begun()); n != 3 {
			t.Errorf("%d have begun after 2 s, want 3", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(b.begun()); n != 4 {
			t.Errorf("%d have begun after 4 s, want 4", n)
		}
	})
}

func TestPullsAreShared(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		first, second, third := b.ask(request("a:1")), b.ask(request("a")), b.ask(request("docker.io/library/a:1"))
		b.wantBegun("names of one image", "a:1", "a:latest")
		first.cancel()
		synctest.Wait()
		if !first.ended() || !errors.Is(first.err, context.Canceled) {
			t.Errorf("a call that is called off: %+v", first)
		}
		if b.pull(0).ctx.Err() != nil {
			t.Error("it took the pull of another one with it")
		}
		b.pull(0).ends("")
		if !third.ended() || third.err != nil || !third.got.first {
			t.Errorf("the one that is left: %+v", third)
		}
		if second.ended() {
			t.Error("another tag is another pull")
		}
		b.ask(request("a:1"))
		b.wantBegun("the next one is new", "a:1", "a:latest", "a:1")
		other := b.ask(request("a:latest", "user"))
		b.pull(1).ends("")
		if !second.ended() || other.ended() {
			t.Error("what others may read with their credentials was shared")
		}
	})
}

func TestOneOfManyKnowsFirst(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		var calls []*asked
		for range 5 {
			calls = append(calls, b.ask(request("a:1")))
		}
		b.pull(0).ends("")
		first := 0
		for _, c := range calls {
			if !c.ended() || c.err != nil {
				t.Errorf("call %+v", c)
			}
			if c.got.first {
				first++
			}
		}
		if first != 1 {
			t.Errorf("%d are the first to know", first)
		}
	})
}

// A pull that nobody waits for goes on for a moment: a replaced pod wants it.
func TestAbandonedPull(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		b.ask(request("a:1")).cancel()
		time.Sleep(pullLinger - time.Second)
		again := b.ask(request("a:1"))
		time.Sleep(time.Hour / 100)
		synctest.Wait()
		b.wantBegun("it was taken over", "a:1")
		again.cancel()
		time.Sleep(pullLinger + time.Second)
		synctest.Wait()
		if b.pull(0).ctx.Err() == nil {
			t.Error("it goes on for nobody")
		}
		last := b.ask(request("a:1"))
		b.wantBegun("and the next one is new", "a:1", "a:1")
		b.pull(1).ends("")
		if !last.ended() || last.err != nil {
			t.Errorf("the last: %+v", last)
		}

		urgent := request("pause:1")
		urgent.urgent = true
		b.ask(urgent).cancel()
		time.Sleep(2 * pullLinger)
		synctest.Wait()
		if b.pull(2).ctx.Err() != nil {
			t.Error("the pull of the sandbox image was given up")
		}
		waits := b.ask(request("z:1"))
		b.p.close()
		synctest.Wait()
		if !waits.ended() || !errors.Is(waits.err, context.Canceled) || b.pull(2).ctx.Err() == nil {
			t.Errorf("closed: %+v", waits)
		}
	})
}

func TestCredentialsInTurn(t *testing.T) {
	for _, row := range []struct {
		name  string
		users []string
		said  []string // "" is success
		tried []string
		words string
	}{
		{"anonymous", nil, []string{""}, []string{""}, ""},
		{"the first is good", []string{"a", "b"}, []string{""}, []string{"a"}, ""},
		{"the second is good", []string{"a", "b"}, []string{"unauthorized", ""}, []string{"a", "b"}, ""},
		{"none is good", []string{"a", "b"}, []string{"unauthorized", "denied"}, []string{"a", "b"},
			"unauthorized; then, with other credentials: denied"},
		{"the same words twice", []string{"a", "b"}, []string{"denied", "denied"}, []string{"a", "b"}, "denied"},
	} {
		benched(t, Config{}, func(b *pullBench) {
			call := b.ask(request("a:1", row.users...))
			for i, words := range row.said {
				b.pull(i).ends(words)
			}
			var tried []string
			for _, f := range b.on {
				tried = append(tried, f.user)
			}
			if !call.ended() || !slices.Equal(tried, row.tried) {
				t.Errorf("%s: tried %q, want %q; ended %v", row.name, tried, row.tried, call.ended())
			}
			if (call.err != nil) != (row.words != "") || call.err != nil && call.err.Error() != row.words {
				t.Errorf("%s: error %v, want %q", row.name, call.err, row.words)
			}
		})
	}
}
