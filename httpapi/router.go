package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxBody bounds a request body. No route of this package reads one yet; what
// is sent all the same must not cost memory or time.
const maxBody = 1 << 20

// Handler returns the routes of the package comment over cfg. It is safe for
// concurrent use and keeps cfg; panics of handlers are logged to log.
func Handler(cfg Config, log zerolog.Logger) http.Handler {
	r := chi.NewRouter()
	guard(r, log)
	checks := append([]Check{pingCheck()}, cfg.Health...)
	r.Get("/healthz", allChecks("healthz", checks))
	r.Get("/healthz/{check}", oneCheck(checks))
	r.Get("/readyz", readyz(cfg))
	r.Get("/readyz/{check}", oneCheck(readyChecks(cfg)))
	r.Get("/pods", getPods(cfg.Pods))
	r.Get("/manifests", getManifests(cfg.Manifests))
	r.Get("/why/{namespace}/{name}", getWhy(cfg.Why))
	r.Get("/version", getVersion(cfg.Version))
	r.Post("/down", postDown(cfg.Down))
	return r
}

// HealthHandler returns the routes of the plain health port: /healthz and
// /healthz/ping, which say no more than that the process answers.
func HealthHandler(log zerolog.Logger) http.Handler {
	r := chi.NewRouter()
	guard(r, log)
	checks := []Check{pingCheck()}
	r.Get("/healthz", allChecks("healthz", checks))
	r.Get("/healthz/{check}", oneCheck(checks))
	return r
}

// guard installs what every router of this package has: recovery from panics,
// the body limit, HEAD, and Status answers for paths and methods it lacks.
func guard(r *chi.Mux, log zerolog.Logger) {
	r.Use(recoverer(log), noSniff, limitBody, middleware.GetHead)
	notFound := func(w http.ResponseWriter, req *http.Request) {
		writeError(w, http.StatusNotFound, metav1.StatusReasonNotFound,
			"no such path: "+req.URL.Path)
	}
	r.NotFound(notFound)
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		allowed := strings.Join(allowedMethods(r, req), ", ")
		if allowed == "" { // chi answers a method it does not know before it looks at the path
			notFound(w, req)
			return
		}
		w.Header().Set("Allow", allowed)
		writeError(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			req.Method+" is not allowed on "+req.URL.Path+"; use "+allowed)
	})
}

// allowedMethods asks the router again, because chi tells a custom 405 handler
// nothing of the methods a path has.
func allowedMethods(r chi.Routes, req *http.Request) []string {
	path := req.URL.RawPath
	if path == "" {
		path = req.URL.Path
	}
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if r.Match(chi.NewRouteContext(), method, path) {
			methods = append(methods, method)
		}
	}
	return methods
}

func noSniff(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close") // what follows is not worth reading
			writeError(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
				"the request body is larger than 1 MiB")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
