package manifests

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Options says how to decode.
type Options struct {
	// Lenient turns unknown fields into warnings. Duplicate keys and wrong
	// types stay errors.
	Lenient bool
	// Stored: the text was accepted before and comes from the store; it is read
	// leniently, and neither validation nor the not-yet table apply, so that
	// another version of islet does not end what runs.
	Stored bool
}

// Document is one object of a file, or the reason why there is none.
type Document struct {
	Index      int // 1-based number of the YAML document in its file
	Item       int // 1-based position in a List; 0 when not in one
	Line       int // 1-based line where it starts
	APIVersion string
	Kind       string
	Namespace  string // defaulted to "default" when the kind is namespaced
	Name       string
	// Object is the defaulted object (*v1.Pod, *v1.ConfigMap, *v1.Secret,
	// *v1.PersistentVolumeClaim), nil when rejected, and nil with Err nil for
	// an explicitly empty list. metadata.uid, generation, resourceVersion and
	// status of the text are dropped. It belongs to the caller.
	Object runtime.Object
	// Text is the canonical text (compact JSON, keys sorted) before defaulting:
	// what the store keeps and Decode reads back.
	Text []byte
	// Digest is an unkeyed digest (sha256 hex) of Text.
	Digest   string
	Err      *Rejection
	Warnings []Warning
}

// Pod returns the object as a pod, nil when it is none.
func (d Document) Pod() *v1.Pod {
	p, _ := d.Object.(*v1.Pod)
	return p
}

// Rejection says why a document is not accepted.
type Rejection struct {
	Reason  string // one of the Reason constants
	Message string // one line for people: what, where in the object, what to do
	Field   string // path such as spec.containers[0].image, "" when unknown
	Line    int    // 1-based, in the file
}

func (r *Rejection) Error() string { return r.Message }

// Warning is something that people should know of an accepted document.
type Warning struct {
	Message string
	Field   string
	Line    int
}

// Change is what an edit means.
type Change string

const (
	Same    Change = "same"     // nothing happens
	InPlace Change = "in-place" // same instance, generation+1
	Replace Change = "replace"  // the old instance ends, then a new one starts
)
