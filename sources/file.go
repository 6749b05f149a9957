package sources

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/islet-run/islet/manifests"
	"github.com/islet-run/islet/store"
)

// SourceFile is the name of the file source.
const SourceFile = "file"

// FileConfig is what a [File] needs. Zero durations take the defaults given.
type FileConfig struct {
	// Path is a directory or a single file. It need not exist.
	Path string
	// Poll is how often everything is looked at although no event came
	// (--file-check-frequency): 20 s.
	Poll time.Duration
	// Quiet is how long after the last event the directory is read: 10 ms. It is
	// the largest part of what islet adds to the start of a pod, and what is read
	// half-written is read again: the last good copy stands meanwhile.
	Quiet time.Duration
	// MaxWait bounds Quiet while events keep coming, from the first one: 200 ms.
	MaxWait time.Duration
	// RemovalDelay is how long a file or document must be gone, unchanged,
	// before a second read takes it as removed: 1 s.
	RemovalDelay time.Duration

	Store *store.Store
	Log   zerolog.Logger
	// Lenient is passed to Decode (--lenient).
	Lenient bool
	// StrictPermissions refuses a directory, or a single file, that others than
	// its owner may write (--strict-permissions); without it they are warned of.
	StrictPermissions bool
	// Decode is manifests.Decode unless a test sets another.
	Decode func([]byte, manifests.Options) []manifests.Document
}

// File reads manifests from a directory or a single file. See the package
// comment for its rules.
type File struct {
	cfg     FileConfig
	log     zerolog.Logger
	records *store.Collection
	forget  chan chan struct{}

	// Everything below belongs to Run.
	root    root             // the directory as it was last found good
	files   map[string]*file // by path
	foreign map[string]*file // stored under another Path than the configured one
	lost    *problem         // what is wrong with the root; its files are held
	lostSeq uint64
	seq     uint64          // newest value of Document.Changed
	others  map[string]bool // names of things that are not manifests, told of
	links   []string        // paths that are symlinks, at the last look
	dirty   dirty           // what the store does not know yet
	writing chan *job       // gives back what is being written; nil when nothing is
	trouble string          // why the store could not be written
	watch   *watcher
	warned  map[string]string // last text per kind of warning
}

// NewFile checks the configuration. It does no I/O.
func NewFile(cfg FileConfig) (*File, error) {
	if cfg.Path == "" {
		return nil, errors.New("file source: no path given")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("file source %s: %w", cfg.Path, err)
	}
	cfg.Path = path
	for _, d := range []struct {
		name  string
		value *time.Duration
		std   time.Duration
	}{
		{"file-check-frequency", &cfg.Poll, 20 * time.Second},
		{"quiet time", &cfg.Quiet, 10 * time.Millisecond},
		{"longest quiet time", &cfg.MaxWait, 200 * time.Millisecond},
		{"removal delay", &cfg.RemovalDelay, time.Second},
	} {
		if *d.value < 0 {
			return nil, fmt.Errorf("file source: %s is %v; it must be more than 0", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.std
		}
	}
	if cfg.Store == nil {
		return nil, errors.New("file source: no store given")
	}
	if cfg.Decode == nil {
		cfg.Decode = manifests.Decode
	}
	return &File{
		cfg:     cfg,
		log:     cfg.Log.With().Str("source", SourceFile).Logger(),
		records: cfg.Store.Collection("documents/file"),
		forget:  make(chan chan struct{}),
		files:   map[string]*file{},
		foreign: map[string]*file{},
		others:  map[string]bool{},
		warned:  map[string]string{},
		dirty:   dirty{put: map[string]bool{}, drop: map[string]bool{}},
	}, nil
}

// Forget ends the hold of a directory that vanished: what it held is removed
// with the next update. It blocks until Run has taken it, or ctx ends.
func (f *File) Forget(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case f.forget <- done:
	case <-ctx.Done():
		return fmt.Errorf("forget file source: %w", ctx.Err())
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("forget file source: %w", ctx.Err())
	}
}

// Run reads and watches until ctx ends, and sends the whole set after the
// first attempt and after each that changed something. It never closes out. A
// receiver that is slow gets the newest set. It returns ctx's error, or one
// that says why it could not start.
func (f *File) Run(ctx context.Context, out chan<- Update) error {
	if err := f.load(); err != nil {
		return err
	}
	f.watch = newWatcher(f.log)
	defer f.watch.close()
	f.log.Info().Str("path", f.cfg.Path).Dur("poll", f.cfg.Poll).Msg("reading manifests from files")

	poll := time.NewTicker(f.cfg.Poll)
	defer poll.Stop()
	var loop fileLoop
	f.scan(&loop)
	for {
		send := out
		if loop.update == nil {
			send = nil
		}
		select {
		case <-ctx.Done():
			f.flush()
			return ctx.Err()
		case ev := <-f.watch.events():
			if f.concerns(ev.Name) {
				loop.poke(time.Now(), f.cfg.Quiet, f.cfg.MaxWait)
			}
		case err := <-f.watch.errors():
			f.warnOnce("watch", err.Error(), "lost file events; reading everything again")
			loop.poke(time.Now(), f.cfg.Quiet, f.cfg.MaxWait)
		case <-poll.C:
			f.scan(&loop)
		case <-loop.due:
			f.scan(&loop)
		case <-loop.removal:
			f.scan(&loop)
		case done := <-f.forget:
			f.letGo()
			f.scan(&loop)
			close(done)
		case send <- loop.peek():
			loop.update = nil
			f.flushBeside()
		case j := <-f.writing:
			f.wrote(j)
			if f.trouble == "" {
				f.flushBeside() // what came meanwhile
			}
			if f.trouble != loop.trouble {
				loop.poke(time.Now(), f.cfg.Quiet, f.cfg.MaxWait) // to tell of it
			}
		}
	}
}

// fileLoop is the state of Run's select.
type fileLoop struct {
	update  *Update // to be sent
	due     <-chan time.Time
	first   time.Time // of the events that due waits for
	removal <-chan time.Time
	started bool   // the first update has been made
	trouble string // File.trouble as the last update tells it
}

// poke puts the next scan off until quiet after now, but not beyond max after
// the first poke.
func (l *fileLoop) poke(now time.Time, quiet, limit time.Duration) {
	if l.due == nil {
		l.first = now
	}
	l.due = time.After(min(quiet, l.first.Add(limit).Sub(now)))
}

func (l *fileLoop) peek() Update {
	if l.update == nil {
		return Update{}
	}
	return *l.update
}

// concerns reports whether a change of this name can change what scan finds.
// "" stands for an unknown name.
func (f *File) concerns(name string) bool {
	if name == "" || name == f.cfg.Path || name == f.watch.real || strings.HasPrefix(f.cfg.Path, name+"/") {
		return true // unknown, the root itself, or a directory above it
	}
	dir, base := filepath.Split(name)
	dir = filepath.Clean(dir)
	if f.watch.has(dir, roleTarget) || f.watch.has(name, roleTarget) {
		return true // where links point to
	}
	if strings.HasPrefix(base, ".") {
		// Editors write hidden files all the time. One named ..data matters:
		// links of this directory lead through it.
		return len(f.links) > 0 && (f.watch.has(dir, roleRoot) || dir == filepath.Dir(f.links[0]))
	}
	return f.watch.has(dir, roleRoot) || f.watch.has(name, roleRoot)
}

// scan is one attempt: it looks at everything and prepares an update when
// something is different.
func (f *File) scan(loop *fileLoop) {
	loop.due = nil
	now := time.Now()
	f.seq = max(f.seq+1, uint64(now.UnixNano()))
	f.flushBeside() // if the receiver is slow, or the last try failed
	links := f.links
	f.watch.arm(f.cfg.Path, links)
	changed := f.look(now)
	if !slices.Equal(links, f.links) {
		f.watch.arm(f.cfg.Path, f.links)
	}
	loop.removal = f.nextRemoval(now)
	if !changed && loop.started && f.trouble == loop.trouble {
		return
	}
	loop.started, loop.trouble = true, f.trouble
	u := f.update()
	if u.standsOnLastGood() {
		// What stands in must be on the disk before anybody relies on it.
		f.flush()
	}
	loop.update = &u
}

func (u *Update) standsOnLastGood() bool {
	for i := range u.Documents {
		if u.Documents[i].LastGood {
			return true
		}
	}
	return false
}

// warnOnce logs a warning when the text under key differs from the last one.
func (f *File) warnOnce(key, text, msg string) {
	if f.warned[key] == text {
		return
	}
	f.warned[key] = text
	if text != "" {
		f.log.Warn().Str("path", f.cfg.Path).Str("error", text).Msg(msg)
	}
}
