package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// EffectiveDigest is a digest (sha256 hex) of everything that an accepted
// object says, defaults included: two manifests that mean the same have the
// same. It is what the annotation kubernetes.io/config.hash shows. Identity
// (UID, generation, that annotation itself and its companions) and status are
// left out. It is "" for an object that cannot be written as JSON, which none
// that Decode returned is.
func EffectiveDigest(obj runtime.Object) string {
	if pod, ok := obj.(*v1.Pod); ok {
		return digestOf(bare(pod))
	}
	copied := obj.DeepCopyObject()
	copied.GetObjectKind().SetGroupVersionKind(kschema.GroupVersionKind{})
	if m, ok := copied.(metav1.ObjectMetaAccessor); ok {
		if meta, ok := m.GetObjectMeta().(*metav1.ObjectMeta); ok {
			*meta = bareMeta(*meta)
		}
	}
	if claim, ok := copied.(*v1.PersistentVolumeClaim); ok {
		claim.Status = v1.PersistentVolumeClaimStatus{}
	}
	return digestOf(copied)
}

func digestOf(obj any) string {
	text, err := json.Marshal(obj)
	if err != nil {
		return ""
	}
	return digest(text)
}

// bareMeta is what a manifest can say of an object's metadata. Annotations are
// shared unless one has to go.
func bareMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	annotations := m.Annotations
	for name := range droppedAnnotations {
		if _, has := annotations[name]; !has {
			continue
		}
		annotations = make(map[string]string, len(m.Annotations))
		for k, v := range m.Annotations {
			if _, drop := droppedAnnotations[k]; !drop {
				annotations[k] = v
			}
		}
		break
	}
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: annotations}
}
