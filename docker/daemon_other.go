//go:build !linux

package docker

import (
	"context"

	"github.com/docker/docker/client"
)

type daemon struct {
	stamp    string
	oomScore int
}

func daemonProcess(context.Context, *client.Client) daemon { return daemon{} }
