package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasonNotImplemented is the Status reason of a route whose function is nil.
// Kubernetes has no word for it.
const reasonNotImplemented metav1.StatusReason = "NotImplemented"

// writeError answers with a metav1.Status.
func writeError(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeStatus(w, metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func writeStatus(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	writeJSON(w, int(status.Code), status)
}

func notImplemented(w http.ResponseWriter, what string) {
	writeError(w, http.StatusNotImplemented, reasonNotImplemented, what+" is not served by this islet")
}

// writeJSON encodes before it sends, so that a value that cannot be encoded is
// a clean 500 and not half an answer.
func writeJSON(w http.ResponseWriter, code int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		code = http.StatusInternalServerError
		// A Status of two strings and a number always encodes.
		body, _ = json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code),
			Reason: metav1.StatusReasonInternalError, Message: "encode answer: " + err.Error(),
		})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the client may be gone; nobody is left to tell
}

// recoverer turns a panic of a handler into 500 and a log line. An answer that
// has begun cannot be taken back: its connection is cut instead, so that the
// client does not take half an answer for a whole one.
func recoverer(log zerolog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			watched := &startedWriter{ResponseWriter: w}
			defer func() {
				cause := recover()
				if cause == nil {
					return
				}
				if cause == http.ErrAbortHandler {
					panic(cause)
				}
				log.Error().Str("error", fmt.Sprint(cause)).Str("method", r.Method).Str("path", r.URL.Path).
					Bytes("stack", debug.Stack()).Msg("request handler panicked")
				if watched.started {
					panic(http.ErrAbortHandler)
				}
				writeError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError,
					"islet made a mistake answering this; its log has the details")
			}()
			next.ServeHTTP(watched, r)
		})
	}
}

// startedWriter remembers whether an answer has begun.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

func (w *startedWriter) WriteHeader(code int) {
	w.started = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *startedWriter) Write(p []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach deadlines and flushing.
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
