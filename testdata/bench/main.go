package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"

	"github.com/islet-run/islet/testdata/images"
)

// options are the flags.
type options struct {
	islet    string
	pods     int
	rounds   int
	parallel int
	idle     time.Duration
	many     int
	stops    int
}

func main() {
	var o options
	flag.StringVar(&o.islet, "islet", "bin/islet", "the program to measure")
	flag.IntVar(&o.pods, "pods", 15, "number of pods, one by one and at once")
	flag.IntVar(&o.rounds, "rounds", 3, "how often all of them are started at once")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "pods that the floor starts at a time, as islet does")
	flag.DurationVar(&o.idle, "idle", time.Minute, "how long idle figures are taken; 0 leaves them out")
	flag.IntVar(&o.many, "many", 40, "number of pods under which islet idles and is restarted; 0 leaves that out")
	flag.IntVar(&o.stops, "stops", 10, "number of pods that are stopped one by one; 0 leaves that out")
	flag.Parse()
	if flag.NArg() > 0 || o.pods < 1 || o.rounds < 0 || o.parallel < 1 || o.many < 0 || o.stops < 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	docker, err := client.NewClientWithOpts(client.WithHostFromEnv(), client.WithTLSClientConfigFromEnv(), client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	defer docker.Close()
	if err := exampleImage(ctx, docker); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "islet-bench.")
	if err != nil {
		return err
	}
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()

	starts, err := watchStarts(ctx, docker)
	if err != nil {
		return err
	}
	stops, err := watchStops(ctx, docker)
	if err != nil {
		return err
	}
	b := &bench{options: o, docker: docker, starts: starts, ended: stops, engine: findEngine(docker.DaemonHost())}
	b.islet = &islet{program: o.islet, dir: filepath.Join(tmp, "manifests"), root: filepath.Join(tmp, "state"), log: filepath.Join(tmp, "islet.log"), docker: docker}
	b.floor = &floor{docker: docker, dir: filepath.Join(tmp, "floor"), owner: "bench-" + filepath.Base(tmp)}
	defer func() { err = errors.Join(err, b.cleanUp()) }()
	return b.measure(ctx)
}

func exampleImage(ctx context.Context, docker *client.Client) error {
	busybox, err := images.FindBusybox()
	if err != nil {
		return err
	}
	example, err := images.NewExample(ctx, busybox)
	if err != nil {
		return err
	}
	_, err = example.Import(ctx, docker)
	return err
}
