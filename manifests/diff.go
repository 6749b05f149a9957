package manifests

import (
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// differ collects the paths at which two objects differ. Values are not shown,
// they may be nobody's business; images are, being what people look for.
type differ struct {
	at    place
	found []string
}

func (d *differ) diffField(a, b *v1.Pod, f *property) {
	d.at.field(f.name)
	d.diff(reflect.ValueOf(a).Elem().FieldByIndex(f.index), reflect.ValueOf(b).Elem().FieldByIndex(f.index), f.schema)
	d.at.up()
}

func (d *differ) diff(a, b reflect.Value, s *schema) {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	for a.Kind() == reflect.Pointer {
		if a.IsNil() || b.IsNil() {
			d.report("")
			return
		}
		a, b = a.Elem(), b.Elem()
	}
	switch {
	case s.shape == structShape:
		for i := range s.fields {
			f := &s.fields[i]
			d.at.field(f.name)
			d.diff(a.FieldByIndex(f.index), b.FieldByIndex(f.index), f.schema)
			d.at.up()
		}
	case s.shape == listShape && a.Len() == b.Len():
		for i := range a.Len() {
			d.at.index(i)
			d.diff(a.Index(i), b.Index(i), s.elem)
			d.at.up()
		}
	case s.shape == mapShape:
		d.diffMap(a, b, s)
	case s.shape == stringShape && d.at.steps[len(d.at.steps)-1].name == "image":
		d.report(fmt.Sprintf(" (%s to %s)", clip(a.String()), clip(b.String())))
	default:
		d.report("")
	}
}

func (d *differ) diffMap(a, b reflect.Value, s *schema) {
	keys := map[string]bool{}
	for _, m := range []reflect.Value{a, b} {
		for _, k := range m.MapKeys() {
			keys[k.String()] = true
		}
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, name := range names {
		key := reflect.ValueOf(name).Convert(a.Type().Key())
		x, y := a.MapIndex(key), b.MapIndex(key)
		d.at.key(name)
		if !x.IsValid() || !y.IsValid() {
			d.report("")
		} else {
			d.diff(x, y, s.elem)
		}
		d.at.up()
	}
}

func (d *differ) report(detail string) {
	d.found = append(d.found, oneLine(d.at.String()+detail))
}
