package syncer

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/pods"
)

// How long one try at removing the cgroup of a pod waits for dying tasks, and
// how long until the next try at erasing what could not be erased.
const (
	cgroupWait = 2 * time.Second
	eraseRetry = 10 * time.Second
)

// forget erases an instance beside the worker, so that a successor need not
// wait: the cgroup, the files, and last the record. If islet ends in between,
// the record is found again at the next start and forgotten then.
func (w *worker) forget(ctx context.Context, in *instance) {
	in.forgotten = true
	uid := in.Record.UID
	w.mu.Lock()
	w.mail.ops++
	w.mu.Unlock()
	w.s.running.Add(1)
	go func() {
		defer w.s.running.Done()
		for told := ""; ; {
			err := w.erase(ctx, in.Record, in.Stray)
			if err == nil || ctx.Err() != nil {
				break
			}
			if text := err.Error(); text != told {
				told = text
				w.s.Log.Warn().Err(err).Str("pod", w.key.String()).Str("uid", string(uid)).
					Msg("ended instance could not be erased; trying again until it works")
			}
			select {
			case <-ctx.Done():
			case <-time.After(eraseRetry):
			}
		}
		w.send(func(m *mail) {
			m.results = append(m.results, result{uid: uid, action: pods.Action{Kind: pods.ActForget, UID: uid}})
		})
	}()
}

func (w *worker) erase(ctx context.Context, r pods.Record, stray bool) error {
	classes := []v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort}
	if !stray && r.Pod != nil {
		classes = []v1.PodQOSClass{pods.QOS(r.Pod)}
	}
	for _, qos := range classes {
		tryCtx, cancel := context.WithTimeout(ctx, cgroupWait)
		err := w.s.Cgroups.Remove(tryCtx, string(qos), string(r.UID))
		cancel()
		if err != nil {
			return err
		}
	}
	return w.s.Records.Erase(r.UID)
}
