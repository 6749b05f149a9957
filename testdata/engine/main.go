package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"

	"github.com/islet-run/islet/testdata/images"
)

const rootLabel = "run.islet.root"

var errUsage = errors.New("usage: engine address | ping | image | fetch URL | freeport | holder PORT | list ROOT | sweep ROOT")

// errNobody says that nothing publishes a port; it is an answer, not a fault.
var errNobody = errors.New("nobody")

func main() {
	err := run(context.Background(), os.Args[1:])
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case errors.Is(err, errNobody):
		os.Exit(1)
	default:
		fmt.Fprintf(os.Stderr, "engine: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	docker, err := client.NewClientWithOpts(client.WithHostFromEnv(), client.WithTLSClientConfigFromEnv(), client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	defer docker.Close()
	switch args[0] + "/" + strconv.Itoa(len(args)-1) {
	case "address/0":
		fmt.Println(docker.DaemonHost())
		return nil
	case "ping/0":
		return ping(ctx, docker)
	case "image/0":
		return makeImage(ctx, docker)
	case "fetch/1":
		return fetch(ctx, args[1])
	case "freeport/0":
		return freePort()
	case "holder/1":
		return holder(ctx, docker, args[1])
	case "list/1":
		return list(ctx, docker, args[1])
	case "sweep/1":
		return sweep(ctx, docker, args[1])
	}
	return errUsage
}

func ping(ctx context.Context, docker *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	v, err := docker.ServerVersion(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("Docker Engine %s (API %s) at %s\n", v.Version, v.APIVersion, docker.DaemonHost())
	return nil
}

func makeImage(ctx context.Context, docker *client.Client) error {
	busybox, err := images.FindBusybox()
	if err != nil {
		return err
	}
	example, err := images.NewExample(ctx, busybox)
	if err != nil {
		return err
	}
	done, err := example.Import(ctx, docker)
	if err != nil {
		return err
	}
	if done {
		fmt.Printf("image %s made from %s\n", images.ExampleRef, busybox)
	} else {
		fmt.Printf("image %s is there\n", images.ExampleRef)
	}
	return nil
}

func fetch(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err // names the URL
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("fetch %s: %s", url, resp.Status)
	}
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	return nil
}

// freePort asks on all addresses, because a hostPort takes all of them.
func freePort() error {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return fmt.Errorf("find free port: %w", err)
	}
	defer l.Close()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return nil
}

func holder(ctx context.Context, docker *client.Client, port string) error {
	want, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errUsage
	}
	running, err := docker.ContainerList(ctx, container.ListOptions{})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, c := range running {
		for _, p := range c.Ports {
			if p.PublicPort == uint16(want) && p.Type == "tcp" {
				fmt.Printf("%s %s\n", name(c), c.Labels[rootLabel])
				return nil
			}
		}
	}
	return errNobody
}

func name(c container.Summary) string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

// ofRoot returns the filter for what the islet with this root-dir made.
func ofRoot(root string) (filters.Args, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return filters.Args{}, fmt.Errorf("resolve %s: %w", root, err)
	}
	return filters.NewArgs(filters.Arg("label", rootLabel+"="+abs)), nil
}

func list(ctx context.Context, docker *client.Client, root string) error {
	filter, err := ofRoot(root)
	if err != nil {
		return err
	}
	all, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filter})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	lines := make([]string, 0, len(all))
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("%.12s %s %s", c.ID, c.State, name(c)))
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

func sweep(ctx context.Context, docker *client.Client, root string) error {
	filter, err := ofRoot(root)
	if err != nil {
		return err
	}
	all, err := docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filter})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var errs []error
	for _, c := range all {
		fmt.Printf("remove container %s\n", name(c))
		err := docker.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove container %s: %w", name(c), err))
		}
	}
	nets, err := docker.NetworkList(ctx, network.ListOptions{Filters: filter})
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("list networks: %w", err))...)
	}
	for _, n := range nets {
		fmt.Printf("remove network %s\n", n.Name)
		if err := docker.NetworkRemove(ctx, n.ID); err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove network %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}
