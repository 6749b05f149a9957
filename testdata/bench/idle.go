package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process of this machine, 0 for none.
type process int

// cpu returns the CPU time of all its threads, those that have ended included,
// in the resolution of the scheduler.
func (p process) cpu() (time.Duration, error) {
	if p == 0 {
		return 0, errors.New("read CPU time: process not known")
	}
	// The clock id of a process, as clock_getcpuclockid(3) makes it.
	const schedClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^int(p))<<3|schedClock, &ts); err != nil {
		return 0, fmt.Errorf("read CPU time of process %d: %w", p, err)
	}
	return time.Duration(ts.Nano()), nil
}

// rssAnon returns its private memory in KiB.
func (p process) rssAnon() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
		}
	}
	return 0, fmt.Errorf("read memory of process %d: no RssAnon", p)
}

// findEngine returns the process of dockerd: who listens on the socket, or,
// when systemd does that for it, the only dockerd there is.
func findEngine(address string) process {
	socket, ok := strings.CutPrefix(address, "unix://")
	if !ok {
		return 0
	}
	if conn, err := net.Dial("unix", socket); err == nil {
		defer conn.Close()
		if raw, err := conn.(*net.UnixConn).SyscallConn(); err == nil {
			var cred *unix.Ucred
			_ = raw.Control(func(fd uintptr) { cred, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
			if cred != nil && cred.Pid > 1 {
				return process(cred.Pid)
			}
		}
	}
	var found []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && string(bytes.TrimSpace(comm)) == "dockerd" {
			found = append(found, process(pid))
		}
	}
	if len(found) != 1 {
		return 0
	}
	return found[0]
}

// idle is what islet and dockerd do while nothing happens.
type idle struct {
	what          string
	islet, engine float64 // per cent of a core; below 0: not known
	rssAnon       int     // KiB of islet; 0: no islet
}

func (i idle) String() string {
	percent := func(v float64) string {
		if v < 0 {
			return "   n/a"
		}
		return fmt.Sprintf("%6.3f", v)
	}
	memory := "n/a"
	if i.rssAnon > 0 {
		memory = fmt.Sprintf("%.1f MiB", float64(i.rssAnon)/1024)
	}
	return fmt.Sprintf("%-28s islet %s  dockerd %s  RssAnon of islet %s", i.what, percent(i.islet), percent(i.engine), memory)
}

func (b *bench) idleEmpty(ctx context.Context, r *result) error {
	return b.idleFor(ctx, r, "islet, no pod")
}

// idleFull measures with the pods of oneByOne, first with islet and then
// without; islet is back afterwards and has taken them over.
func (b *bench) idleFull(ctx context.Context, r *result) error {
	if err := b.idleFor(ctx, r, fmt.Sprintf("islet, %d pods", b.pods)); err != nil {
		return err
	}
	if b.idle == 0 {
		return nil
	}
	if err := b.islet.stop(ctx); err != nil {
		return err
	}
	if err := b.idleFor(ctx, r, fmt.Sprintf("no islet, %d pods", b.pods)); err != nil {
		return err
	}
	return b.islet.start(ctx)
}

func (b *bench) idleFor(ctx context.Context, r *result, what string) error {
	if b.idle == 0 {
		return nil
	}
	b.calmDown(ctx)
	progress("idle for %v: %s", b.idle, what)
	var self process
	if b.islet.cmd != nil {
		self = process(b.islet.cmd.Process.Pid)
	}
	began := time.Now()
	share := func(p process) func() float64 {
		before, err := p.cpu()
		return func() float64 {
			after, err2 := p.cpu()
			if errors.Join(err, err2) != nil {
				return -1
			}
			return 100 * float64(after-before) / float64(time.Since(began))
		}
	}
	isletShare, engineShare := share(self), share(b.engine)
	select {
	case <-time.After(b.idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	i := idle{what: what, islet: isletShare(), engine: engineShare()}
	if self != 0 {
		var err error
		if i.rssAnon, err = self.rssAnon(); err != nil {
			return err
		}
	}
	r.idle = append(r.idle, i)
	return nil
}
