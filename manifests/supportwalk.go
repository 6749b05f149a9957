package manifests

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// support is what islet makes of one field.
type support struct {
	inside  bool      // look at the fields of its value
	reason  string    // of the refusal; "" when the field is never refused
	what    string    // the refusal in words
	hint    string    // what to do about it
	matters condition // when the refusal applies; nil never
}

// condition says whether a value asks for something. Pointers are followed
// before; nothing asks for nothing, so values are never nil pointers. set
// tells a pointer to a zero value from a zero value.
type condition func(v reflect.Value, set bool) bool

// isSet: there is a value, be it zero behind a pointer. Lists and structs of
// nothing (dnsConfig: {}, imagePullSecrets: [{name: ""}]) are no value.
func isSet(v reflect.Value, set bool) bool {
	return !isNothing(v, set)
}

func isNothing(v reflect.Value, set bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || isNothing(v.Elem(), true)
	case reflect.Slice:
		for i := range v.Len() {
			if !isNothing(v.Index(i), false) {
				return false
			}
		}
		return true
	case reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		if q, ok := v.Interface().(resource.Quantity); ok {
			return q.IsZero()
		}
		for i := range v.NumField() {
			if !isNothing(v.Field(i), false) {
				return false
			}
		}
		return true
	}
	return !set && v.IsZero()
}

func isTrue(v reflect.Value, _ bool) bool    { return v.Bool() }
func isFalse(v reflect.Value, set bool) bool { return set && !v.Bool() }
func isOneOf(values ...string) condition {
	return func(v reflect.Value, _ bool) bool { return slices.Contains(values, v.String()) }
}

// isOtherResource: more than cpu and memory is asked for.
func isOtherResource(v reflect.Value, _ bool) bool {
	list, ok := v.Interface().(v1.ResourceList)
	if !ok {
		return false
	}
	for name, q := range list {
		switch name {
		case v1.ResourceCPU, v1.ResourceMemory:
		default:
			if !q.IsZero() {
				return true
			}
		}
	}
	return false
}

// refuser collects the fields of a pod that islet cannot honour.
type refuser struct {
	root  *node
	at    place
	found []finding
}

// refuse returns what a pod asks for that it would not get. pod is the object
// before or after defaulting, root its text.
func refuse(pod *v1.Pod, root *node) []finding {
	r := refuser{root: root}
	r.at.field("spec")
	r.walk(reflect.ValueOf(&pod.Spec).Elem(), schemas[kindPod].field("spec").schema)
	r.at.up()
	for name := range pod.Annotations {
		if strings.HasPrefix(name, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
			path := "metadata.annotations[" + name + "]"
			r.found = append(r.found, finding{reason: ReasonNotYet, field: path, line: root.lineAt(path),
				message: "not honoured by this version of islet; remove it"})
		}
	}
	return r.found
}

func (r *refuser) walk(v reflect.Value, s *schema) {
	table := supportTable[v.Type()]
	for i := range s.fields {
		f := &s.fields[i]
		sup := table[f.name]
		if !sup.inside && sup.matters == nil {
			continue
		}
		value, set := v.FieldByIndex(f.index), false
		for value.Kind() == reflect.Pointer && !value.IsNil() {
			value, set = value.Elem(), true
		}
		if value.Kind() == reflect.Pointer {
			continue
		}
		r.at.field(f.name)
		if sup.matters != nil && sup.matters(value, set) {
			r.refuse(sup)
		}
		if sup.inside {
			r.descend(value, f.schema)
		}
		r.at.up()
	}
}

func (r *refuser) descend(v reflect.Value, s *schema) {
	if v.Kind() != reflect.Slice {
		r.walk(v, s)
		return
	}
	for i := range v.Len() {
		r.at.index(i)
		r.walk(v.Index(i), s.elem)
		r.at.up()
	}
}

func (r *refuser) refuse(sup support) {
	path := r.at.String()
	r.found = append(r.found, finding{
		reason:  sup.reason,
		field:   path,
		message: sup.what + "; " + sup.hint,
		line:    r.root.lineAt(path),
	})
}
