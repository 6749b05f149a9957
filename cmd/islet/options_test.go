package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestRunOptionsValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*runOptions)
		want string // part of the error; "" for none
	}{
		{"defaults", func(*runOptions) {}, ""},
		{"no manifests", func(o *runOptions) { o.PodManifestPath = "" }, "--pod-manifest-path is empty"},
		{"no root", func(o *runOptions) { o.RootDir = "" }, "--root-dir is empty"},
		{"no poll", func(o *runOptions) { o.FileCheckFrequency = 0 }, "--file-check-frequency 0s"},
		{"negative poll", func(o *runOptions) { o.FileCheckFrequency = -time.Second }, "--file-check-frequency -1s"},
		{"name", func(o *runOptions) { o.Hostname = "edge-1.example.com" }, ""},
		{"bad name", func(o *runOptions) { o.Hostname = "edge_1" }, "--hostname-override"},
		{"address", func(o *runOptions) { o.NodeIPs = []string{"10.0.0.5", "fd00::5"} }, ""},
		{"two of a family", func(o *runOptions) { o.NodeIPs = []string{"10.0.0.5", "10.0.0.6"} }, "at most one address of each family"},
		{"mapped is v4", func(o *runOptions) { o.NodeIPs = []string{"10.0.0.5", "::ffff:10.0.0.6"} }, "at most one"},
		{"no address", func(o *runOptions) { o.NodeIPs = []string{"edge"} }, `--node-ip "edge"`},
		{"loopback", func(o *runOptions) { o.NodeIPs = []string{"127.0.0.1"} }, "not an address that others"},
		{"any", func(o *runOptions) { o.NodeIPs = []string{"0.0.0.0"} }, "not an address that others"},
		{"tcp engine", func(o *runOptions) { o.DockerEndpoint = "tcp://10.0.0.1:2376" }, ""},
		{"bare socket", func(o *runOptions) { o.DockerEndpoint = "/var/run/docker.sock" }, "must begin with unix://"},
		{"no socket", func(o *runOptions) { o.DockerEndpoint = "unix://" }, "names no socket"},
		{"no host", func(o *runOptions) { o.DockerEndpoint = "tcp://" }, "names no host"},
		{"no URL", func(o *runOptions) { o.DockerEndpoint = "unix://%zz" }, "is not a URL"},
		{"log size", func(o *runOptions) { o.ContainerLogMaxSize = -1 }, "--container-log-max-size"},
		{"dead containers", func(o *runOptions) { o.MaxDeadPerContainer = 0 }, "--maximum-dead-containers-per-container 0 must be more than 0: the last run and its log are kept"},
		{"age of dead containers", func(o *runOptions) { o.MinContainerTTL = -1 }, "--minimum-container-ttl-duration -1ns must not be negative"},
		{"log files", func(o *runOptions) { o.ContainerLogMaxFiles = 1 }, "--container-log-max-files 1 must be more than 1"},
		{"one pull", func(o *runOptions) { o.SerializeImagePulls = true }, ""},
		{"one pull, said twice", func(o *runOptions) { o.SerializeImagePulls, o.MaxParallelImagePulls = true, 1 }, ""},
		{"one pull and five", func(o *runOptions) { o.SerializeImagePulls, o.MaxParallelImagePulls = true, 5 }, "contradicts --serialize-image-pulls"},
		{"no pulls", func(o *runOptions) { o.MaxParallelImagePulls = 0 }, "--max-parallel-image-pulls 0"},
		{"no limit of pace", func(o *runOptions) { o.RegistryPullQPS, o.RegistryBurst = 0, 0 }, ""},
		{"pace", func(o *runOptions) { o.RegistryPullQPS = -1 }, "--registry-qps -1"},
		{"burst", func(o *runOptions) { o.RegistryBurst = 0 }, "--registry-burst 0"},
		{"health off", func(o *runOptions) { o.HealthzPort = 0 }, ""},
		{"health port", func(o *runOptions) { o.HealthzPort = 70000 }, "--healthz-port"},
		{"health address", func(o *runOptions) { o.HealthzBindAddress = "localhost" }, "--healthz-bind-address"},
		{"log format", func(o *runOptions) { o.LogFormat = "xml" }, "--log-format"},
		{"verbosity", func(o *runOptions) { o.Verbosity = -1 }, "--v -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := defaultRunOptions()
			tt.edit(&opts)
			err := opts.Validate()
			if tt.want == "" && err != nil {
				t.Fatal(err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestRunOptionsAreMadeDefinite(t *testing.T) {
	opts := defaultRunOptions()
	opts.PodManifestPath, opts.RootDir, opts.Hostname = "m", "./state/", " Edge-1 "
	if err := opts.Validate(); err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(opts.PodManifestPath) || !filepath.IsAbs(opts.RootDir) || strings.HasSuffix(opts.RootDir, "/") {
		t.Errorf("paths %q, %q", opts.PodManifestPath, opts.RootDir)
	}
	opts.SerializeImagePulls = true
	if err := opts.Validate(); err != nil || opts.MaxParallelImagePulls != 1 {
		t.Errorf("%d pulls at once, %v", opts.MaxParallelImagePulls, err)
	}
	if opts.Hostname != "edge-1" {
		t.Errorf("hostname %q", opts.Hostname)
	}
}

func TestRunFlags(t *testing.T) {
	opts := defaultRunOptions()
	cmd := &cobra.Command{Use: "run"}
	opts.addFlags(cmd)
	err := cmd.ParseFlags([]string{
		"--pod-manifest-path=/m", "--root-dir=/r", "--file-check-frequency=5s", "--hostname-override=h", "--node-ip=10.0.0.1,fd00::1",
		"--docker-endpoint=unix:///d", "--pod-infra-container-image=p", "--container-log-max-size=1Mi", "--container-log-max-files=3",
		"--maximum-dead-containers-per-container=2", "--minimum-container-ttl-duration=1m",
		"--serialize-image-pulls", "--max-parallel-image-pulls=1", "--registry-qps=0.5", "--registry-burst=3",
		"--stop-pods-on-exit", "--healthz-bind-address=::1", "--healthz-port=1", "--log-format=json", "-v", "2",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := opts.Validate(); err != nil {
		t.Fatal(err)
	}
	switch {
	case opts.PodManifestPath != "/m", opts.RootDir != "/r", opts.FileCheckFrequency != 5*time.Second, opts.Hostname != "h",
		len(opts.NodeIPs) != 2, opts.DockerEndpoint != "unix:///d", opts.PodInfraContainerImage != "p",
		opts.MaxDeadPerContainer != 2, opts.MinContainerTTL != time.Minute,
		!opts.SerializeImagePulls, opts.MaxParallelImagePulls != 1, opts.RegistryPullQPS != 0.5, opts.RegistryBurst != 3,
		opts.ContainerLogMaxSize != 1<<20, opts.ContainerLogMaxFiles != 3, !opts.StopPodsOnExit, opts.LogFormat != "json", opts.Verbosity != 2:
		t.Errorf("a flag did not arrive: %+v", opts)
	}
	if got := opts.HealthzAddress(); got != "[::1]:1" {
		t.Errorf("health address %q", got)
	}
	opts.HealthzPort = 0
	if got := opts.HealthzAddress(); got != "" {
		t.Errorf("health address %q with port 0", got)
	}
}

func TestDownOptionsValidate(t *testing.T) {
	opts := defaultDownOptions()
	if err := opts.Validate(); err != nil {
		t.Fatal(err)
	}
	opts.RootDir, opts.DockerEndpoint, opts.Timeout = "", "x", -time.Second
	err := opts.Validate()
	for _, flag := range []string{"--root-dir", "--docker-endpoint", "--timeout"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v does not name %s", err, flag)
		}
	}
}
