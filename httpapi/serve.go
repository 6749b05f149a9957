package httpapi

import (
	"context"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// ShutdownGrace is how long requests that run when the context of [Serve] ends
// may take to finish before their connections are cut.
const ShutdownGrace = 5 * time.Second

// healthRetry is the pause between attempts to get the health address, as the
// kubelet has it.
const healthRetry = 5 * time.Second

// Serve answers requests on listener until ctx ends, then lets running ones
// finish for [ShutdownGrace]. It owns the listener and closes it. Requests see
// a context that ends with ctx. It returns nil after ctx ended and the cause
// when the listener broke before.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log zerolog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          stdlog.New(log.With().Str("source", "http").Logger(), "", 0),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		shutdown(server)
	})
	err := server.Serve(listener)
	if stop() { // ctx has not ended: the listener broke
		_ = server.Close()
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	<-stopped // Serve of net/http returns before the requests have finished
	return nil
}

func shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), ShutdownGrace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// ServeHealth answers [HealthHandler] on a TCP address until ctx ends. An
// address that cannot be had is logged once per reason and tried again: health
// is a convenience and no ground to stop running pods.
func ServeHealth(ctx context.Context, address string, log zerolog.Logger) {
	serveHealth(ctx, address, healthRetry, log)
}

func serveHealth(ctx context.Context, address string, retry time.Duration, log zerolog.Logger) {
	last := ""
	for ctx.Err() == nil {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", address)
		if err == nil {
			if last != "" {
				log.Info().Str("address", address).Msg("health address is free again")
			}
			last = ""
			err = Serve(ctx, listener, HealthHandler(log), log)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != last {
			last = err.Error()
			log.Warn().Err(err).Str("address", address).
				Msg("health is not served; free the address, or choose another with --healthz-port (0 is off)")
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}
