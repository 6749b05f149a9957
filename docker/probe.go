package docker

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/system"

	"github.com/islet-run/islet/docker/pause"
)

const (
	// sandboxOOM is the lowest oom_score_adj the kubelet asks for.
	sandboxOOM = -998
	// probeTimeout bounds one probe container.
	probeTimeout = 20 * time.Second
)

// probe fills the facts. What a daemon can do is found out by trying, once per
// daemon: a sandboxed or nested one looks like any other and yet cannot lower
// oom scores or start privileged containers.
func (e *Engine) probe(ctx context.Context) error {
	info, err := e.api().Info(ctx)
	if err != nil {
		return failed("read engine info", err)
	}
	daemon := daemonProcess(ctx, e.api())
	identity := strings.Join([]string{info.ID, info.ServerVersion, daemon.stamp}, " ")
	e.mu.Lock()
	known := daemon.stamp != "" && e.probed == identity
	e.record(info)
	e.mu.Unlock()
	if known {
		return nil
	}
	can, err := e.try(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.NegativeOOM, e.facts.Privileged = can.negativeOOM, can.privileged
	e.facts.MinOOM = -1000
	if !can.negativeOOM {
		// Nobody goes below what the daemon itself has, without that right.
		e.facts.MinOOM = max(0, daemon.oomScore)
		e.log.Warn().Int("lowest", e.facts.MinOOM).Msg("engine cannot lower oom scores; requests below are raised to the lowest it can set")
	}
	e.probed = identity
	return nil
}

// record takes over what the daemon says of itself. e.mu is held.
func (e *Engine) record(info system.Info) {
	e.facts.EngineVersion = info.ServerVersion
	e.facts.CgroupDriver = info.CgroupDriver
	e.facts.CgroupVersion, _ = strconv.Atoi(info.CgroupVersion)
	if e.facts.CgroupVersion == 0 {
		e.facts.CgroupVersion = 1 // not told by older API versions
	}
	e.facts.MemoryBytes = info.MemTotal
	e.facts.CPUs = info.NCPU
	e.platform = platformOf(info.OSType, info.Architecture)
	e.remapped = false
	for _, option := range info.SecurityOptions {
		if strings.HasPrefix(option, "name=userns") {
			e.remapped = true
		}
	}
}

type abilities struct{ negativeOOM, privileged bool }

// try starts containers that do nothing. On most machines the first one starts
// and shows both abilities; otherwise each is tried by itself.
func (e *Engine) try(ctx context.Context) (abilities, error) {
	image, err := e.probeImage(ctx)
	if err != nil {
		return abilities{}, err
	}
	if err := e.removeProbes(ctx); err != nil {
		return abilities{}, err
	}
	both, err := e.starts(ctx, image, sandboxOOM, true)
	if err != nil || both {
		return abilities{both, both}, err
	}
	var out abilities
	var errs [2]error
	var group sync.WaitGroup
	group.Go(func() { out.negativeOOM, errs[0] = e.starts(ctx, image, sandboxOOM, false) })
	group.Go(func() { out.privileged, errs[1] = e.starts(ctx, image, 0, true) })
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return abilities{}, err
		}
	}
	return out, nil
}

// probeImage is the built-in image, which needs no pull, where there is one.
func (e *Engine) probeImage(ctx context.Context) (string, error) {
	if built, err := pause.Load(); err == nil {
		return built.Ref, e.once(ctx, "probe image", e.loadPause)
	}
	if err := e.ensureSandboxImage(ctx); err != nil {
		return "", err
	}
	return e.sandboxImage()
}

// starts reports whether such a container starts. An error means that the
// engine could not be asked.
func (e *Engine) starts(ctx context.Context, image string, oom int, privileged bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	no := false
	host := &container.HostConfig{
		// With the host's network there is no namespace to set up: the
		// cheapest container there is.
		NetworkMode: "host",
		OomScoreAdj: oom,
		Privileged:  privileged,
		LogConfig:   container.LogConfig{Type: "none"},
		Init:        &no,
	}
	e.mu.Lock()
	if e.remapped {
		host.UsernsMode = "host"
	}
	e.mu.Unlock()
	created, err := e.api().ContainerCreate(ctx, &container.Config{
		Image: image, Labels: map[string]string{labelProbe: e.cfg.Owner}, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}, host, nil, nil, "")
	if err != nil {
		return false, failed("create probe container", err)
	}
	startErr := e.api().ContainerStart(ctx, created.ID, container.StartOptions{})
	removeErr := e.api().ContainerRemove(ctx, created.ID, container.RemoveOptions{Force: true})
	switch {
	case startErr != nil && (isAway(startErr) || ctx.Err() != nil):
		return false, failed("start probe container", startErr)
	case removeErr != nil && isAway(removeErr):
		return false, failed("remove probe container", removeErr)
	case removeErr != nil:
		e.log.Warn().Err(failed("remove probe container", removeErr)).Msg("a probe container is left until the next start")
	}
	if startErr != nil {
		e.log.Debug().Err(failed("start probe container", startErr)).Int("oomScoreAdj", oom).Bool("privileged", privileged).Msg("engine cannot do this")
	}
	return startErr == nil, nil
}

// removeProbes clears away what an interrupted probing left.
func (e *Engine) removeProbes(ctx context.Context) error {
	list, err := e.api().ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelProbe+"="+e.cfg.Owner)),
	})
	if err != nil {
		return failed("list probe containers", err)
	}
	for _, c := range list {
		if err := e.api().ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}); isAway(err) {
			return failed("remove probe container", err)
		}
	}
	return nil
}

// readBoot reads which run of the machine this is, unless it was given.
func (e *Engine) readBoot() error {
	e.mu.Lock()
	done := e.facts.BootID != "" && !e.bootTime.IsZero()
	e.mu.Unlock()
	if done {
		return nil
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return fmt.Errorf("read boot id: %w", err)
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return fmt.Errorf("read boot time: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.facts.BootID == "" {
		e.facts.BootID = strings.TrimSpace(string(id))
	}
	if e.bootTime.IsZero() {
		e.bootTime = bootTime(string(stat))
	}
	return nil
}

// bootTime finds when the machine was started in /proc/stat.
func bootTime(stat string) time.Time {
	for line := range strings.Lines(stat) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			if seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				return time.Unix(seconds, 0)
			}
		}
	}
	return time.Time{}
}
