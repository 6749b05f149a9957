package docker

import (
	"time"

	"github.com/rs/zerolog"
)

// PullProgress is how far the pull of an image has come.
type PullProgress struct {
	Image    string  // as written in the pod
	Fraction float64 // 0 to 1; may go back when a download begins anew
	Layers   int     // known so far; 0 until the registry has answered
	Done     int     // of them
	Current  int64   // bytes downloaded, of the layers that have begun
	Total    int64   // bytes of these
	Ended    bool    // the last report of this pull, whatever became of it
}

// How often progress is told: to a watcher, and in the log. A quarter done is
// told earlier, but a pull that takes a few seconds needs no line in between.
const (
	watchEvery   = 100 * time.Millisecond
	logEvery     = 10 * time.Second
	logQuarters  = 4
	quarterAfter = 2 * time.Second
)

// pullReport tells people of one pull.
type pullReport struct {
	image string
	watch func(PullProgress)
	log   zerolog.Logger

	since    time.Time // the beginning
	told     time.Time // the last line or report
	quarters int       // told of
}

func newPullReport(image string, watch func(PullProgress), log zerolog.Logger) *pullReport {
	return &pullReport{image: image, watch: watch, log: log.With().Str("image", image).Logger()}
}

// begin tells of a try; from is where its credentials are from, "" for none.
func (r *pullReport) begin(from string) {
	if !r.since.IsZero() {
		return // the same pull with other credentials
	}
	r.since = time.Now()
	r.told = r.since
	e := r.log.Info()
	if from != "" {
		e = e.Str("credentials", from)
	}
	e.Msg("image pull starts")
	if r.watch != nil {
		r.watch(PullProgress{Image: r.image})
	}
}

func (r *pullReport) progress(t *layerTrack) {
	now := time.Now()
	if r.watch != nil {
		if now.Sub(r.told) >= watchEvery {
			r.told = now
			r.watch(r.state(t))
		}
		return
	}
	quarters := int(t.fraction() * logQuarters)
	since := now.Sub(r.told)
	if since < logEvery && (quarters <= r.quarters || quarters == logQuarters || since < quarterAfter) {
		return
	}
	r.told, r.quarters = now, max(r.quarters, quarters)
	s := r.state(t)
	r.log.Info().Int("percent", int(100*s.Fraction)).Int("layers", s.Layers).Int("layersDone", s.Done).
		Int64("bytes", s.Current).Int64("ofBytes", s.Total).Dur("elapsed", now.Sub(r.since)).Msg("image pull goes on")
}

func (r *pullReport) state(t *layerTrack) PullProgress {
	s := PullProgress{Image: r.image, Fraction: t.fraction()}
	s.Layers, s.Done, s.Current, s.Total = t.count()
	return s
}

// end tells how it ended. A failure is logged by who asked for the image; the
// size and time of a success too, as the size is found out by looking at it.
func (r *pullReport) end(err error) {
	if err != nil {
		r.log.Debug().Err(err).Msg("image pull ends")
	}
	if r.watch != nil {
		r.watch(PullProgress{Image: r.image, Ended: true})
	}
}
