package manifests

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podapi "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// Compare says what it takes to get from one accepted pod to another of the
// same name, and why, in words for people. Identity (UID, generation, resource
// version, the kubernetes.io/config annotations) and status do not count.
// Neither pod is changed; both must be defaulted, as Decode leaves them.
//
// What Kubernetes allows to change on a living pod is applied in place:
// labels, annotations, images, further tolerations and a few more. Everything
// else is a replacement, changed resources too.
func Compare(old, new *v1.Pod) (Change, string) {
	a, b := bare(old), bare(new)
	if equality.Semantic.DeepEqual(a, b) {
		return Same, "means the same"
	}
	if a.Namespace != b.Namespace || a.Name != b.Name {
		return Replace, fmt.Sprintf("another pod: %s/%s became %s/%s", a.Namespace, a.Name, b.Namespace, b.Name)
	}
	changed := changes(a, b)
	errs, err := updateErrors(a, b)
	switch {
	case err != nil:
		return Replace, err.Error()
	case len(errs) == 0:
		return InPlace, changed + " changed"
	}
	return Replace, changed + " changed, which a running pod cannot follow"
}

// bare is a pod less what is not said by its manifest: identity, status, the
// machine it runs on. Maps and lists are shared.
func bare(p *v1.Pod) *v1.Pod {
	out := &v1.Pod{ObjectMeta: bareMeta(p.ObjectMeta), Spec: p.Spec}
	out.Spec.NodeName = ""
	return out
}

// updateErrors is what Kubernetes would say to this edit of a living pod.
func updateErrors(a, b *v1.Pod) (field.ErrorList, error) {
	// Any will do; updates without one are refused.
	a.ResourceVersion, b.ResourceVersion = "1", "1"
	old, err := internalPod(a)
	if err != nil {
		return nil, err
	}
	next, err := internalPod(b)
	if err != nil {
		return nil, err
	}
	opts := podapi.GetValidationOptionsFromPodSpecAndMeta(&next.Spec, &old.Spec, &next.ObjectMeta, &old.ObjectMeta)
	return validation.ValidatePodUpdate(next, old, opts), nil
}

// changes names the first places where two pods differ.
func changes(a, b *v1.Pod) string {
	const most = 3
	d := differ{}
	s := schemas[kindPod]
	for _, name := range []string{"metadata", "spec"} {
		d.diffField(a, b, s.field(name))
	}
	shown := d.found
	if len(shown) > most {
		shown = shown[:most]
	}
	out := strings.Join(shown, ", ")
	if more := len(d.found) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
