package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

const (
	layerBegins   = `{"status":"Pulling fs layer","progressDetail":{},"id":"l1"}`
	layerLoads    = `{"status":"Downloading","progressDetail":{"current":%d,"total":100},"id":"l1"}`
	layerIsHere   = `{"status":"Download complete","progressDetail":{},"id":"l1"}`
	layerUnpacked = `{"status":"Extracting","progressDetail":{"current":%d,"total":100},"id":"l1"}`
	layerQueues   = `{"status":"Waiting","progressDetail":{},"id":"l2"}`
)

func TestStalledPull(t *testing.T) {
	const stall = 5 * time.Minute
	for _, row := range []struct {
		name string
		said []string
		ends time.Duration // from the last message; 0: never
	}{
		{"no answer at all", nil, stall},
		{"only the name", []string{`{"status":"Pulling from library/a","id":"1"}`}, stall},
		{"a layer that does not begin", []string{layerBegins}, stall},
		{"a layer that stops", []string{layerBegins, fmt.Sprintf(layerLoads, 7)}, stall},
		{"a retry", []string{layerBegins, `{"status":"Retrying in 5 seconds","progressDetail":{},"id":"l1"}`}, stall},
		{"waits for other images", []string{layerBegins, layerIsHere, layerQueues}, queuePatience * stall},
		{"unpacks in silence", []string{layerBegins, fmt.Sprintf(layerLoads, 100), layerIsHere, fmt.Sprintf(layerUnpacked, 1)}, 0},
		{"checks in silence", []string{layerBegins, `{"status":"Verifying Checksum","progressDetail":{},"id":"l1"}`}, 0},
	} {
		benched(t, Config{}, func(b *pullBench) {
			call := b.ask(request("a:1"))
			for i, m := range row.said {
				if i > 0 {
					time.Sleep(stall - time.Second)
				}
				b.pull(0).says(m)
			}
			limit := row.ends
			if limit == 0 {
				limit = 1000 * stall
			}
			time.Sleep(limit - time.Second)
			synctest.Wait()
			if call.ended() {
				t.Fatalf("%s: given up too early: %v", row.name, call.err)
			}
			if row.ends == 0 {
				b.pull(0).ends("")
				if !call.ended() || call.err != nil {
					t.Errorf("%s: %+v", row.name, call)
				}
				return
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if !call.ended() || !errors.Is(call.err, errStalled) || errors.Is(call.err, context.Canceled) {
				t.Fatalf("%s: not given up: %+v", row.name, call)
			}
			if !strings.Contains(call.err.Error(), limit.String()) {
				t.Errorf("%s: words %q", row.name, call.err)
			}
			if b.pull(0).ctx.Err() == nil {
				t.Errorf("%s: the engine goes on", row.name)
			}
		})
	}
}

// A slow download is no stalled one: there is no limit to the whole.
func TestSlowPull(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		call := b.ask(request("a:1"))
		b.pull(0).says(layerBegins)
		for i := range 100 {
			time.Sleep(4 * time.Minute)
			b.pull(0).says(fmt.Sprintf(layerLoads, i))
		}
		b.pull(0).ends("")
		if !call.ended() || call.err != nil || call.got.took != 400*time.Minute {
			t.Errorf("%+v", call)
		}
	})
}

// What the engine unpacks is no sign of life of a registry.
func TestStalledBehindUnpacking(t *testing.T) {
	benched(t, Config{}, func(b *pullBench) {
		call := b.ask(request("a:1"))
		b.pull(0).says(layerBegins, layerIsHere, `{"status":"Downloading","progressDetail":{"current":1,"total":9},"id":"l2"}`)
		for i := range 400 {
			if call.ended() {
				break
			}
			time.Sleep(time.Second)
			b.pull(0).says(fmt.Sprintf(layerUnpacked, i%100))
		}
		if !call.ended() || !errors.Is(call.err, errStalled) {
			t.Errorf("%+v", call)
		}
	})
}

// lines counts the lines of a log.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func TestProgressInTheLog(t *testing.T) {
	for _, row := range []struct {
		name string
		step time.Duration
		want int // lines about progress
	}{
		{"a second in all", 10 * time.Millisecond, 0},
		{"ten seconds", 100 * time.Millisecond, 3},
		{"100 s", time.Second, 12},
		{"an hour and a half", time.Minute, 100},
	} {
		var log lines
		benched(t, Config{Log: zerolog.New(&log)}, func(b *pullBench) {
			b.ask(request("a:1"))
			b.pull(0).says(layerBegins)
			for i := range 100 {
				time.Sleep(row.step)
				for range 20 {
					b.pull(0).says(fmt.Sprintf(layerLoads, i+1))
				}
			}
			b.pull(0).ends("")
		})
		progress := 0
		for _, line := range log.text {
			if strings.Contains(line, "goes on") {
				progress++
			}
		}
		if progress > row.want || progress < row.want-3 || len(log.text) != progress+1 {
			t.Errorf("%s: %d lines about progress, want at most %d:\n%s", row.name, progress, row.want, strings.Join(log.text, ""))
		}
	}
}

func TestProgressForWatchers(t *testing.T) {
	var seen []PullProgress
	var log lines
	benched(t, Config{Log: zerolog.New(&log), WatchPulls: func(p PullProgress) { seen = append(seen, p) }}, func(b *pullBench) {
		b.ask(request("a:1"))
		b.pull(0).says(layerBegins)
		for i := range 1000 {
			time.Sleep(time.Millisecond)
			b.pull(0).says(fmt.Sprintf(layerLoads, i/10))
		}
		b.pull(0).ends("")
	})
	if len(seen) < 8 || len(seen) > 14 || !seen[len(seen)-1].Ended || seen[0].Image != "a:1" {
		t.Fatalf("%d reports of a pull of one second: %+v", len(seen), seen)
	}
	for i, s := range seen[1 : len(seen)-1] {
		if s.Fraction < seen[i].Fraction || s.Total != 100 || s.Layers != 1 || s.Ended {
			t.Errorf("report %d: %+v after %+v", i+1, s, seen[i])
		}
	}
	if len(log.text) != 1 {
		t.Errorf("the log repeats what a watcher shows: %q", log.text)
	}
}

func FuzzPullStream(f *testing.F) {
	f.Add([]byte(layerBegins + "\n" + layerIsHere + `{"status":"Extracting","progressDetail":{"current":-1,"total":0},"id":"l1"}`))
	f.Add([]byte(`{"errorDetail":{"message":"x"}}{"error":"y"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var track layerTrack
		_ = readPull(strings.NewReader(string(data)), func(m pullMessage) {
			track.take(m)
			if f := track.fraction(); f < 0 || f > 1 {
				t.Errorf("fraction %v", f)
			}
			if track.patience(1) < 0 || len(track.layers) > maxLayers {
				t.Errorf("patience %v, %d layers", track.patience(1), len(track.layers))
			}
		})
	})
}
