package main

import (
	"context"
	"io"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"github.com/islet-run/islet/httpapi"
)

// runIslet runs islet until ctx ends. Pods keep running then, unless
// --stop-pods-on-exit says otherwise.
func runIslet(ctx context.Context, opts runOptions, _, stderr io.Writer) error {
	if bar := newPullBar(stderr, opts.LogFormat); bar != nil {
		stderr, opts.showPull = bar, bar.show
	}
	log := newLogger(stderr, opts.LogFormat, opts.Verbosity)
	i, err := assemble(opts, log)
	if err != nil {
		return err
	}
	defer i.close()
	listener, err := httpapi.ListenUnix(i.store.Path(socketName))
	if err != nil {
		return err
	}
	log.Info().Str("version", versionInfo()["version"]).Str("manifests", opts.PodManifestPath).Str("rootDir", i.store.Root()).
		Str("engine", opts.DockerEndpoint).Str("owner", i.store.Owner()).Msg("islet starts")

	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	handler := httpapi.Handler(i.answers(running, end), log)
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return httpapi.Serve(ctx, listener, handler, log) },
		func(inner context.Context) error { return i.untilTold(ctx, inner, opts.StopPodsOnExit, end) },
		func(ctx context.Context) error { tellReady(ctx, log); return nil },
		i.keepRoot,
	}
	if address := opts.HealthzAddress(); address != "" {
		parts = append(parts, func(ctx context.Context) error { httpapi.ServeHealth(ctx, address, log); return nil })
	}
	err = i.run(running, parts...)
	log.Info().Msg("islet ends")
	return err
}

// untilTold ends islet when told, after the pods have ended if that is wanted.
func (i *islet) untilTold(told, running context.Context, stopPods bool, end func()) error {
	select {
	case <-running.Done():
		return nil
	case <-told.Done():
	}
	notify(daemon.SdNotifyStopping, i.log)
	if stopPods {
		err := i.stopPods(running, running, end, func(line string) { i.log.Info().Msg(line) })
		if err != nil {
			end()
			return err
		}
	} else {
		i.log.Info().Msg("pods keep running; the next run takes them over, 'islet down' stops them")
	}
	end()
	return nil
}

// tellReady tells systemd. islet is up as soon as its socket answers: an engine
// that is away is waited for and no reason to be restarted.
func tellReady(_ context.Context, log zerolog.Logger) { notify(daemon.SdNotifyReady, log) }

func notify(state string, log zerolog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Msg("systemd was not notified")
	}
}

// answers is the table of functions behind the socket.
func (i *islet) answers(running context.Context, end func()) httpapi.Config {
	return httpapi.Config{
		Pods:      i.podList,
		Manifests: i.manifests,
		Why:       i.why,
		Ready:     i.ready,
		Version:   versionInfo(),
		Down: func(ctx context.Context, report func(string)) error {
			err := i.stopPods(ctx, running, end, report)
			if err == nil {
				report("islet ends")
			}
			return err
		},
	}
}
