package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Pods come and go, each under a name of its own; afterwards nothing is left of
// them, outside islet or inside: no container, volume, endpoint, mount,
// directory, cgroup or process, and as many goroutines, files and as much memory
// as before, within what does not grow with the number of pods.
func TestLeaks(t *testing.T) {
	pods, warm := 20, 1
	if soak() {
		pods, warm = 200, 8
	}
	s := newSite(t)
	chaosImages(t, s.api)
	w := s.witnesses()
	s.program = "islet-counted"
	s.env = []string{"ISLET_COUNTS=" + filepath.Join(t.TempDir(), "counts")}
	s.start()

	for i := range warm {
		// What is made once and kept: caches, stacks, a heap of the right size.
		s.comeAndGo(w, fmt.Sprintf("warm%d", i), 10)
	}
	before := s.use()
	began := time.Now()
	for done := 0; done < pods; done += 10 {
		s.comeAndGo(w, fmt.Sprintf("p%d", done), 10)
	}
	var after use
	s.until("islet uses no more than before", func() bool {
		after = s.use()
		return len(after.beyond(before)) == 0
	}, func() string { return strings.Join(after.beyond(before), "\n") })
	t.Logf("%d pods in %v\nbefore %v\nafter  %v", pods, time.Since(began).Round(time.Second), before, after)
}

// comeAndGo runs n pods at once, of every shape, and removes them again.
func (s *site) comeAndGo(w *witness, prefix string, n int) {
	s.t.Helper()
	var names []string
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		names = append(names, name)
		s.write(name+".yaml", chaosPod{shape: 1 + i%(len(chaosShapes)-1)}.text(name, freePort(s.t)))
	}
	s.good(names...)
	for _, name := range names {
		s.remove(name + ".yaml")
	}
	s.good()
	var left []string
	s.until("nothing is left", func() bool {
		left = s.residue(w, nil)
		return len(left) == 0
	}, func() string { return strings.Join(left, "\n") })
	for _, fault := range w.saw() {
		s.t.Error(fault)
	}
}

// use is what islet has in use.
type use struct {
	Goroutines map[string]int // by the function that they began with
	Heap       int            // live memory, KiB
	files      map[string]int // open descriptors, by kind
	anon       int            // private memory, KiB
	history    int            // what is kept of pods that are gone, KiB
	state      []string       // files and directories of the state, without histories
}

// use asks the counter in islet and the kernel.
func (s *site) use() (u use) {
	s.t.Helper()
	path := strings.TrimPrefix(s.env[0], "ISLET_COUNTS=")
	os.Remove(path) //nolint:errcheck // it may not be there
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	s.until("islet has counted", func() bool {
		data, err := os.ReadFile(path)
		return err == nil && json.Unmarshal(data, &u) == nil
	})
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	u.files = openFiles(proc + "fd")
	u.anon = rssAnon(proc + "status")
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if filepath.Base(filepath.Dir(path)) != "events" {
			u.state = append(u.state, path)
		} else if info, err := d.Info(); err == nil {
			u.history += int(info.Size())
		}
		return nil
	})
	u.history >>= 10
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// idleConnections is how many connections to the engine may wait for their next
// use; the number does not depend on the number of pods.
const idleConnections = 6

// beyond says what is more than it was.
func (u use) beyond(before use) (more []string) {
	for name, n := range u.Goroutines {
		most := before.Goroutines[name]
		if strings.HasPrefix(name, "net/http.") {
			most += 2 * idleConnections
		}
		if n > most {
			more = append(more, fmt.Sprintf("%d goroutines of %s, %d before", n, name, before.Goroutines[name]))
		}
	}
	for kind, n := range u.files {
		most := before.files[kind]
		if kind == "socket" {
			most += idleConnections
		}
		if n > most {
			more = append(more, fmt.Sprintf("%d open files of kind %s, %d before", n, kind, before.files[kind]))
		}
	}
	// The story of a pod outlives it, for `islet why`, in memory and on disk; the
	// recorder bounds how many there are.
	if u.Heap*10 > before.Heap*11+10*(u.history-before.history) {
		more = append(more, fmt.Sprintf("%d KiB live on the heap, %d KiB before", u.Heap, before.Heap))
	}
	if u.anon*10 > before.anon*11 {
		more = append(more, fmt.Sprintf("RssAnon %d KiB, %d KiB before", u.anon, before.anon))
	}
	for _, path := range u.state {
		if !slices.Contains(before.state, path) {
			more = append(more, "in the state directory: "+path)
		}
	}
	return more
}

func (u use) String() string {
	sum := func(m map[string]int) (n int) {
		for v := range maps.Values(m) {
			n += v
		}
		return n
	}
	return fmt.Sprintf("%d goroutines, %d open files, RssAnon %d KiB, heap %d KiB, histories %d KiB, %d names in the state directory",
		sum(u.Goroutines), sum(u.files), u.anon, u.Heap, u.history, len(u.state))
}

func openFiles(dir string) map[string]int {
	kinds := map[string]int{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		kind, _, _ := strings.Cut(target, ":")
		kinds[kind]++
	}
	return kinds
}

func rssAnon(path string) int {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssAnon:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// countedIslet is islet with somebody inside who counts: on SIGUSR1 the
// goroutines are written to the file that ISLET_COUNTS names, and memory that
// is only waiting to be collected is given back. islet itself has no door for
// that.
func countedIslet() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	path := os.Getenv("ISLET_COUNTS")
	go func() {
		for range asked {
			debug.FreeOSMemory()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			data, _ := json.Marshal(use{Goroutines: goroutines(), Heap: int(memory.HeapAlloc >> 10)})
			if os.WriteFile(path+".part", data, 0o600) == nil {
				os.Rename(path+".part", path) //nolint:errcheck // the test waits for it
			}
		}
	}()
	main()
}

// goroutines counts them by the function that each began with.
func goroutines() map[string]int {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()+100)
	n, _ := runtime.GoroutineProfile(records)
	counts := map[string]int{}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		var first runtime.Frame
		for more := true; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); frame.Function != "runtime.goexit" && frame.Function != "" {
				first = frame
			}
		}
		counts[first.Function]++
	}
	return counts
}
