package enginetest

import "time"

// SetClock moves every time that the engine has noted by d: what the stamps of
// a machine look like, to one that reads its clock now, after that clock was
// set by -d. Nothing else happens; no event tells of it.
func (f *Fake) SetClock(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Round(0).Add(d) // a stamp that was read back knows the wall clock only
		}
	}
	for _, c := range f.containers {
		if c.container != nil {
			move(&c.container.CreatedAt)
			move(&c.container.StartedAt)
			move(&c.container.FinishedAt)
		}
		if c.sandbox != nil {
			move(&c.sandbox.CreatedAt)
			move(&c.sandbox.StartedAt)
		}
	}
}
