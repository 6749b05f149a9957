package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/islet-run/islet/docker/credentials"
	"github.com/islet-run/islet/pods"
)

// pullLinger is how long a pull goes on that nobody waits for any more: a pod
// that is replaced asks for the same image again at once, and what is half
// downloaded would be lost.
const pullLinger = 10 * time.Second

// puller pulls images: one pull per image however many ask for it, a few at a
// time, in the order in which they came.
type puller struct {
	// fetch begins a pull and returns its stream of progress. It may block, at
	// most until ctx ends.
	fetch func(ctx context.Context, name, auth string) (io.ReadCloser, error)
	turns *semaphore.Weighted
	pace  *rate.Limiter
	stall time.Duration
	watch func(PullProgress) // nil: the log tells how far pulls have come
	log   zerolog.Logger

	running sync.WaitGroup
	mu      sync.Mutex
	shared  map[string]*sharedPull // guarded by mu; those that can be joined
}

// sharedPull is one pull that several may wait for.
type sharedPull struct {
	key    string
	name   string // for people
	cancel context.CancelFunc
	urgent bool
	done   chan struct{}
	told   atomic.Bool // somebody knows that it has worked

	waiters int         // guarded by puller.mu
	idle    *time.Timer // guarded by puller.mu; runs while nobody waits

	took time.Duration // these are set when done is closed
	err  error
}

// pullRequest is what to pull, and how.
type pullRequest struct {
	named       reference.Named
	ref         string // as written in the pod
	credentials []credentials.Credential
	// urgent pulls take no turn and go on without anybody who waits: nothing
	// starts without the sandbox image.
	urgent bool
}

// key tells pulls apart that may not be shared: what one may read with its
// credentials is nobody else's.
func (r pullRequest) key() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", r.named.String())
	for _, c := range r.credentials {
		fmt.Fprintf(sum, "%q\n", []string{c.Auth.Username, c.Auth.Password, c.Auth.IdentityToken, c.Auth.RegistryToken})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// pulled is a pull that has worked.
type pulled struct {
	took  time.Duration // without the time it waited for its turn
	first bool          // of those who waited for it, this one is the first to know
}

// pull pulls an image or joins a pull of it that is under way. When ctx ends
// only this call does.
func (p *puller) pull(ctx context.Context, req pullRequest) (pulled, error) {
	job := p.join(req)
	select {
	case <-job.done:
		return pulled{took: job.took, first: job.told.CompareAndSwap(false, true)}, job.err
	case <-ctx.Done():
		p.leave(job)
		return pulled{}, ctx.Err()
	}
}

func (p *puller) join(req pullRequest) *sharedPull {
	key := req.key()
	p.mu.Lock()
	defer p.mu.Unlock()
	job := p.shared[key]
	if job == nil {
		ctx, cancel := context.WithCancel(context.Background())
		job = &sharedPull{key: key, name: req.ref, cancel: cancel, urgent: req.urgent, done: make(chan struct{})}
		if p.shared == nil {
			p.shared = map[string]*sharedPull{}
		}
		p.shared[key] = job
		p.running.Go(func() { p.run(ctx, job, req) })
	}
	job.waiters++
	if job.idle != nil {
		job.idle.Stop()
		job.idle = nil
	}
	return job
}

func (p *puller) leave(job *sharedPull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	job.waiters--
	if job.waiters == 0 && !job.urgent && p.shared[job.key] == job {
		job.idle = time.AfterFunc(pullLinger, func() { p.abandon(job) })
	}
}

// abandon ends a pull that nobody waits for.
func (p *puller) abandon(job *sharedPull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if job.waiters > 0 || p.shared[job.key] != job {
		return
	}
	delete(p.shared, job.key) // who comes now begins anew
	job.cancel()
	p.log.Info().Str("image", job.name).Msg("image pull is called off: nobody waits for it any more")
}

// close ends all pulls that are under way and waits until they have ended.
func (p *puller) close() {
	p.mu.Lock()
	for key, job := range p.shared {
		delete(p.shared, key)
		job.cancel()
		if job.idle != nil {
			job.idle.Stop()
		}
	}
	p.mu.Unlock()
	p.running.Wait()
}

// run carries a shared pull out.
func (p *puller) run(ctx context.Context, job *sharedPull, req pullRequest) {
	defer job.cancel()
	job.took, job.err = p.inTurn(ctx, req)
	p.mu.Lock()
	if p.shared[job.key] == job {
		delete(p.shared, job.key)
	}
	if job.idle != nil {
		job.idle.Stop()
	}
	p.mu.Unlock()
	close(job.done)
}

// inTurn waits for the turn of a pull and pulls.
func (p *puller) inTurn(ctx context.Context, req pullRequest) (time.Duration, error) {
	if !req.urgent {
		if !p.turns.TryAcquire(1) {
			p.log.Info().Str("image", req.ref).Msg("image pull waits for others to end")
			if err := p.turns.Acquire(ctx, 1); err != nil {
				return 0, err
			}
		}
		defer p.turns.Release(1)
		if err := p.pace.Wait(ctx); err != nil {
			return 0, err
		}
	}
	since := time.Now()
	err := p.tryAll(ctx, req)
	return time.Since(since), err
}

// tryAll pulls with one credential after the other until one is good enough.
// A registry says "not found" as well as "denied" to those who may not know.
func (p *puller) tryAll(ctx context.Context, req pullRequest) error {
	report := newPullReport(req.ref, p.watch, p.log)
	list := req.credentials
	if len(list) == 0 {
		list = []credentials.Credential{{}}
	}
	var refused []error
	for i, c := range list {
		auth, err := encode(c.Auth)
		if err != nil {
			return fmt.Errorf("use credentials of %s: %w", c.From, err)
		}
		report.begin(c.From)
		err = p.fetchAll(ctx, req, auth, report)
		if err == nil {
			report.end(nil)
			return nil
		}
		refused = append(refused, err)
		if ctx.Err() != nil || isAway(err) || errors.Is(err, errStalled) {
			break
		}
		if i+1 < len(list) {
			p.log.Debug().Err(err).Str("image", req.ref).Str("from", c.From).Msg("image pull failed; trying the next credentials")
		}
	}
	err := combine(refused)
	report.end(err)
	return err
}

// encode is the form in which the engine wants credentials; "" is anonymous.
func encode(auth registry.AuthConfig) (string, error) {
	if auth == (registry.AuthConfig{}) {
		return "", nil
	}
	return registry.EncodeAuthConfig(auth)
}

// errStalled is matched by the error of a pull that was given up because
// nothing came from the registry any more.
var errStalled = errors.New("the download stands still")

// fetchAll carries out one try of a pull. There is no limit to how long it
// takes as long as something comes. What the engine does by itself with what it
// has (checking, unpacking) may be silent for long and is waited for.
func (p *puller) fetchAll(ctx context.Context, req pullRequest, auth string, report *pullReport) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(p.stall, func() { cancel(errStalled) })
	defer timer.Stop()
	var layers layerTrack
	err := func() error {
		stream, err := p.fetch(ctx, req.named.String(), auth)
		if err != nil {
			return err
		}
		defer stream.Close()
		before := p.stall
		return readPull(stream, func(m pullMessage) {
			heard := layers.take(m)
			limit := layers.patience(p.stall)
			switch {
			case limit == 0:
				timer.Stop()
			case heard || limit != before:
				timer.Reset(limit)
			}
			before = limit
			report.progress(&layers)
		})
	}()
	if err != nil && context.Cause(ctx) == errStalled {
		return fmt.Errorf("%w: nothing came from the registry for %v (%s); given up", errStalled, layers.patience(p.stall), layers.summary())
	}
	return err
}

// combine makes one error of the failures of several tries, each said once.
func combine(list []error) error {
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	var rest []string
	said := map[string]bool{words(last): true}
	for _, err := range list[:len(list)-1] {
		if w := words(err); !said[w] {
			said[w] = true
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		return last
	}
	text := ""
	for _, w := range rest {
		text += w + "; then, with other credentials: "
	}
	return &retold{text: text + words(last), err: last}
}

// retold is an error in other words.
type retold struct {
	text string
	err  error
}

func (e *retold) Error() string { return e.text }
func (e *retold) Unwrap() error { return e.err }

// newPuller returns the puller of an Engine.
func newPuller(cfg Config, fetch func(context.Context, string, string) (io.ReadCloser, error)) *puller {
	pace := rate.Inf
	if cfg.PullQPS > 0 {
		pace = rate.Limit(cfg.PullQPS)
	}
	return &puller{
		fetch: fetch,
		turns: semaphore.NewWeighted(int64(cfg.MaxPulls)),
		pace:  rate.NewLimiter(pace, max(1, cfg.PullBurst)),
		stall: cfg.PullStall,
		watch: cfg.WatchPulls,
		log:   cfg.Log,
	}
}

// pullError gives a failed pull the waiting reason the kubelet would show.
func pullError(ref string, err error, lookup error) error {
	if lookup != nil && !errors.Is(err, context.Canceled) {
		// Why it was tried with less than there might have been.
		err = &retold{text: words(err) + " (" + lookup.Error() + ")", err: err}
	}
	err = &retold{text: concise(words(err)), err: err}
	reason := pods.ReasonErrImagePull
	if !isAway(err) && unavailable(err.Error()) {
		reason = pods.ReasonRegistryUnavailable
	}
	return engineError(reason, fmt.Sprintf("pull image %q", ref), err)
}
