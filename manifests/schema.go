package manifests

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// shape is how a Go type looks in JSON.
type shape uint8

const (
	anyShape shape = iota
	structShape
	mapShape
	listShape
	stringShape
	boolShape
	intShape
	floatShape
	bytesShape       // base64 text
	quantityShape    // "500m" or 0.5
	intOrStringShape // port number or name
	timeShape        // RFC 3339 text
	durationShape
)

// schema is what a Go type of the Kubernetes API looks like in a manifest.
type schema struct {
	shape  shape
	typ    reflect.Type
	bits   int        // of an integer
	fields []property // of a struct, sorted by name
	elem   *schema    // of a list or map; never nil, so that walks need no check
}

type property struct {
	name   string
	index  []int // for reflect.Value.FieldByIndex
	schema *schema
}

// field returns the field of a key, nil when there is none. Kubernetes matches
// keys by case.
func (s *schema) field(name string) *property {
	i, ok := slices.BinarySearchFunc(s.fields, name, func(f property, name string) int { return strings.Compare(f.name, name) })
	if !ok {
		return nil
	}
	return &s.fields[i]
}

// schemas holds the tables of the supported kinds. They are made once, when
// the program starts (about 150 types, well under a millisecond), and never
// change, so that all goroutines may read them.
var schemas = func() map[string]*schema {
	memo := map[reflect.Type]*schema{}
	return map[string]*schema{
		kindPod:       schemaOf(reflect.TypeFor[v1.Pod](), memo),
		kindConfigMap: schemaOf(reflect.TypeFor[v1.ConfigMap](), memo),
		kindSecret:    schemaOf(reflect.TypeFor[v1.Secret](), memo),
		kindClaim:     schemaOf(reflect.TypeFor[v1.PersistentVolumeClaim](), memo),
	}
}()

// anything is the schema of what is not looked into.
var anything = func() *schema {
	s := &schema{}
	s.elem = s
	return s
}()

// ownShapes are types that read their own JSON.
var ownShapes = map[reflect.Type]shape{
	reflect.TypeFor[resource.Quantity]():  quantityShape,
	reflect.TypeFor[intstr.IntOrString](): intOrStringShape,
	reflect.TypeFor[metav1.Time]():        timeShape,
	reflect.TypeFor[metav1.MicroTime]():   timeShape,
	reflect.TypeFor[metav1.Duration]():    durationShape,
	reflect.TypeFor[metav1.FieldsV1]():    anyShape,
}

func schemaOf(t reflect.Type, memo map[reflect.Type]*schema) *schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := memo[t]; ok {
		return s
	}
	s := &schema{typ: t, elem: anything}
	memo[t] = s
	if own, ok := ownShapes[t]; ok {
		s.shape = own
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		s.shape = structShape
		s.fields = fieldsOf(t, nil, memo)
		slices.SortFunc(s.fields, func(a, b property) int { return strings.Compare(a.name, b.name) })
	case reflect.Map:
		s.shape, s.elem = mapShape, schemaOf(t.Elem(), memo)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			s.shape = bytesShape
			return s
		}
		s.shape, s.elem = listShape, schemaOf(t.Elem(), memo)
	case reflect.String:
		s.shape = stringShape
	case reflect.Bool:
		s.shape = boolShape
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.shape, s.bits = intShape, t.Bits()
	case reflect.Float32, reflect.Float64:
		s.shape = floatShape
	}
	return s
}

// fieldsOf lists the JSON fields of a struct, embedded ones with them.
func fieldsOf(t reflect.Type, prefix []int, memo map[reflect.Type]*schema) []property {
	var out []property
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(slices.Clone(prefix), i)
		switch {
		case f.Anonymous && name == "":
			out = append(out, fieldsOf(f.Type, index, memo)...)
		case f.IsExported() && name != "" && name != "-":
			out = append(out, property{name: name, index: index, schema: schemaOf(f.Type, memo)})
		}
	}
	return out
}
