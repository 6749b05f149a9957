package syncer

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
)

// Target is the whole wanted state at one moment; the newest replaces all
// earlier ones. It and all it points to are shared and never changed.
type Target struct {
	Pods map[pods.Key]*pods.Want
	// After names, for a pod that takes the place of one of another name, the
	// instance that must be gone before it begins.
	After map[pods.Key]types.UID
	// Complete: every source has ended its first attempt, so a pod that is not
	// in Pods is really not wanted.
	Complete bool
	// Clean: every source was read completely without a rejected document, so
	// even containers without a record are known to belong to nobody.
	Clean bool
}

// want returns what the target says of a key. known is false while it cannot
// be told yet whether the pod is wanted; nothing may then be done to it.
func (t Target) want(key pods.Key) (want *pods.Want, known bool) {
	if w, ok := t.Pods[key]; ok {
		return w, true
	}
	return nil, t.Complete
}
