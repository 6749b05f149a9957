package manifests

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	kjson "sigs.k8s.io/json"
)

// object is a typed document of one of the supported kinds.
type object interface {
	runtime.Object
	metav1.Object
}

func newObject(kind string) object {
	switch kind {
	case kindPod:
		return &v1.Pod{}
	case kindConfigMap:
		return &v1.ConfigMap{}
	case kindSecret:
		return &v1.Secret{}
	case kindClaim:
		return &v1.PersistentVolumeClaim{}
	}
	return nil
}

// decodeObject makes the defaulted object of a canonical text.
func decodeObject(kind string, text []byte) (object, error) {
	obj := newObject(kind)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, obj); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	switch o := obj.(type) {
	case *v1.Pod:
		corev1.SetObjectDefaults_Pod(o)
	case *v1.ConfigMap:
		corev1.SetObjectDefaults_ConfigMap(o)
	case *v1.Secret:
		corev1.SetObjectDefaults_Secret(o)
		mergeStringData(o)
	case *v1.PersistentVolumeClaim:
		corev1.SetObjectDefaults_PersistentVolumeClaim(o)
		o.Status = v1.PersistentVolumeClaimStatus{}
	}
	return obj, nil
}

// mergeStringData does what an API server does when it stores a Secret: the
// plain texts win over the encoded ones of the same key.
func mergeStringData(s *v1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}
