package main

import (
	"context"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"
)

// islet is stopped (SIGSTOP) while manifests change and a container dies, and
// goes on as if nothing had been: all of it is taken up, nothing else touched.
func TestFaultIsletStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	chaosImages(t, s.api)
	plain := chaosPod{shape: 1}
	for _, name := range []string{"keep", "relabel", "replace", "leave", "dies"} {
		s.write(name+".yaml", plain.text(name, 0))
	}
	s.start()
	s.good("keep", "relabel", "replace", "leave", "dies")
	before := s.allIDs("keep", "relabel", "replace", "leave", "dies")

	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.write("relabel.yaml", chaosPod{shape: 1, label: 1}.text("relabel", 0))
	s.write("replace.yaml", chaosPod{shape: 1, env: 1}.text("replace", 0))
	s.write("come.yaml", plain.text("come", 0))
	s.remove("leave.yaml")
	if err := s.api.ContainerKill(context.Background(), before["dies"]["c"], "KILL"); err != nil {
		t.Fatal(err)
	}
	pass(long(5*time.Second, time.Minute))
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	s.until("what died runs again", func() bool { id := s.ids("dies")["c"]; return id != "" && id != before["dies"]["c"] })
	s.until("the edit is applied", func() bool { id := s.ids("replace")["POD"]; return id != "" && id != before["replace"]["POD"] })
	s.good("keep", "relabel", "replace", "come", "dies")
	s.same(before, "keep", "relabel")
	if now := s.ids("dies"); now["POD"] != before["dies"]["POD"] {
		t.Errorf("the sandbox of a pod whose container died was replaced: %v, now %v", before["dies"], now)
	}
	if strings.Contains(s.log.String(), "engine does not answer") {
		t.Error("a pause of islet was taken for an outage of the engine")
	}
}

// allIDs are the ids of several pods.
func (s *site) allIDs(pods ...string) map[string]map[string]string {
	s.t.Helper()
	all := map[string]map[string]string{}
	for _, p := range pods {
		all[p] = s.ids(p)
	}
	return all
}

// same fails the test unless these pods run as they did.
func (s *site) same(before map[string]map[string]string, pods ...string) {
	s.t.Helper()
	for _, p := range pods {
		if now := s.ids(p); len(now) == 0 || !maps.Equal(now, before[p]) {
			s.t.Errorf("%s: containers before %v, now %v", p, before[p], now)
		}
	}
}
