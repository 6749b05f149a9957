package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/islet-run/islet/docker"
)

const (
	defaultRootDir      = "/var/lib/islet"
	defaultManifestPath = "/etc/kubernetes/manifests"
	defaultDockerHost   = "unix:///var/run/docker.sock"
	socketName          = "islet.sock" // in the root-dir
)

// runOptions are the flags of run. They carry the names of the kubelet where
// they mean the same.
type runOptions struct {
	PodManifestPath        string        // directory or file; absolute once validated
	RootDir                string        // absolute once validated
	FileCheckFrequency     time.Duration // > 0
	Hostname               string        // "": the machine's; lower case once validated
	NodeIPs                []string      // none, one, or one of each family
	PodInfraContainerImage string        // "": the embedded pause image
	DockerEndpoint         string        // URL
	ContainerLogMaxSize    int64         // bytes, > 0
	ContainerLogMaxFiles   int           // > 1
	MaxDeadPerContainer    int           // > 0
	MinContainerTTL        time.Duration // >= 0
	SerializeImagePulls    bool
	MaxParallelImagePulls  int     // > 0; 1 once validated with SerializeImagePulls
	RegistryPullQPS        float64 // 0: no limit
	RegistryBurst          int     // > 0 with a limit
	StopPodsOnExit         bool
	AdoptOwner             string // 32 hex digits; "": none
	HealthzBindAddress     string
	HealthzPort            int    // 0: off
	LogFormat              string // auto, json, human
	Verbosity              int    // 0: info, 1: debug, 2 and more: trace

	showPull func(docker.PullProgress) // no flag; nil: the log tells how pulls come along
}

func defaultRunOptions() runOptions {
	return runOptions{
		PodManifestPath:      defaultManifestPath,
		RootDir:              defaultRootDir,
		FileCheckFrequency:   20 * time.Second,
		DockerEndpoint:       dockerEndpoint(),
		ContainerLogMaxSize:  10 << 20,
		ContainerLogMaxFiles: 5,
		MaxDeadPerContainer:  1,
		// The kubelet pulls one at a time unless told otherwise; see the engine
		// adapter for why islet does not.
		MaxParallelImagePulls: docker.DefaultMaxPulls,
		RegistryPullQPS:       5,
		RegistryBurst:         10,
		HealthzBindAddress:    "127.0.0.1",
		HealthzPort:           10248,
		LogFormat:             "auto",
	}
}

// dockerEndpoint is the default of --docker-endpoint: DOCKER_HOST as every
// Docker client reads it.
func dockerEndpoint() string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return host
	}
	return defaultDockerHost
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.PodManifestPath, "pod-manifest-path", o.PodManifestPath, "directory of manifests, or one file")
	addRootDir(cmd, &o.RootDir)
	f.DurationVar(&o.FileCheckFrequency, "file-check-frequency", o.FileCheckFrequency, "how often manifests are read again even when no change was seen")
	f.StringVar(&o.Hostname, "hostname-override", "", "name of this node instead of its hostname")
	f.StringSliceVar(&o.NodeIPs, "node-ip", nil, "address of this node, or two of different families separated by a comma, instead of the one found")
	addDockerEndpoint(f, &o.DockerEndpoint)
	f.StringVar(&o.PodInfraContainerImage, "pod-infra-container-image", "", "image of the pause container instead of the built-in one")
	f.Var((*byteSize)(&o.ContainerLogMaxSize), "container-log-max-size", "size at which the log of a container is rotated")
	f.IntVar(&o.ContainerLogMaxFiles, "container-log-max-files", o.ContainerLogMaxFiles, "log files kept per container (at least 2)")
	f.IntVar(&o.MaxDeadPerContainer, "maximum-dead-containers-per-container", o.MaxDeadPerContainer, "ended runs kept of each container, for their logs (at least 1)")
	f.DurationVar(&o.MinContainerTTL, "minimum-container-ttl-duration", 0, "keep ended runs at least this long")
	f.BoolVar(&o.SerializeImagePulls, "serialize-image-pulls", false, "pull one image at a time")
	f.IntVar(&o.MaxParallelImagePulls, "max-parallel-image-pulls", o.MaxParallelImagePulls, "how many images are pulled at once")
	f.Float64Var(&o.RegistryPullQPS, "registry-qps", o.RegistryPullQPS, "how many pulls begin per second in the long run (0: no limit)")
	f.IntVar(&o.RegistryBurst, "registry-burst", o.RegistryBurst, "how many pulls may begin at once before --registry-qps counts")
	f.BoolVar(&o.StopPodsOnExit, "stop-pods-on-exit", false, "stop all pods, each with its grace, when islet ends")
	f.StringVar(&o.AdoptOwner, "adopt-owner", "", "take over the pods of this owner id, of another root-dir or of state that was lost")
	f.StringVar(&o.HealthzBindAddress, "healthz-bind-address", o.HealthzBindAddress, "address of the plain health port")
	f.IntVar(&o.HealthzPort, "healthz-port", o.HealthzPort, "plain health port (0: off)")
	f.StringVar(&o.LogFormat, "log-format", o.LogFormat, "auto, json or human; auto is human on a terminal")
	f.IntVarP(&o.Verbosity, "v", "v", 0, "how much is logged: 0 what changes, 1 why, 2 everything")
	completeWith(cmd, "log-format", "auto", "json", "human")
	_ = cmd.MarkFlagDirname("pod-manifest-path")
}

// Validate checks the options, all of them, and brings paths and names into
// the form that their comments promise.
func (o *runOptions) Validate() error {
	var faults []error
	bad := func(flag, format string, args ...any) {
		faults = append(faults, fmt.Errorf("--%s %s", flag, fmt.Sprintf(format, args...)))
	}
	if o.PodManifestPath == "" {
		bad("pod-manifest-path", "is empty: name a directory or a file")
	} else if err := makeAbsolute(&o.PodManifestPath); err != nil {
		bad("pod-manifest-path", "%v", err)
	}
	checkRootDir(&o.RootDir, bad)
	if o.FileCheckFrequency <= 0 {
		bad("file-check-frequency", "%v must be more than 0", o.FileCheckFrequency)
	}
	o.Hostname = strings.ToLower(strings.TrimSpace(o.Hostname))
	if o.Hostname != "" {
		for _, fault := range validation.IsDNS1123Subdomain(o.Hostname) {
			bad("hostname-override", "%q: %s", o.Hostname, fault)
		}
	}
	o.checkNodeIPs(bad)
	checkDockerEndpoint(o.DockerEndpoint, bad)
	if o.ContainerLogMaxSize <= 0 {
		bad("container-log-max-size", "%d must be more than 0", o.ContainerLogMaxSize)
	}
	if o.ContainerLogMaxFiles <= 1 {
		bad("container-log-max-files", "%d must be more than 1: one is written while another is read", o.ContainerLogMaxFiles)
	}
	if o.MaxDeadPerContainer < 1 {
		bad("maximum-dead-containers-per-container", "%d must be more than 0: the last run and its log are kept", o.MaxDeadPerContainer)
	}
	if o.MinContainerTTL < 0 {
		bad("minimum-container-ttl-duration", "%v must not be negative", o.MinContainerTTL)
	}
	o.checkPulls(bad)
	if o.AdoptOwner != "" && !ownerID.MatchString(o.AdoptOwner) {
		bad("adopt-owner", "%q must be 32 hex digits, as label run.islet.owner of a container has them", o.AdoptOwner)
	}
	if o.HealthzPort < 0 || o.HealthzPort > 65535 {
		bad("healthz-port", "%d must be between 0 and 65535", o.HealthzPort)
	}
	if _, err := netip.ParseAddr(o.HealthzBindAddress); err != nil {
		bad("healthz-bind-address", "%q is not an IP address", o.HealthzBindAddress)
	}
	switch o.LogFormat {
	case "auto", "json", "human":
	default:
		bad("log-format", "%q must be auto, json or human", o.LogFormat)
	}
	if o.Verbosity < 0 {
		bad("v", "%d must not be negative", o.Verbosity)
	}
	return errors.Join(faults...)
}

func (o *runOptions) checkPulls(bad func(flag, format string, args ...any)) {
	switch {
	case o.MaxParallelImagePulls <= 0:
		bad("max-parallel-image-pulls", "%d must be more than 0", o.MaxParallelImagePulls)
	case o.SerializeImagePulls && o.MaxParallelImagePulls != 1 && o.MaxParallelImagePulls != docker.DefaultMaxPulls:
		bad("max-parallel-image-pulls", "%d contradicts --serialize-image-pulls", o.MaxParallelImagePulls)
	case o.SerializeImagePulls:
		o.MaxParallelImagePulls = 1
	}
	if o.RegistryPullQPS < 0 {
		bad("registry-qps", "%v must not be negative", o.RegistryPullQPS)
	}
	if o.RegistryBurst <= 0 && o.RegistryPullQPS > 0 {
		bad("registry-burst", "%d must be more than 0", o.RegistryBurst)
	}
}

func (o *runOptions) checkNodeIPs(bad func(flag, format string, args ...any)) {
	families := map[bool]int{}
	for _, text := range o.NodeIPs {
		address, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			bad("node-ip", "%q is not an IP address", text)
		case address.IsUnspecified(), address.IsLoopback(), address.IsMulticast():
			bad("node-ip", "%s is not an address that others could reach this node at", address)
		default:
			families[address.Unmap().Is4()]++
		}
	}
	if families[true] > 1 || families[false] > 1 {
		bad("node-ip", "%s: at most one address of each family", strings.Join(o.NodeIPs, ","))
	}
}

// ownerID is the form of an owner id.
var ownerID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// HealthzAddress is where the plain health port listens, "" when it is off.
func (o *runOptions) HealthzAddress() string {
	if o.HealthzPort == 0 {
		return ""
	}
	return net.JoinHostPort(o.HealthzBindAddress, strconv.Itoa(o.HealthzPort))
}

// downOptions are the flags of down.
type downOptions struct {
	RootDir        string        // absolute once validated
	DockerEndpoint string        // URL; used when islet itself does not run
	Timeout        time.Duration // 0: as long as the pods take
	All            bool          // every owner on the engine
	Purge          bool          // remove what is left too
	Yes            bool          // do not ask
}

func defaultDownOptions() downOptions {
	return downOptions{RootDir: defaultRootDir, DockerEndpoint: dockerEndpoint()}
}

func (o *downOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	addRootDir(cmd, &o.RootDir)
	addDockerEndpoint(cmd.Flags(), &o.DockerEndpoint)
	cmd.Flags().BoolVar(&o.All, "all", false, "stop the pods of every islet on the engine, also of those whose state is lost; asks first")
	cmd.Flags().BoolVar(&o.Purge, "purge", false, "also remove network, pause image and the whole root-dir; asks first")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "stop waiting after this long (0: wait as long as the pods take)")
}

// Validate checks the options and makes the path absolute.
func (o *downOptions) Validate() error {
	var faults []error
	bad := func(flag, format string, args ...any) {
		faults = append(faults, fmt.Errorf("--%s %s", flag, fmt.Sprintf(format, args...)))
	}
	checkRootDir(&o.RootDir, bad)
	checkDockerEndpoint(o.DockerEndpoint, bad)
	if o.Timeout < 0 {
		bad("timeout", "%v must not be negative", o.Timeout)
	}
	return errors.Join(faults...)
}

func addRootDir(cmd *cobra.Command, rootDir *string) {
	cmd.Flags().StringVar(rootDir, "root-dir", defaultRootDir, "directory of islet's state and socket")
	_ = cmd.MarkFlagDirname("root-dir")
}

func addDockerEndpoint(f *pflag.FlagSet, endpoint *string) {
	f.StringVar(endpoint, "docker-endpoint", *endpoint, "address of the Docker Engine; DOCKER_HOST sets the default")
}

func checkRootDir(rootDir *string, bad func(flag, format string, args ...any)) {
	if *rootDir == "" {
		bad("root-dir", "is empty: name a directory")
	} else if err := makeAbsolute(rootDir); err != nil {
		bad("root-dir", "%v", err)
	}
}

func makeAbsolute(path *string) (err error) {
	*path, err = filepath.Abs(*path)
	return err
}

func checkDockerEndpoint(endpoint string, bad func(flag, format string, args ...any)) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		bad("docker-endpoint", "%q is not a URL: %v", endpoint, errors.Unwrap(err))
		return
	}
	switch parsed.Scheme {
	case "unix":
		if parsed.Host+parsed.Path == "" {
			bad("docker-endpoint", "%q names no socket; an example: %s", endpoint, defaultDockerHost)
		}
	case "tcp", "http", "https":
		if parsed.Host == "" {
			bad("docker-endpoint", "%q names no host", endpoint)
		}
	default:
		bad("docker-endpoint", "%q must begin with unix://, tcp://, http:// or https://", endpoint)
	}
}

// byteSize is a flag for a number of bytes in the notation of Kubernetes: 10Mi.
type byteSize int64

func (b *byteSize) String() string {
	return resource.NewQuantity(int64(*b), resource.BinarySI).String()
}

func (b *byteSize) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return errors.New("must be a size such as 10Mi")
	}
	*b = byteSize(quantity.Value())
	return nil
}

func (b *byteSize) Type() string { return "size" }
