package pods

import "time"

// The crash-loop series of the kubelet: the first restart is immediate, then
// 10, 20, 40, 80, 160, 300, 300, ... seconds from the end of the last run. A
// container that lived longer than resetAfter begins anew.
const (
	backoffInitial = 10 * time.Second
	backoffMax     = 300 * time.Second
	resetAfter     = 2 * backoffMax
)

// retryEvery is the time between two tries of a step that is not a pull.
const retryEvery = 10 * time.Second

// clockSlack is how far an end may lie in the future before the clock must
// have been set back.
const clockSlack = 5 * time.Second

// restartDelay answers when the run after one that ended at finished may start
// (zero: at once) and the delay that the run after that will wait. An end that
// is not dated counts from the last start. One that lies in the future is not
// waited for: after the clock was set back that could take for ever.
func restartDelay(now time.Time, m Memory, finished time.Time) (due time.Time, next time.Duration) {
	if finished.IsZero() {
		finished = m.BackoffAt
	}
	if m.Backoff <= 0 || finished.Sub(m.BackoffAt) > resetAfter {
		return time.Time{}, backoffInitial
	}
	if finished.After(now.Add(clockSlack)) {
		return time.Time{}, double(m.Backoff)
	}
	return finished.Add(min(m.Backoff, backoffMax)), double(m.Backoff)
}

func double(d time.Duration) time.Duration { return min(2*d, backoffMax) }

// RetryDelay is how long after a failure the step is tried again: failed pulls
// wait 10 s, doubling to 300 s; everything else 10 s.
func RetryDelay(f Failure) time.Duration {
	if f.Kind != ActEnsureImage || f.Reason == ReasonErrImageNeverPull ||
		f.Reason == ReasonInvalidImageName || f.Reason == ReasonImageInspectError {
		return retryEvery
	}
	return seriesDelay(max(f.Count, 1))
}

// seriesDelay is the delay that follows so many restarts in a row: what is left
// to go by when the record of a container is lost.
func seriesDelay(restarts int) time.Duration {
	if restarts <= 0 {
		return 0
	}
	d := backoffInitial
	for i := 1; i < restarts && d < backoffMax; i++ {
		d = double(d)
	}
	return d
}
