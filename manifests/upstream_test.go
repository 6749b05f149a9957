package manifests

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestSameAsUpstream: for files of one document, the object is what the YAML
// and JSON libraries of Kubernetes make of the same text.
func TestSameAsUpstream(t *testing.T) {
	compared := 0
	for _, file := range corpusFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		docs := Decode(data, Options{Stored: true})
		if len(docs) != 1 || docs[0].Pod() == nil || docs[0].Name == "" || strings.Contains(file, "dropped") {
			continue
		}
		compared++
		want := upstream(t, data)
		if diff := cmp.Diff(want, docs[0].Pod()); diff != "" {
			t.Errorf("%s means something else (-upstream +islet):\n%s", file, diff)
		}
	}
	if compared < 20 {
		t.Errorf("compared only %d files", compared)
	}
}

func upstream(t *testing.T, data []byte) *v1.Pod {
	t.Helper()
	if !json.Valid(data) {
		text, err := sigsyaml.YAMLToJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		data = text
	}
	pod := &v1.Pod{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, pod); err != nil {
		t.Fatal(err)
	}
	if pod.Namespace == "" {
		pod.Namespace = "default"
	}
	pod.Status = v1.PodStatus{}
	corev1.SetObjectDefaults_Pod(pod)
	return pod
}

// TestScalars holds the reading of plain scalars against the library that
// Kubernetes reads them with.
func TestScalars(t *testing.T) {
	for _, s := range []string{
		"y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "on", "On", "ON", "oN", "off", "Off", "true", "True", "TRUE", "tRue",
		"false", "null", "Null", "NULL", "nuLL", "~", "", "0", "-0", "+0", "007", "08", "0x1F", "0o17", "0b101", "-0b1", "1_000", "_1", "1_",
		"1.0", "1.", ".5", "+.5", "1e3", "1E-3", "1e400", ".inf1", "12:30", "12:30:45", "2001-12-14", "2001-12-14T21:59:43Z", "1.2.3", "-", "--", "-x", "---", "...",
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775808", "123456789012345678901234567890",
		"+1", "++1", "1a", "0x", "0xg", "<<", "=", "nul", "name", "true1", "a b", "1 2", ".", "..", ".a", "1-2", "!!str 5", `!!int "5"`, "!!float 5", "!foo 5", "!!null x", `"yes"`, "'1'",
	} {
		text := "v: " + s
		upstream, uerr := sigsyaml.YAMLToJSON([]byte(text))
		root, rej := parseYAML(segment{text: []byte(text), line: 1})
		if uerr != nil {
			if rej == nil {
				t.Errorf("%q: upstream says %v, islet %s", s, uerr, appendJSON(nil, root, anything))
			}
			continue
		}
		if rej != nil {
			t.Errorf("%q: upstream reads %s, islet says %s", s, upstream, rej.Message)
			continue
		}
		if got := appendJSON(nil, root, anything); !bytes.Equal(got, upstream) {
			t.Errorf("%q: upstream reads %s, islet %s", s, upstream, got)
		}
	}
}
