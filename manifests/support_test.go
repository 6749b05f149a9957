package manifests

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSupportTableIsComplete: every field of the types that are looked into is
// in the table, and nothing else is. A field that Kubernetes adds fails here
// until somebody has decided what islet makes of it.
func TestSupportTableIsComplete(t *testing.T) {
	memo := map[reflect.Type]*schema{}
	for typ, table := range supportTable {
		s := schemaOf(typ, memo)
		for _, f := range s.fields {
			sup, ok := table[f.name]
			if !ok {
				t.Errorf("%s.%s is not in the table", typ, f.name)
			}
			elem := f.schema
			if elem.shape == listShape {
				elem = elem.elem
			}
			if sup.inside && supportTable[elem.typ] == nil {
				t.Errorf("%s.%s is looked into, but %s has no table", typ, f.name, elem.typ)
			}
			if sup.reason != "" && (sup.hint == "" || sup.what == "") {
				t.Errorf("%s.%s is refused without a hint", typ, f.name)
			}
		}
		for name := range table {
			if s.field(name) == nil {
				t.Errorf("%s has no field %s", typ, name)
			}
		}
	}
}

// TestMetadataIsComplete: every field of the metadata is used or dropped on
// purpose.
func TestMetadataIsComplete(t *testing.T) {
	known := append(slices.Collect(maps.Keys(droppedMeta)), "name", "namespace", "labels", "annotations")
	for _, f := range schemaOf(reflect.TypeFor[metav1.ObjectMeta](), map[reflect.Type]*schema{}).fields {
		if !slices.Contains(known, f.name) {
			t.Errorf("metadata.%s is neither used nor dropped", f.name)
		}
	}
}

// asking gives a value of a field that asks for something, JSON text by field
// name; fields not named get one that is filled in at random.
var asking = map[string]string{
	"PodSpec.dnsPolicy": `"None"`, "PodSpec.hostUsers": "false",
	"SecurityContext.allowPrivilegeEscalation": "false", "SecurityContext.procMount": `"Unmasked"`,
	"ContainerPort.protocol": `"SCTP"`, "ResourceRequirements.limits": `{"example.com/gpu": "1"}`,
	"VolumeMount.mountPropagation": `"Bidirectional"`, "VolumeMount.recursiveReadOnly": `"Enabled"`,
	"PodOS.name": `"windows"`,
}

// TestEveryRefusalRefuses sets each refused field in turn and expects exactly
// the refusal of that field, and nothing when it is empty.
func TestEveryRefusalRefuses(t *testing.T) {
	homes := map[string]func(*v1.Pod) any{
		"PodSpec":              func(p *v1.Pod) any { return &p.Spec },
		"PodSecurityContext":   func(p *v1.Pod) any { return p.Spec.SecurityContext },
		"Container":            func(p *v1.Pod) any { return &p.Spec.Containers[0] },
		"SecurityContext":      func(p *v1.Pod) any { return p.Spec.Containers[0].SecurityContext },
		"ContainerPort":        func(p *v1.Pod) any { return &p.Spec.Containers[0].Ports[0] },
		"EnvVar":               func(p *v1.Pod) any { return &p.Spec.Containers[0].Env[0] },
		"ResourceRequirements": func(p *v1.Pod) any { return &p.Spec.Containers[0].Resources },
		"VolumeMount":          func(p *v1.Pod) any { return &p.Spec.Containers[0].VolumeMounts[0] },
		"Volume":               func(p *v1.Pod) any { return &p.Spec.Volumes[0] },
		"EmptyDirVolumeSource": func(p *v1.Pod) any { return p.Spec.Volumes[1].EmptyDir },
		"HostPathVolumeSource": func(p *v1.Pod) any { return p.Spec.Volumes[2].HostPath },
		"VolumeProjection":     func(p *v1.Pod) any { return &p.Spec.Volumes[3].Projected.Sources[0] },
		"PodOS":                func(p *v1.Pod) any { return p.Spec.OS },
	}
	refused := 0
	for typ, table := range supportTable {
		home := homes[typ.Name()]
		for name, sup := range table {
			if sup.matters == nil {
				continue
			}
			if home == nil {
				t.Fatalf("no pod to set %s in", typ.Name())
			}
			refused++
			pod := supportPod()
			before := fieldNames(refuse(pod, &node{kind: objectNode, line: 1}))
			f := schemaOf(typ, map[reflect.Type]*schema{}).field(name)
			fill(t, reflect.ValueOf(home(pod)).Elem().FieldByIndex(f.index), asking[typ.Name()+"."+name], typ.Name()+"."+name)
			after := fieldNames(refuse(pod, &node{kind: objectNode, line: 1}))
			var fresh []string
			for _, f := range after {
				if !slices.Contains(before, f) {
					fresh = append(fresh, f)
				}
			}
			if !slices.ContainsFunc(fresh, func(f string) bool { return strings.HasSuffix(f, "."+name) }) {
				t.Errorf("setting %s.%s is refused as %q", typ.Name(), name, fresh)
			}
		}
	}
	if refused < 80 {
		t.Errorf("only %d refusals in the table", refused)
	}
}

// supportPod has one of everything that is looked into, asking for nothing but
// its projected volume.
func supportPod() *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{
		SecurityContext: &v1.PodSecurityContext{},
		OS:              &v1.PodOS{Name: v1.Linux},
		Containers: []v1.Container{{
			SecurityContext: &v1.SecurityContext{},
			Ports:           []v1.ContainerPort{{}}, Env: []v1.EnvVar{{}}, VolumeMounts: []v1.VolumeMount{{}},
		}},
		Volumes: []v1.Volume{
			{Name: "a"},
			{Name: "b", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "c", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}},
			{Name: "d", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{Secret: &v1.SecretProjection{}}, {}}}}},
		},
	}}
}

func fieldNames(found []finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.field)
	}
	return out
}

func TestHarmlessValuesPass(t *testing.T) {
	data, err := os.ReadFile(corpus + "/harmless-defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if d := Decode(data, Options{})[0]; d.Err != nil {
		t.Error(d.Err.Message)
	}
}
