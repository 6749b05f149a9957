package main

import (
	"context"
	"io"
	"time"
)

// report asks islet without a process of its own.
func (s *site) report() (statusReport, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	view := statusView{client: newClient(s.root), stdout: io.Discard, stderr: io.Discard}
	return view.fetch(ctx)
}
