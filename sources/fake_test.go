package sources

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/islet-run/islet/manifests"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A made-up language stands in for manifests, so that these tests say what the
// sources do, and nothing about decoding. Documents are separated by a line
// "---"; each is one line of words:
//
//	pod NAME VALUE...        accepted
//	configmap NAME VALUE...  accepted; secret and claim likewise
//	bad [NAME]               rejected
//	service NAME             rejected as an unsupported kind
//
// Words that follow "#" are a comment.
func fakeDecode(data []byte, opts manifests.Options) []manifests.Document {
	if opts.Stored {
		var words []string
		if json.Unmarshal(data, &words) != nil {
			return []manifests.Document{fakeRejected(manifests.Document{Index: 1, Line: 1}, "InvalidYAML")}
		}
		return []manifests.Document{fakeDocument(1, 1, words)}
	}
	var docs []manifests.Document
	line := 1
	for i, text := range strings.Split(string(data), "---\n") {
		text, _, _ = strings.Cut(text, "#")
		docs = append(docs, fakeDocument(i+1, line, strings.Fields(text)))
		line += strings.Count(text, "\n") + 1
	}
	return docs
}

func fakeDocument(index, line int, words []string) manifests.Document {
	d := manifests.Document{Index: index, Line: line, APIVersion: "v1"}
	if len(words) == 0 {
		return fakeRejected(d, "Empty")
	}
	if len(words) > 1 {
		d.Namespace, d.Name = "default", words[1]
	}
	meta := metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}
	value := strings.Join(words[min(2, len(words)):], " ")
	switch words[0] {
	case "pod":
		d.Kind = "Pod"
		d.Object = &v1.Pod{ObjectMeta: meta, Spec: v1.PodSpec{Hostname: value}}
	case "configmap":
		d.Kind = "ConfigMap"
		d.Object = &v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"value": value}}
	case "secret":
		d.Kind = "Secret"
		d.Object = &v1.Secret{ObjectMeta: meta, StringData: map[string]string{"value": value}}
	case "claim":
		d.Kind = "PersistentVolumeClaim"
		d.Object = &v1.PersistentVolumeClaim{ObjectMeta: meta, Spec: v1.PersistentVolumeClaimSpec{VolumeName: value}}
	case "service":
		d.Kind = "Service"
		return fakeRejected(d, manifests.ReasonUnsupportedKind)
	default:
		if d.Name != "" {
			d.Kind = "Pod"
		}
		return fakeRejected(d, "InvalidYAML")
	}
	d.Text, _ = json.Marshal(words)
	sum := sha256.Sum256(d.Text)
	d.Digest = hex.EncodeToString(sum[:])
	return d
}

func fakeRejected(d manifests.Document, reason string) manifests.Document {
	d.Err = &manifests.Rejection{Reason: reason, Message: "line is " + reason, Line: d.Line}
	return d
}

// fakeCompare: values are a-b; what differs behind the dash is applied in
// place, "=" at the end means nothing.
func fakeCompare(old, now *v1.Pod) (manifests.Change, string) {
	a, b := strings.TrimRight(old.Spec.Hostname, "="), strings.TrimRight(now.Spec.Hostname, "=")
	a1, _, _ := strings.Cut(a, "-")
	b1, _, _ := strings.Cut(b, "-")
	switch {
	case a == b:
		return manifests.Same, ""
	case a1 == b1:
		return manifests.InPlace, "suffix differs"
	}
	return manifests.Replace, "value differs"
}

func fakeEffectiveDigest(o runtime.Object) string {
	data, _ := json.Marshal(o)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// docsOf decodes a text as source file would send it.
func docsOf(source, path, text string, changed uint64) []Document {
	var docs []Document
	for _, d := range fakeDecode([]byte(text), manifests.Options{}) {
		doc := Document{Origin: Origin{Source: source, Path: path, Document: d.Index, Line: d.Line}, Doc: d, Changed: changed}
		if d.Err != nil {
			doc.Reason, doc.Message = d.Err.Reason, d.Err.Message
		}
		docs = append(docs, doc)
	}
	return docs
}

// lines is a log that can be asked.
type lines struct{ bytes.Buffer }

func (l *lines) count(part string) int { return strings.Count(l.String(), part) }
