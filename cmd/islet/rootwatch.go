package main

import (
	"context"
	"fmt"
	"time"
)

// rootPoll is how often the root-dir is looked at.
const rootPoll = 20 * time.Second

// keepRoot ends islet with an error when its root-dir is removed or replaced
// under it. The lock is gone with it, so another islet may start on the same
// path; two that work on one engine are worse than none. Pods keep running, and
// the next start takes them over.
func (i *islet) keepRoot(ctx context.Context) error {
	poll := time.NewTicker(rootPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
		if err := i.store.Held(); err != nil {
			return fmt.Errorf("%w; pods keep running, start islet again to look after them", err)
		}
	}
}
