package docker

import (
	"errors"
	"strings"
	"testing"

	"github.com/islet-run/islet/pods"
)

func TestPullReasons(t *testing.T) {
	for _, row := range []struct{ words, reason string }{
		{"pull access denied for app, repository does not exist or may require 'docker login': denied", pods.ReasonErrImagePull},
		{"manifest for r:5000/app:1 not found: manifest unknown", pods.ReasonErrImagePull},
		{"received unexpected HTTP status: 500 Internal Server Error", pods.ReasonErrImagePull},
		{"toomanyrequests: You have reached your pull rate limit", pods.ReasonErrImagePull},
		{`Get "https://r.test/v2/": dial tcp: lookup r.test on 127.0.0.53:53: no such host`, pods.ReasonErrImagePull},
		{`Get "https://r.test/v2/": dial tcp: lookup r.test on 10.0.0.2:53: read udp 10.0.0.1:2->10.0.0.2:53: i/o timeout`, pods.ReasonErrImagePull},
		{"error pulling image configuration: image port 503 is not a status", pods.ReasonErrImagePull},
		{`Get "http://127.0.0.1:5000/v2/": dial tcp 127.0.0.1:5000: connect: connection refused`, pods.ReasonRegistryUnavailable},
		{`Get "https://r.test/v2/": dial tcp 192.0.2.1:443: i/o timeout`, pods.ReasonRegistryUnavailable},
		{`Get "https://r.test/v2/": net/http: TLS handshake timeout`, pods.ReasonRegistryUnavailable},
		{"received unexpected HTTP status: 503 Service Unavailable", pods.ReasonRegistryUnavailable},
		{"error parsing HTTP 502 response body: invalid character '<'", pods.ReasonRegistryUnavailable},
		{"failed to resolve reference: unexpected status from HEAD request to https://r.test/v2/app/manifests/1: 504 Gateway Timeout", pods.ReasonRegistryUnavailable},
	} {
		err := pullError("app", errors.New(row.words), nil)
		var failure *pods.EngineError
		if !errors.As(err, &failure) || failure.Reason != row.reason {
			t.Errorf("%s: %+v, want %s", row.words, failure, row.reason)
		}
		if want := `pull image "app": ` + row.words; err.Error() != want {
			t.Errorf("words %q, want %q", err, want)
		}
	}
	err := pullError("app", errors.New("denied"), errors.New("ask credential helper x: it is not installed"))
	if want := `pull image "app": denied (ask credential helper x: it is not installed)`; err.Error() != want {
		t.Errorf("words %q, want %q", err, want)
	}
	page := "error parsing HTTP 502 response body: \"<html>\n\n  <body>" + strings.Repeat("é ", 5000) + "\""
	if text := pullError("app", errors.New(page), nil).Error(); len(text) > maxWords+50 || strings.Contains(text, "\n") || !strings.HasSuffix(text, "...") {
		t.Errorf("a whole page: %d bytes: %.80q", len(text), text)
	}
	if err := pullError("app", pods.ErrEngineAway, nil); !errors.Is(err, pods.ErrEngineAway) {
		t.Errorf("an engine that is away: %v", err)
	}
}

func TestPlatform(t *testing.T) {
	for _, row := range []struct {
		osType, machine, imageOS, imageArch string
		fits                                bool
	}{
		{"linux", "x86_64", "linux", "amd64", true},
		{"linux", "x86_64", "linux", "386", true},
		{"linux", "x86_64", "linux", "arm64", false},
		{"linux", "aarch64", "linux", "arm64", true},
		{"linux", "aarch64", "linux", "arm", true},
		{"linux", "armv7l", "linux", "arm64", false},
		{"linux", "x86_64", "windows", "amd64", false},
		{"linux", "riscv64", "linux", "riscv64", true},
		{"linux", "x86_64", "", "", true},
		{"", "", "linux", "arm64", true},
	} {
		words := platformOf(row.osType, row.machine).mismatch("app:1", row.imageOS, row.imageArch)
		if (words == "") != row.fits {
			t.Errorf("%+v: %q", row, words)
		}
	}
}
