package manifests

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podapi "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// Whether privileged containers may be written down at all is a switch of the
// whole process upstream, and the kubelet turns it on for static pods. It has
// to be on before the first validation.
var _ = func() struct{} {
	capabilities.Setup(true, 0)
	return struct{}{}
}()

// validate returns what Kubernetes would refuse when the object is created.
// root is its text, for the lines.
func validate(obj object, root *node) ([]finding, error) {
	errs, err := createErrors(obj)
	if err != nil {
		return nil, err
	}
	var found []finding
	if pod, ok := obj.(*v1.Pod); ok {
		found = ownRules(pod, root)
	}
	for _, e := range errs {
		if e.Field == "metadata.name" && obj.GetName() == "" {
			continue
		}
		found = append(found, finding{reason: ReasonInvalid, field: e.Field, message: wordError(e), line: root.lineAt(e.Field)})
	}
	if obj.GetName() == "" {
		found = append(found, finding{reason: ReasonInvalid, field: "metadata.name", message: "is missing; give the object a name", line: root.lineAt("metadata.name")})
	}
	return found, nil
}

func createErrors(obj object) (field.ErrorList, error) {
	switch o := obj.(type) {
	case *v1.Pod:
		pod, err := internalPod(o)
		if err != nil {
			return nil, err
		}
		opts := podapi.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
		return validation.ValidatePodCreate(pod, opts), nil
	case *v1.ConfigMap:
		var in core.ConfigMap
		if err := corev1.Convert_v1_ConfigMap_To_core_ConfigMap(o, &in, nil); err != nil {
			return nil, fmt.Errorf("convert config map: %w", err)
		}
		return validation.ValidateConfigMap(&in), nil
	case *v1.Secret:
		var in core.Secret
		if err := corev1.Convert_v1_Secret_To_core_Secret(o, &in, nil); err != nil {
			return nil, fmt.Errorf("convert secret: %w", err)
		}
		return validation.ValidateSecret(&in), nil
	case *v1.PersistentVolumeClaim:
		var in core.PersistentVolumeClaim
		if err := corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(o, &in, nil); err != nil {
			return nil, fmt.Errorf("convert persistent volume claim: %w", err)
		}
		return validation.ValidatePersistentVolumeClaim(&in, validation.ValidationOptionsForPersistentVolumeClaimCreate()), nil
	}
	return nil, nil
}

// internalPod returns the form of a pod that upstream's rules work on. It
// shares memory with pod, which those rules only read.
func internalPod(pod *v1.Pod) (*core.Pod, error) {
	var in core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, &in, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	return &in, nil
}

// wordError renders a validation error in one short line: upstream prints
// whole structs as the bad value.
func wordError(e *field.Error) string {
	out := e.Type.String()
	switch e.Type {
	case field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeTooLong, field.ErrorTypeInternal:
	default:
		if v := scalarWord(e.BadValue); v != "" {
			out += ": " + v
		}
	}
	if e.Detail != "" {
		out += ": " + e.Detail
	}
	return out
}

// scalarWord shows a string, number or boolean; "" for anything larger.
func scalarWord(value any) string {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return fmt.Sprintf("%q", clip(v.String()))
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float64:
		return fmt.Sprint(v.Interface())
	}
	return ""
}
