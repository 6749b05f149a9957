package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResultTrailer is the HTTP trailer that tells how /down ended: [ResultOK], or
// [ResultFailed] followed by why.
const ResultTrailer = "Islet-Result"

// Values of [ResultTrailer].
const (
	ResultOK     = "ok"
	ResultFailed = "failed: "
)

// lineDeadline is how long a client may leave a reported line unread before it
// is written off. Ending the pods must not depend on who watches.
const lineDeadline = 5 * time.Second

func postDown(down func(ctx context.Context, report func(line string)) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if down == nil {
			notImplemented(w, "down")
			return
		}
		lines := &lineWriter{w: w, control: http.NewResponseController(w)}
		// Pods may take their whole grace; the server's own limits are for
		// answers that are ready.
		_ = lines.control.SetReadDeadline(time.Time{})
		_ = lines.control.SetWriteDeadline(time.Time{})
		err := down(r.Context(), lines.report)
		lines.end(err)
	}
}

// lineWriter sends lines as they come. Its header goes out with the first one,
// so that a failure before it is still a proper Status.
type lineWriter struct {
	mu      sync.Mutex // guards all below; report may be called concurrently
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	broken  bool // the client is gone or does not read
	ended   bool
}

func (l *lineWriter) report(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.write(line)
	}
}

func (l *lineWriter) write(line string) {
	if l.broken {
		return
	}
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		l.w.Header().Set("Trailer", ResultTrailer)
		l.w.WriteHeader(http.StatusOK)
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(lineDeadline))
	if _, err := l.w.Write([]byte(oneLine(line) + "\n")); err != nil {
		l.broken = true
		return
	}
	if err := l.control.Flush(); err != nil {
		l.broken = true
	}
}

// end writes the outcome. Reports that come later are dropped: the answer is
// not ours any more.
func (l *lineWriter) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if err != nil && !l.begun {
		writeError(l.w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "down: "+err.Error())
		return
	}
	if !l.begun {
		l.write("nothing to stop")
	}
	result := ResultOK
	if err != nil {
		result = ResultFailed + oneLine(err.Error())
	}
	l.w.Header().Set(ResultTrailer, result)
}

// oneLine keeps a report one line of the stream.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
