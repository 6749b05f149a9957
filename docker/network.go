package docker

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"
)

// readyTimeout bounds making the network or an image ready.
const readyTimeout = 5 * time.Minute

const optionMTU = "com.docker.network.driver.mtu"

// ensureNetwork makes sure that the network of this owner exists. Callers that
// come together share one attempt.
func (e *Engine) ensureNetwork(ctx context.Context) error {
	return e.once(ctx, "network", func(ctx context.Context) error {
		if err := e.makeNetwork(ctx); err != nil {
			return err
		}
		e.networkReady.Store(true)
		return nil
	})
}

// once shares one run of what makes something ready among all who need it; it
// goes on when the caller that began it gives up.
func (e *Engine) once(ctx context.Context, what string, run func(context.Context) error) error {
	done := e.ready.DoChan(what, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		return nil, run(ctx)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return failed("await "+what, ctx.Err())
	}
}

func (e *Engine) makeNetwork(ctx context.Context) error {
	exists, err := e.checkNetwork(ctx)
	if err != nil || exists {
		return err
	}
	options := map[string]string{}
	if mtu := routeMTU(); mtu != 0 {
		options[optionMTU] = strconv.Itoa(mtu)
	}
	_, err = e.api().NetworkCreate(ctx, e.cfg.NetworkName, network.CreateOptions{
		Driver:  "bridge",
		Options: options,
		Labels:  map[string]string{labelOwner: e.cfg.Owner, labelRoot: e.cfg.Root},
	})
	if cerrdefs.IsConflict(err) { // somebody was faster
		if exists, err := e.checkNetwork(ctx); err != nil || exists {
			return err
		}
	}
	return failed(fmt.Sprintf("create network %q", e.cfg.NetworkName), err)
}

// checkNetwork reports whether our network exists. One of that name that is not
// ours is an error: pods must not join it, and it is not to be changed.
func (e *Engine) checkNetwork(ctx context.Context) (bool, error) {
	in, err := e.api().NetworkInspect(ctx, e.cfg.NetworkName, network.InspectOptions{})
	if cerrdefs.IsNotFound(err) || err == nil && in.Name != e.cfg.NetworkName { // found by the beginning of its id
		return false, nil
	}
	if err != nil {
		return false, failed(fmt.Sprintf("inspect network %q", e.cfg.NetworkName), err)
	}
	if owner := in.Labels[labelOwner]; owner != e.cfg.Owner {
		if owner == "" {
			owner = "nobody known to islet"
		}
		return false, fmt.Errorf("use network %q: it belongs to %s: remove it or have islet use another name", e.cfg.NetworkName, owner)
	}
	return true, nil
}

// RemoveNetwork removes the network of this owner. One that is gone is no
// error; one that is somebody else's, or that containers are still on, is.
func (e *Engine) RemoveNetwork(ctx context.Context) error {
	exists, err := e.checkNetwork(ctx)
	if err != nil || !exists {
		return err
	}
	e.networkReady.Store(false)
	err = e.api().NetworkRemove(ctx, e.cfg.NetworkName)
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return failed(fmt.Sprintf("remove network %q", e.cfg.NetworkName), err)
}

// routeMTU returns the MTU of the interface of the default route, 0 when there
// is none to be seen. A bridge with a larger one loses big packets on the way out.
func routeMTU() int {
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return 0
	}
	defer f.Close()
	var table []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		table = append(table, lines.Text())
	}
	device, err := net.InterfaceByName(defaultDevice(table))
	if err != nil {
		return 0
	}
	return device.MTU
}

// defaultDevice finds the interface of the default route with the lowest metric
// in the lines of /proc/net/route.
func defaultDevice(lines []string) string {
	device, best := "", -1
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		metric, err := strconv.Atoi(f[6])
		if err == nil && (best < 0 || metric < best) {
			device, best = f[0], metric
		}
	}
	return device
}
