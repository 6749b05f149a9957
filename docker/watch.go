package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/islet-run/islet/pods"
)

const (
	firstRetry  = 100 * time.Millisecond
	lastRetry   = 2 * time.Second
	pingTimeout = 5 * time.Second
	pingPeriod  = 30 * time.Second
	// steady is how long a connection lasts that ends an outage for good.
	steady = 10 * time.Second
)

// Watch supervises the connection to the engine and delivers hints until ctx
// ends; it then returns ctx's error. It is to run once per Engine.
//
// Each time the engine answers it is made ready and EngineUp is sent. When it
// goes away, or cannot be made ready, EngineDown is sent and logged once and it
// is tried again until it works, at least every two seconds.
func (e *Engine) Watch(ctx context.Context, notify func(pods.EngineEvent)) error {
	wait, down := firstRetry, false
	for {
		since := time.Now()
		up, err := e.session(ctx, notify, down)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if up {
			down = false
			if time.Since(since) > steady {
				wait = firstRetry
			}
		}
		if !down {
			down = true
			e.log.Warn().Err(err).Msg(trouble(err) + "; trying again until it works")
			notify(pods.EngineEvent{Kind: pods.EngineDown, Err: err})
		} else {
			e.log.Debug().Err(err).Msg("still: " + trouble(err))
		}
		if sleep(ctx, wait) != nil {
			return ctx.Err()
		}
		wait = min(2*wait, lastRetry)
	}
}

// trouble says in general what a session failed of.
func trouble(err error) string {
	if errors.Is(err, pods.ErrEngineAway) {
		return "engine does not answer"
	}
	return "engine answers and cannot be used"
}

// session is one connection, from the first ping to the end of its event
// stream. up reports whether EngineUp was sent.
func (e *Engine) session(ctx context.Context, notify func(pods.EngineEvent), again bool) (up bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := e.connect(ctx); err != nil {
		return false, err
	}
	if err := e.prepare(ctx); err != nil {
		return false, err
	}
	// Before EngineUp, which has everything listed: nothing is missed between.
	stream, errs := e.api().Events(ctx, e.subscription())
	select {
	case err := <-errs:
		return false, failed("subscribe to events", err)
	default:
	}
	e.index.connected()
	defer e.index.lost()
	facts := e.Facts()
	e.log.Info().Str("engine", facts.EngineName).Str("version", facts.EngineVersion).Str("api", facts.APIVersion).
		Bool("again", again).Msg("engine answers")
	notify(pods.EngineEvent{Kind: pods.EngineUp})
	alive := time.NewTicker(pingPeriod)
	defer alive.Stop()
	for {
		select {
		case <-alive.C:
			// A daemon that hangs keeps its connections; only asking finds out.
			if err := e.ping(ctx); err != nil {
				return true, err
			}
		case m := <-stream:
			if event, ok := e.take(m); ok {
				notify(event)
			}
		case err := <-errs:
			return true, &callError{call: "read events", err: err, away: true}
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// ping asks the engine whether it still answers.
func (e *Engine) ping(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := e.api().Ping(short)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if short.Err() != nil {
		err = fmt.Errorf("no answer within %v", pingTimeout)
	}
	return &callError{call: "ping engine", err: err, away: true}
}

// connect makes a client that fits the daemon. A client settles on an API
// version once and for all, and only ever downwards: the one from before an
// upgrade of the daemon may be of no use after it.
func (e *Engine) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	conn, err := e.dial()
	if err != nil {
		return err
	}
	ping, err := conn.Ping(ctx)
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", pingTimeout)
		}
		return &callError{call: "reach engine", err: err, away: true}
	}
	e.adopt(conn, ping)
	return nil
}

// adopt puts a new client in place when the API version is another one, and
// otherwise keeps the old one, whose calls may be under way.
func (e *Engine) adopt(conn *client.Client, ping types.Ping) {
	conn.NegotiateAPIVersionPing(ping)
	e.mu.Lock()
	first := e.facts.APIVersion == ""
	changed := e.facts.APIVersion != conn.ClientVersion()
	e.facts.APIVersion = conn.ClientVersion()
	e.mu.Unlock()
	if !first && !changed {
		conn.Close()
		return
	}
	// The old one is not closed: that would only drop its idle connections,
	// which end by themselves.
	e.conn.Store(conn)
}

// prepare finds out what the engine can do and makes the sandbox image and the
// network ready. A network that cannot be made does not keep pods with host
// network from running; those that need it are refused with the reason.
func (e *Engine) prepare(ctx context.Context) error {
	e.networkReady.Store(false)
	if err := e.readBoot(); err != nil {
		return err
	}
	if e.cfg.PauseImage == "" {
		if err := e.ensureSandboxImage(ctx); err != nil {
			return err
		}
	}
	if err := e.ensureNetwork(ctx); err != nil {
		if isAway(err) {
			return err
		}
		e.log.Error().Err(err).Str("network", e.cfg.NetworkName).Msg("pods without host network cannot start")
	}
	return e.probe(ctx)
}

// subscription asks for what happens to containers of this owner. Execs are
// left out: probes would flood the stream, with their command lines in it.
func (e *Engine) subscription() events.ListOptions {
	by := filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("label", labelOwner+"="+e.cfg.Owner),
	)
	for _, action := range []events.Action{
		events.ActionCreate, events.ActionStart, events.ActionDie, events.ActionOOM, events.ActionDestroy,
	} {
		by.Add("event", string(action))
	}
	return events.ListOptions{Filters: by}
}

// take brings an event into the index and says whom to tell of it.
func (e *Engine) take(m events.Message) (pods.EngineEvent, bool) {
	id, name := m.Actor.ID, m.Actor.Attributes["name"]
	who, ok := identify(e.cfg.Owner, name, m.Actor.Attributes)
	if !ok {
		return pods.EngineEvent{}, false
	}
	tell := true
	switch m.Action {
	case events.ActionDestroy:
		e.index.drop(id)
	case events.ActionCreate, events.ActionStart:
		e.index.add(id, name, who)
		e.index.changed(id)
		// An own call under way tells its caller itself when it returns.
		tell = !e.index.isInflight(name)
	default:
		e.index.add(id, name, who)
		e.index.changed(id)
	}
	return pods.EngineEvent{Kind: pods.EngineChanged, Key: who.key}, tell
}
