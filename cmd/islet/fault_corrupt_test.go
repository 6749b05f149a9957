package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A file of the state directory that cannot be read back is moved to
// quarantine/ and named; everything else is used, and no pod notices.
func TestFaultCorruptedState(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	chaosImages(t, s.api)
	plain := chaosPod{shape: 1}
	for _, name := range []string{"mine", "other"} {
		s.write(name+".yaml", plain.text(name, 0))
	}
	s.start()
	s.good("mine", "other")

	for _, c := range []struct {
		name string
		file func() string // of the pod "mine", in the state directory
		told string        // in the log
	}{
		{"documents/file", func() string { return s.fileWith("documents/file", "mine.yaml") }, "a stored document is lost"},
		{"documents/file root", func() string { return s.fileWith("documents/file", `"root"`) }, "a stored document is lost"},
		{"identities", func() string { return s.fileWith("identities", "Pod/default/mine") }, "a stored identity is lost"},
		{"pods", func() string { return filepath.Join("pods", s.uid("mine"), "instance.json") }, "some instance records could not be read"},
		{"events", func() string { return s.fileWith("events", "default/mine") }, "some events of the past could not be read"},
		{"owner", func() string { return "owner" }, "took back its owner id"},
		{"key", func() string { return "key" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.settle()
			before := s.allIDs("mine", "other")
			s.kill()
			file := c.file()
			if err := os.WriteFile(filepath.Join(s.root, file), []byte("{\"name\": \x00\xff garbage"), 0o600); err != nil {
				t.Fatal(err)
			}
			told := strings.Count(s.log.String(), c.told)
			s.start()
			s.until("the file is in quarantine", func() bool {
				_, err := os.Stat(filepath.Join(s.root, "quarantine", strings.ReplaceAll(file, "/", "_")))
				return err == nil
			})
			if c.told != "" && (strings.Count(s.log.String(), c.told) <= told || !s.logged(filepath.Base(file))) {
				t.Errorf("the log does not name %s and say: %s", file, c.told)
			}
			s.good("mine", "other")
			s.same(before, "mine", "other")
			plain.label++ // it is still looked after
			s.write("mine.yaml", plain.text("mine", 0))
			s.until("an edit is applied", func() bool {
				report, _ := s.report()
				return slices.ContainsFunc(report.Pods.Items, func(p v1.Pod) bool { return plain.is(&p) && p.Name == "mine" })
			})
		})
	}
}

// settle waits until what islet writes beside its work is on the disk.
func (s *site) settle() {
	s.t.Helper()
	s.until("the history is written", func() bool { return s.fileWith("events", "default/mine") != "" })
}

// fileWith finds the file of a collection whose text has these words, relative
// to the state directory; "" when there is none.
func (s *site) fileWith(collection, words string) string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.root, collection, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), words) {
			rel, _ := filepath.Rel(s.root, path)
			return rel
		}
	}
	return ""
}

// uid is the UID of the running instance of a pod.
func (s *site) uid(pod string) string {
	s.t.Helper()
	in, err := s.api.ContainerInspect(context.Background(), s.ids(pod)["POD"])
	if err != nil {
		s.t.Fatal(err)
	}
	return in.Config.Labels["io.kubernetes.pod.uid"]
}
