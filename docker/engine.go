package docker

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/client"
	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"github.com/islet-run/islet/docker/credentials"
	"github.com/islet-run/islet/pods"
)

// Defaults of [Config].
const (
	DefaultNetwork     = "islet"
	DefaultLogMaxSize  = "10m"
	DefaultLogMaxFiles = 5
	// DefaultMaxPulls is 2: one big image, or one registry that hangs, does not
	// hold up every other pod, as one pull at a time does, and an engine that
	// downloads three layers at once anyway gains next to nothing from more.
	DefaultMaxPulls = 2
	// DefaultPullStall is generous: a registry that copies an image from
	// another one first may send nothing for minutes.
	DefaultPullStall = 5 * time.Minute
)

// Config says which engine to use, as whom.
type Config struct {
	// Host is the engine's address, such as unix:///var/run/docker.sock.
	// Empty: DOCKER_HOST, else the default socket.
	Host string
	// Owner is the random id of this installation. Required.
	Owner string
	// Root is the root directory of this installation. It is only recorded.
	Root string
	// NetworkName names the bridge pods are on. Empty: DefaultNetwork.
	NetworkName string
	// PauseImage replaces the built-in sandbox image. It is pulled when absent.
	PauseImage string
	// LogMaxSize and LogMaxFiles bound the log of a container, in the form of
	// Docker's json-file options. Zero: the defaults.
	LogMaxSize  string
	LogMaxFiles int
	// MaxPulls is how many images are pulled at once. Zero: DefaultMaxPulls.
	MaxPulls int
	// PullQPS is how many pulls may begin per second in the long run, after
	// PullBurst of them at once. Zero: as many as there are.
	PullQPS   float64
	PullBurst int
	// PullStall is how long a download may bring nothing until it is given up.
	// Zero: DefaultPullStall.
	PullStall time.Duration
	// CredentialFiles are config files of Docker with credentials, in search
	// order; see package credentials.
	CredentialFiles []string
	// WatchPulls is told how pulls come along, at most ten times a second for
	// each; nil: the log has a line now and then. It may be called from many
	// goroutines and must not block.
	WatchPulls func(PullProgress)
	// BootID identifies this run of the machine and BootTime is when it began.
	// Empty: read from /proc by the first Watch. They tell which containers
	// were ended by a restart of the machine, which Docker 20.10 reports as
	// success.
	BootID   string
	BootTime time.Time
	Log      zerolog.Logger
}

// Engine is a Docker Engine as its caller sees it: it implements the interface
// Engine of package syncer. All methods may be called from many goroutines.
type Engine struct {
	cfg   Config
	log   zerolog.Logger
	index *index
	forms imageForms

	puller *puller
	logins credentials.Files

	conn  atomic.Pointer[client.Client]
	ready singleflight.Group // making the network and the images ready

	networkReady atomic.Bool

	mu       sync.Mutex // guards what follows; never held across a call
	facts    pods.Facts
	remapped bool // the daemon maps user ids
	platform platform
	probed   string // the daemon facts were probed from
	bootTime time.Time
}

// New returns an engine. It does no I/O: an engine that is away, or not
// installed, is found out by [Engine.Watch] and by the calls.
func New(cfg Config) (*Engine, error) {
	if cfg.Owner == "" {
		return nil, fmt.Errorf("configure engine: owner id is missing")
	}
	if cfg.NetworkName == "" {
		cfg.NetworkName = DefaultNetwork
	}
	if cfg.LogMaxSize == "" {
		cfg.LogMaxSize = DefaultLogMaxSize
	}
	if cfg.LogMaxFiles <= 0 {
		cfg.LogMaxFiles = DefaultLogMaxFiles
	}
	if cfg.MaxPulls <= 0 {
		cfg.MaxPulls = DefaultMaxPulls
	}
	if cfg.PullStall <= 0 {
		cfg.PullStall = DefaultPullStall
	}
	e := &Engine{cfg: cfg, log: cfg.Log, index: newIndex(), bootTime: cfg.BootTime}
	e.puller = newPuller(cfg, e.fetchImage)
	e.logins = credentials.Files{Paths: cfg.CredentialFiles}
	e.facts.EngineName = "Docker Engine"
	e.facts.BootID = cfg.BootID
	conn, err := e.dial()
	if err != nil {
		return nil, err
	}
	e.conn.Store(conn)
	return e, nil
}

// dial makes a client; the first request connects. DOCKER_HOST and the TLS
// variables apply, DOCKER_API_VERSION does not: a pinned version stops working
// when the daemon is upgraded under a running islet.
func (e *Engine) dial() (*client.Client, error) {
	opts := []client.Opt{
		client.WithTLSClientConfigFromEnv(),
		client.WithHostFromEnv(),
		client.WithUserAgent("islet"),
		client.WithAPIVersionNegotiation(),
	}
	if e.cfg.Host != "" {
		opts = append(opts, client.WithHost(e.cfg.Host))
	}
	conn, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("configure engine %q: %w", e.cfg.Host, err)
	}
	return conn, nil
}

func (e *Engine) api() *client.Client { return e.conn.Load() }

// Close calls off the pulls that are under way, waits until they have ended and
// gives up idle connections. Calls may still be made afterwards.
func (e *Engine) Close() error {
	e.puller.close()
	return e.api().Close()
}

// Facts returns what probing found; complete after the first EngineUp.
func (e *Engine) Facts() pods.Facts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.facts
}

// settings is what the pure functions need to know of the engine.
func (e *Engine) settings() settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return settings{
		owner:       e.cfg.Owner,
		root:        e.cfg.Root,
		network:     e.cfg.NetworkName,
		logMaxSize:  e.cfg.LogMaxSize,
		logMaxFiles: e.cfg.LogMaxFiles,
		bootID:      e.facts.BootID,
		bootTime:    e.bootTime,
		minOOM:      e.facts.MinOOM,
		remapped:    e.remapped,
	}
}

// settings are the facts and choices that go into every request.
type settings struct {
	owner       string
	root        string
	network     string
	logMaxSize  string
	logMaxFiles int
	bootID      string
	bootTime    time.Time
	minOOM      int
	remapped    bool
}
