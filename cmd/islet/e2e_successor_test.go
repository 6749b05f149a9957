package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/islet-run/islet/docker/dockertest"
)

// A pod that holds a port of the machine and lets go of it only when it is
// gone: whatever of it is edited, the old one goes first and the new one gets
// the port at once. Also a new namespace, which makes it another pod.
func TestSuccessorWaitsForThePort(t *testing.T) {
	s := newSite(t)
	text := fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: port, namespace: default}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 5
  containers:
  - name: c
    image: %s
    command: [sh, -c, 'trap "sleep 1; exit 0" TERM; nc -ll -p $0 -e cat & wait', '%d']
`, dockertest.Busybox, freePort(t))
	s.write("port.yaml", text)
	s.start()
	s.good("port")
	for _, edit := range []struct{ what, old, new string }{
		{"another namespace", "namespace: default", "namespace: n2"},
		{"the container renamed", "name: c\n", "name: d\n"},
		{"other arguments", "-e cat &", "-e date &"},
		{"a new name and namespace", "{name: port, namespace: n2}", "{name: port2, namespace: n3}"},
	} {
		if !strings.Contains(text, edit.old) {
			t.Fatalf("%s: nothing to edit", edit.what)
		}
		text = strings.Replace(text, edit.old, edit.new, 1)
		before, since := s.running(), time.Now()
		s.write("port.yaml", text)
		s.until(edit.what+": the new one runs", func() bool {
			now := s.running()
			return len(now) == 1 && now[0] != before[0]
		})
		name := "port"
		if strings.Contains(text, "port2") {
			name = "port2"
		}
		s.good(name)
		died, started := s.deathAndBirth(since, before[0], s.running()[0])
		if gap := started.Sub(died); gap < 0 {
			t.Errorf("%s: the new one started %v before the old one was gone", edit.what, -gap)
		}
		if c := s.pod(name).Status.ContainerStatuses[0]; c.RestartCount != 0 {
			t.Errorf("%s: %d restarts: the port was still taken", edit.what, c.RestartCount)
		}
	}
}

// running are the ids of the site's containers that run, without sandboxes.
func (s *site) running() []string {
	s.t.Helper()
	var ids []string
	for _, c := range s.ofOwners("run.islet.owner=" + s.owner()) {
		if c.State == "running" && c.Labels["run.islet.type"] != "sandbox" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// deathAndBirth asks the engine when one container died and another started.
func (s *site) deathAndBirth(since time.Time, dead, born string) (died, started time.Time) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually)
	defer cancel()
	messages, errs := s.api.Events(ctx, events.ListOptions{
		Since: fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()), Until: fmt.Sprint(time.Now().Unix() + 1),
		Filters: filters.NewArgs(filters.Arg("label", "run.islet.owner="+s.owner())),
	})
	for {
		select {
		case m := <-messages:
			switch {
			case m.Action == events.ActionDie && m.Actor.ID == dead:
				died = time.Unix(0, m.TimeNano)
			case m.Action == events.ActionStart && m.Actor.ID == born:
				started = time.Unix(0, m.TimeNano)
			}
		case <-errs:
			if died.IsZero() || started.IsZero() {
				s.t.Fatalf("the engine tells of no hand-over: died %v, started %v", died, started)
			}
			return died, started
		}
	}
}
