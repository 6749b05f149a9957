package sources

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"
)

// What a watched directory is to the root.
const (
	roleRoot   = 1 << iota // it is the root: names in it matter
	roleAbove              // it holds the root, or will: only the name of the root matters
	roleTarget             // a link leads there: names in it matter
)

// maxTargets bounds how many directories are watched because links lead there;
// changes in others are found by the poll.
const maxTargets = 64

// watcher watches the directories whose changes may concern one path. It is a
// source of hints only: whatever it misses, the poll finds.
type watcher struct {
	log    zerolog.Logger
	notify *fsnotify.Watcher // nil while there is none
	armed  map[string]armed
	real   string // where the root is, links resolved; "" while unknown
	last   string // the last trouble that was logged
}

type armed struct {
	root root // identity when it was armed
	role int
}

func newWatcher(log zerolog.Logger) *watcher {
	return &watcher{log: log, armed: map[string]armed{}}
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close() // it has nothing to report: nothing was written
	}
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w.notify == nil {
		return nil
	}
	return w.notify.Events
}

func (w *watcher) errors() <-chan error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

func (w *watcher) has(path string, role int) bool { return w.armed[path].role&role != 0 }

// arm watches what must be watched now and stops watching the rest. It looks
// again after each change, since a directory may appear between the look and
// the watch.
func (w *watcher) arm(path string, links []string) {
	if w.notify == nil {
		notify, err := fsnotify.NewWatcher()
		if err != nil {
			w.trouble(err)
			return
		}
		w.notify = notify
	}
	for range 8 {
		if !w.armOnce(path, links) {
			return
		}
	}
}

func (w *watcher) armOnce(path string, links []string) (changed bool) {
	wanted := w.wanted(path, links)
	alive := map[string]bool{}
	for _, p := range w.notify.WatchList() {
		alive[p] = true
	}
	for p, have := range w.armed {
		if want, ok := wanted[p]; !ok || want.root != have.root || !alive[p] {
			if err := w.notify.Remove(p); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
				w.trouble(err)
			}
			delete(w.armed, p)
		}
	}
	for p, want := range wanted {
		if _, ok := w.armed[p]; ok {
			w.armed[p] = want
			continue
		}
		if err := w.notify.Add(p); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				w.trouble(err)
			}
			continue
		}
		w.armed[p] = want
		changed = true
	}
	return changed
}

// wanted names each directory once, under one path: inotify knows directories
// only by inode.
func (w *watcher) wanted(path string, links []string) map[string]armed {
	wanted := map[string]armed{}
	byInode := map[root]string{}
	add := func(dir string, role int) bool {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return false
		}
		r := root{Kind: kindDir}
		r.Dev, r.Ino = inode(info)
		if first, ok := byInode[r]; ok {
			dir = first
		}
		byInode[r] = dir
		wanted[dir] = armed{root: r, role: wanted[dir].role | role}
		return true
	}
	isDir := add(path, roleRoot)
	resolved, err := filepath.EvalSymlinks(path)
	w.real = resolved // "" with an error
	// A directory that is there tells itself when it is moved or removed. What
	// holds it is watched only when it must be: others may write there a lot.
	if isDir && err == nil && resolved == path {
		return w.addTargets(wanted, add, links)
	}
	for dir := filepath.Dir(path); !add(dir, roleAbove) && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
	}
	if err == nil && resolved != path {
		add(filepath.Dir(resolved), roleAbove)
	}
	return w.addTargets(wanted, add, links)
}

func (w *watcher) addTargets(wanted map[string]armed, add func(string, int) bool, links []string) map[string]armed {
	for _, link := range links[:min(len(links), maxTargets)] {
		if target, err := filepath.EvalSymlinks(link); err == nil {
			add(filepath.Dir(target), roleTarget)
		}
	}
	return wanted
}

func (w *watcher) trouble(err error) {
	if text := err.Error(); text != w.last {
		w.last = text
		w.log.Warn().Err(err).Msg("watch files: changes are found by polling only")
	}
}
