package manifests

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// fill sets a field to a value that asks for something: the given JSON, or one
// made up.
func fill(t *testing.T, v reflect.Value, text, name string) {
	t.Helper()
	if text != "" {
		if err := json.Unmarshal([]byte(text), v.Addr().Interface()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return
	}
	invent(v, 0)
	if v.IsZero() {
		t.Fatalf("%s: no value to try", name)
	}
}

func invent(v reflect.Value, depth int) {
	if depth > 7 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		invent(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		invent(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		invent(key, depth+1)
		invent(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Struct:
		if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
			*q = resource.MustParse("1")
			return
		}
		for i := range v.NumField() {
			invent(v.Field(i), depth+1)
		}
	}
}
