package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	// minKill is the least time between the stop signal and SIGKILL.
	minKill = 2 * time.Second
	// killAgain is when SIGKILL is repeated to what survived it.
	killAgain = 5 * time.Second
	// A container that got the stop signal within freshFor of its start may not
	// have had its handler in place: it is signalled again after signalAgain.
	freshFor    = 2 * time.Second
	signalAgain = time.Second

	defaultGrace = int64(v1.DefaultTerminationGracePeriodSeconds)
)

// EffectiveGrace returns the seconds a pod has to end: its
// terminationGracePeriodSeconds, at least 1, and the Kubernetes default of 30
// for a pod that does not say or is not known.
func EffectiveGrace(pod *v1.Pod) int64 {
	if pod == nil || pod.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return max(*pod.Spec.TerminationGracePeriodSeconds, 1)
}

// deletionOf returns the deletion to record for an instance, or nil when the
// recorded one stands. Its deadline never moves back.
func deletionOf(now time.Time, rec *Record, asked *int64, reason string) *Deletion {
	if rec.Deletion == nil {
		grace := EffectiveGrace(rec.Pod)
		if asked != nil {
			grace = max(*asked, 1)
		}
		return &Deletion{At: now, GraceSeconds: grace, Reason: reason}
	}
	if asked == nil {
		return nil
	}
	elapsed := max(now.Sub(rec.Deletion.At), 0)
	grace := int64((elapsed+time.Second-1)/time.Second) + max(*asked, 1)
	if grace >= rec.Deletion.GraceSeconds {
		return nil
	}
	return &Deletion{At: rec.Deletion.At, GraceSeconds: grace, Reason: rec.Deletion.Reason}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
