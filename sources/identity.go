package sources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/manifests"
)

// identity is what PodConfig knows of one name that a document holds.
type identity struct {
	identityRecord
	// object is the accepted object as the source gave it; nil until needed
	// when it came from the store.
	object runtime.Object
	// shown is what the snapshot has: a copy with UID, generation and
	// annotations; nil until needed.
	shown runtime.Object
	// why the last edit was applied as it was; "" when nothing came of it.
	why string
}

// identityRecord is what is stored of it, under the string of its key.
type identityRecord struct {
	Version    int             `json:"version"`
	Key        Key             `json:"key"`
	UID        types.UID       `json:"uid"`
	Generation int64           `json:"generation"`
	Digest     string          `json:"digest"`
	Text       json.RawMessage `json:"text"` // the accepted text
	Origin     Origin          `json:"origin"`
	Item       int             `json:"item,omitempty"` // position in a List
	// After is the instance that must be gone first (Pod.After), of AfterKey.
	After    types.UID `json:"after,omitempty"`
	AfterKey Key       `json:"afterKey,omitzero"`
	Edit     string    `json:"edit,omitempty"` // what the last edit changed, for people
}

func (id *identity) renew(uid types.UID) {
	id.UID, id.Generation, id.shown, id.After, id.AfterKey = uid, 1, nil, "", Key{}
	id.Edit = "a new instance was asked for"
}

// batch collects the changes of identities between two writes.
type batch struct {
	puts map[string]any
	gone map[string]bool
}

func (b *batch) put(key Key, id *identity) {
	if b.puts == nil {
		b.puts, b.gone = map[string]any{}, map[string]bool{}
	}
	b.puts[recordName(key)] = id.identityRecord
	delete(b.gone, recordName(key))
}

func (b *batch) drop(key Key) {
	if b.puts == nil {
		b.puts, b.gone = map[string]any{}, map[string]bool{}
	}
	b.gone[recordName(key)] = true
	delete(b.puts, recordName(key))
}

// recordName cannot be ambiguous: none of the parts has a slash.
func recordName(k Key) string { return k.Realm + "/" + k.Kind + "/" + k.Namespace + "/" + k.Name }

// persist makes the batch durable. What could not be written stays in it.
// Removals come first: they need no room on the disk.
func (p *PodConfig) persist() error {
	if err := p.records.DeleteAll(slices.Collect(maps.Keys(p.batch.gone))); err != nil {
		return fmt.Errorf("delete identities: %w", err)
	}
	clear(p.batch.gone)
	if err := p.records.PutAll(p.batch.puts); err != nil {
		return fmt.Errorf("write identities: %w", err)
	}
	clear(p.batch.puts)
	return nil
}

// load reads the identities of the last run.
func (p *PodConfig) load() error {
	bad, err := p.records.Each(func(name string, value []byte) error {
		id := &identity{}
		if err := json.Unmarshal(value, &id.identityRecord); err != nil {
			return err
		}
		if name != recordName(id.Key) || id.UID == "" {
			return fmt.Errorf("identity of %q is incomplete", name)
		}
		p.identities[id.Key] = id
		stored := *id
		p.loaded = append(p.loaded, &stored)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	for _, b := range bad {
		p.cfg.Log.Warn().Err(b).Msg("a stored identity is lost: its pod will be replaced")
	}
	return nil
}

// stored decodes the accepted text of an identity when its object is needed;
// nil when that cannot be done.
func (p *PodConfig) stored(id *identity) runtime.Object {
	if id.object != nil {
		return id.object
	}
	docs := p.cfg.Decode(id.Text, manifests.Options{Stored: true})
	if len(docs) != 1 || docs[0].Object == nil {
		p.cfg.Log.Error().Str("pod", id.Key.Namespace+"/"+id.Key.Name).Str("uid", string(id.UID)).
			Msg("the accepted text cannot be read back")
		return nil
	}
	id.object = docs[0].Object
	return id.object
}

// begin makes the identity of a name that nothing held.
func (p *PodConfig) begin(key Key, c *claim) *identity {
	id := &identity{identityRecord: identityRecord{Version: recordVersion, Key: key, UID: p.cfg.NewUID(), Generation: 1}}
	id.take(c)
	if key.Kind != "Pod" || p.cfg.Running == nil {
		return id
	}
	if r, ok := p.cfg.Running(key); ok && r.Digest == c.doc.Doc.Digest {
		id.UID, id.Generation = r.UID, max(r.Generation, 1)
		id.why = "taken over from the engine"
	}
	return id
}

// take makes a document the accepted one.
func (id *identity) take(c *claim) {
	id.Digest, id.Text, id.object, id.shown = c.doc.Doc.Digest, c.doc.Doc.Text, c.doc.Doc.Object, nil
	id.place(c)
}

func (id *identity) place(c *claim) {
	id.Origin, id.Item = c.doc.Origin, c.doc.Doc.Item
}

// follow makes id hold what the document c says and reports whether the record
// changed. It is here that an edit becomes nothing, a new generation or a new
// instance.
func (p *PodConfig) follow(id *identity, c *claim) (changed bool) {
	id.why = ""
	if id.Origin.Source != c.doc.Origin.Source {
		id.shown = nil // an annotation names the source
	}
	if id.Digest == c.doc.Doc.Digest {
		if id.object == nil {
			id.object = c.doc.Doc.Object
		}
		if id.sits(c) {
			return false
		}
		id.place(c)
		return true
	}
	old := p.stored(id)
	change, why := manifests.Replace, "the text accepted before cannot be read back"
	if old != nil {
		change, why = p.compare(id.UID, old, c.doc.Doc.Object)
	}
	shown := id.shown
	id.take(c)
	id.why = why
	switch change {
	case manifests.Same:
		id.object, id.shown, id.why = old, shown, ""
	case manifests.InPlace:
		id.Generation++
		id.Edit = why
	default:
		id.renew(p.cfg.NewUID())
		id.Edit = why
	}
	return true
}

func (id *identity) sits(c *claim) bool {
	return id.Origin == c.doc.Origin && id.Item == c.doc.Doc.Item
}

// compare extends manifests.Compare to the kinds that pods name: they have no
// instances, so what differs is a new generation. And to pods that have
// finished: nothing of theirs can take a new image, so that is a new instance.
func (p *PodConfig) compare(uid types.UID, old, now runtime.Object) (manifests.Change, string) {
	before, ok1 := old.(*v1.Pod)
	after, ok2 := now.(*v1.Pod)
	if ok1 && ok2 {
		change, why := p.cfg.Compare(before, after)
		if change == manifests.InPlace && p.cfg.Finished != nil && !sameContainers(&before.Spec, &after.Spec) && p.cfg.Finished(uid) {
			return manifests.Replace, why + ", and the pod has finished"
		}
		return change, why
	}
	if equality.Semantic.DeepEqual(old, now) {
		return manifests.Same, ""
	}
	return manifests.InPlace, "content differs"
}

func sameContainers(a, b *v1.PodSpec) bool {
	return equality.Semantic.DeepEqual(a.Containers, b.Containers) && equality.Semantic.DeepEqual(a.InitContainers, b.InitContainers)
}

// Annotations that the kubelet puts on pods of its sources.
const (
	annotationHash   = "kubernetes.io/config.hash"
	annotationSource = "kubernetes.io/config.source"
)

// sourceAnnotation is the kubelet's word for a source, where it has one.
func sourceAnnotation(source string) string {
	if source == "url" {
		return "http"
	}
	return source
}

// show returns the object as the snapshot has it, at the same address as long
// as nothing about it changes. It shares what lies below metadata with the
// accepted object; both are read only.
func (p *PodConfig) show(id *identity) runtime.Object {
	if id.shown != nil {
		return id.shown
	}
	object := p.stored(id)
	switch o := object.(type) {
	case *v1.Pod:
		c := *o
		id.identify(&c.ObjectMeta)
		c.Annotations = maps.Clone(c.Annotations)
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[annotationHash] = p.cfg.EffectiveDigest(o)
		c.Annotations[annotationSource] = sourceAnnotation(id.Origin.Source)
		id.shown = &c
	case *v1.ConfigMap:
		c := *o
		id.identify(&c.ObjectMeta)
		id.shown = &c
	case *v1.Secret:
		c := *o
		id.identify(&c.ObjectMeta)
		id.shown = &c
	case *v1.PersistentVolumeClaim:
		c := *o
		id.identify(&c.ObjectMeta)
		id.shown = &c
	}
	return id.shown
}

func (id *identity) identify(meta *metav1.ObjectMeta) {
	meta.UID, meta.Generation = id.UID, id.Generation
}
