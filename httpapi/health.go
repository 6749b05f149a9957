package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/islet-run/islet/pods"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EngineHeader is set to [EngineAway] on a health answer when a check failed
// with pods.ErrEngineAway, so that clients need not read prose.
const EngineHeader = "Islet-Engine"

// EngineAway is the value of [EngineHeader].
const EngineAway = "away"

// Check is one named part of a health answer.
type Check struct {
	Name string
	// Run returns nil when all is well. It is called per request and must not
	// block.
	Run func() error
}

func pingCheck() Check {
	return Check{Name: "ping", Run: func() error { return nil }}
}

func readyChecks(cfg Config) []Check {
	checks := append([]Check{pingCheck()}, cfg.Health...)
	if cfg.Ready != nil {
		checks = append(checks, Check{Name: "ready", Run: cfg.Ready})
	}
	return checks
}

func readyz(cfg Config) http.HandlerFunc {
	if cfg.Ready == nil {
		return func(w http.ResponseWriter, _ *http.Request) { notImplemented(w, "readiness") }
	}
	return allChecks("readyz", readyChecks(cfg))
}

// allChecks answers in the form of the Kubernetes components: "ok", or with
// ?verbose a line per check, or 500 and a line per check.
func allChecks(endpoint string, checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		_, verbose := query["verbose"]
		var lines bytes.Buffer
		failed := false
		for _, check := range checks {
			if slices.Contains(query["exclude"], check.Name) {
				fmt.Fprintf(&lines, "[+]%s excluded: ok\n", check.Name)
				continue
			}
			if err := check.Run(); err != nil {
				failed = true
				if errors.Is(err, pods.ErrEngineAway) {
					w.Header().Set(EngineHeader, EngineAway)
				}
				fmt.Fprintf(&lines, "[-]%s failed: %v\n", check.Name, err)
				continue
			}
			fmt.Fprintf(&lines, "[+]%s ok\n", check.Name)
		}
		switch {
		case failed:
			writeText(w, http.StatusInternalServerError, lines.String()+endpoint+" check failed\n")
		case verbose:
			writeText(w, http.StatusOK, lines.String()+endpoint+" check passed\n")
		default:
			writeText(w, http.StatusOK, "ok")
		}
	}
}

func oneCheck(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, err := pathParam(r, "check")
		if err != nil {
			writeError(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		for _, check := range checks {
			if check.Name != name {
				continue
			}
			if err := check.Run(); err != nil {
				writeText(w, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
				return
			}
			writeText(w, http.StatusOK, "ok")
			return
		}
		writeError(w, http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("no such check: %q", name))
	}
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // the client may be gone; nobody is left to tell
}
