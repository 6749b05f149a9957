package sources

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// What happens while the store cannot be written: a full disk must neither stop
// what runs nor keep running what nobody wants any more. Nothing is published
// that is not durable, so additions and edits wait; removals are made durable
// by deleting, which needs no room, and take effect.

// stick notes, and logs once, that the store cannot be written.
func (p *PodConfig) stick(err error) {
	text := fmt.Sprintf("cannot keep identities: %v; until that works only removals take effect", err)
	if p.stuck != nil && p.stuck.Message == text {
		return
	}
	p.stuck = &Entry{Source: "store", Verdict: Held, Reason: "StoreTrouble", Message: text, Since: time.Now()}
	p.cfg.Log.Error().Err(err).Msg("cannot keep identities: only removals take effect until the store can be written")
}

// durable is what may be published although the last merge could not be
// stored: what was published before, or at the start what was stored, less the
// pods whose removal is durable. It returns nil when that is no news.
func (p *PodConfig) durable() *Snapshot {
	s := p.published
	if s == nil {
		s = p.asStored()
	}
	if len(p.batch.gone) > 0 {
		if s == p.published {
			return nil
		}
		return s
	}
	less := *s
	less.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(pod Pod) bool {
		key := Key{Realm: RealmLocal, Kind: "Pod", Namespace: pod.Pod.Namespace, Name: pod.Pod.Name}
		return p.identities[key] == nil
	})
	if s == p.published && len(less.Pods) == len(s.Pods) {
		return nil
	}
	return &less
}

// asStored is the snapshot that the run before would have published last. It is
// not clean: what is not in it may be wanted.
func (p *PodConfig) asStored() *Snapshot {
	s := &Snapshot{Complete: p.complete()}
	slices.SortFunc(p.loaded, func(a, b *identity) int {
		return cmp.Or(
			cmp.Compare(sourceRank[a.Origin.Source], sourceRank[b.Origin.Source]),
			cmp.Compare(a.Origin.Path, b.Origin.Path), cmp.Compare(a.Origin.Document, b.Origin.Document), cmp.Compare(a.Item, b.Item),
		)
	})
	for _, id := range p.loaded {
		switch o := p.show(id).(type) {
		case *v1.Pod:
			s.Pods = append(s.Pods, Pod{Pod: o, Digest: id.Digest, Hold: p.sets[id.Origin.Source] == nil, Origin: id.Origin, Edit: id.Edit})
		case *v1.ConfigMap:
			s.ConfigMaps = append(s.ConfigMaps, o)
		case *v1.Secret:
			s.Secrets = append(s.Secrets, o)
		case *v1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, o)
		}
	}
	return s
}
