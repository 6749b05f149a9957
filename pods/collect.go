package pods

import (
	"fmt"
	"time"
)

// DeadPolicy says which ended runs of a container stay on the engine, for their
// logs. The zero value keeps the newest one.
type DeadPolicy struct {
	// PerContainer is how many are kept of each container, the newest first;
	// less than 1 counts as 1.
	PerContainer int
	// MinAge keeps those too that ended less than this ago.
	MinAge time.Duration
}

// surplus removes ended runs that newer ones of the same container make
// useless, starts that came to nothing, and all sandboxes but the newest.
// sandbox is the ready one; nil: nothing starts any more.
func (v *view) surplus(sandbox *Sandbox) {
	o := &v.in.Observed
	for i := range o.Containers {
		c := &o.Containers[i]
		keep := c.alive()
		switch c.State {
		case StateExited:
			keep = v.keepsEnded(c)
		case StateCreated:
			keep = v.busy(Action{Kind: ActStartContainer, Container: c.Name}) ||
				(sandbox != nil && c.SandboxID == sandbox.ID && newestRun(o, c.Name, "") == c)
		}
		if !keep {
			v.do(Action{Kind: ActRemove, Container: c.Name, ID: c.ID, Attempt: c.Attempt, Reason: v.dead.reason()})
		}
	}
	newest, _ := newestSandbox(o)
	for i := range o.Sandboxes {
		if b := &o.Sandboxes[i]; b != newest {
			v.do(Action{Kind: ActRemove, ID: b.ID, Attempt: b.Attempt, Force: b.alive(), Reason: "only the newest sandbox is kept"})
		}
	}
}

// keepsEnded reports whether an ended run stays, and asks to be asked again
// when its time is over.
func (v *view) keepsEnded(c *Container) bool {
	later := 0
	for i := range v.in.Observed.Containers {
		other := &v.in.Observed.Containers[i]
		if other.Name == c.Name && other.State == StateExited && newer(other, c) {
			later++
		}
	}
	if later < max(v.dead.PerContainer, 1) {
		return true
	}
	until := c.FinishedAt.Add(v.dead.MinAge)
	if c.FinishedAt.After(v.now.Add(clockSlack)) || !until.After(v.now) {
		return false
	}
	v.wakeAt(until)
	return true
}

func (d DeadPolicy) reason() string {
	if d.PerContainer <= 1 {
		return reasonSurplus
	}
	return fmt.Sprintf("only the %d newest ended runs of a container are kept", d.PerContainer)
}
