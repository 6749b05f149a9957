package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/docker/dockertest"
	"github.com/islet-run/islet/pods"
)

// A registry fails and then works: the pod comes up by itself once the back-off
// is over, and why tells the story. The password comes from the root-dir and
// goes nowhere else.
func TestPodComesUpWhenItsRegistryWorksAgain(t *testing.T) {
	const backOff, more = 10 * time.Second, 15 * time.Second
	api := dockertest.Client(t)
	registry := dockertest.NewRegistry(t, api)
	registry.Push("app", "1", dockertest.Pushed{})
	registry.RequireLogin("islet", "correct-horse")
	registry.SetFault(dockertest.Refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "back soon"))

	s := siteOn(t, api)
	login, err := json.Marshal(map[string]any{"auths": map[string]any{
		registry.Address(): map[string]string{"username": "islet", "password": "correct-horse"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, "config.json"), login, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	image := registry.Address() + "/app:1"
	s.write("web.yaml", strings.Replace(podYAML("web"), dockertest.Busybox, image, 1))
	s.until("the pull has failed", func() bool {
		w := s.waitingState("web")
		return w != nil && w.Reason == pods.ReasonRegistryUnavailable && strings.Contains(w.Message, "503")
	})
	registry.SetFault(nil)
	since := time.Now()
	s.good("web")
	if took := time.Since(since); took > backOff+more {
		t.Errorf("the pod came up %v after the registry worked again, want %v at most", took, backOff+more)
	}
	_, why := s.islet("why", "web")
	at := -1
	for _, part := range []string{
		`Failed to pull image "` + image + `": received unexpected HTTP status: 503`, "Error: " + pods.ReasonRegistryUnavailable,
		`Back-off pulling image "` + image + `"`, `Pulling image "` + image + `" (2 times)`,
		`Successfully pulled image "` + image + `" in `, "Image size: ", "Container started",
	} {
		next := strings.Index(why, part)
		if next < 0 || next < at {
			t.Errorf("why does not tell %q, or not in its turn:\n%s", part, why)
		}
		at = max(at, next)
	}
	for _, text := range []string{"image pull starts", "image pulled"} {
		if !s.logged(text) {
			t.Errorf("the log does not say %q", text)
		}
	}
	if strings.Contains(why, "correct-horse") || s.logged("correct-horse") {
		t.Error("the password is told")
	}
}

// waitingState is the waiting state of the first container of a pod; nil: it
// does not wait.
func (s *site) waitingState(name string) *v1.ContainerStateWaiting {
	s.t.Helper()
	report, _ := s.status()
	if report.Pods == nil {
		return nil
	}
	for _, p := range report.Pods.Items {
		if p.Name == name && len(p.Status.ContainerStatuses) > 0 {
			return p.Status.ContainerStatuses[0].State.Waiting
		}
	}
	return nil
}
