package sources

import (
	"github.com/islet-run/islet/manifests"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Origin says where a document stands.
type Origin struct {
	Source   string `json:"source"`         // file, url, push
	Path     string `json:"path,omitempty"` // file path or URL
	Document int    `json:"document"`       // 1-based in its file
	Line     int    `json:"line"`           // 1-based line of its first content
}

// Snapshot is the whole wanted state at one moment: the newest replaces all
// earlier ones. It and all it points to are shared and must not be changed.
type Snapshot struct {
	// Pods in order: file, url, push; then path; then position.
	Pods       []Pod
	ConfigMaps []*v1.ConfigMap
	Secrets    []*v1.Secret
	Claims     []*v1.PersistentVolumeClaim
	// Complete: every configured source has ended its first attempt.
	Complete bool
	// Clean: every configured source was read completely without a rejected
	// document.
	Clean bool
}

// Pod is one wanted pod.
type Pod struct {
	// Pod is defaulted, with metadata.uid and metadata.generation set by
	// PodConfig.
	Pod    *v1.Pod
	Digest string // manifests.Document.Digest
	Hold   bool   // its source has not ended its first attempt yet
	Origin Origin
	// After is the UID of an instance that must be gone before this pod starts:
	// its document has got a new name and the old name is claimed by no
	// document any more. Empty for nearly every pod.
	After types.UID
	// Edit says for people what the edit changed that led to this UID and
	// generation; empty for a document that was not edited.
	Edit string
}

// Update is the whole current set of one source, sent after each attempt.
type Update struct {
	Source string // file, url, push
	// Documents is everything the source stands by: accepted documents, last
	// good copies in place of rejected ones, and the rejected ones themselves.
	Documents []Document
	// Clean: this attempt read everything without a rejected document.
	Clean bool
	// Message says what is wrong with the source as a whole ("" when nothing
	// is): directory missing, URL answered 500, ...
	Message string
}

// Document is one document as a source stands by it.
type Document struct {
	Origin Origin
	// Doc is what manifests made of it; Doc.Err is set for a rejected one.
	Doc manifests.Document
	// LastGood: Doc is the copy accepted earlier, standing in for one that is
	// rejected or unreadable now, for the Reason/Message given.
	LastGood bool
	// Held: LastGood, and not because this document is rejected: it is gone
	// with its file or directory, or missing from a file that is broken
	// elsewhere.
	Held    bool
	Reason  string
	Message string
	// Changed orders edits, within a source exactly and between sources by
	// clock (nanoseconds since 1970, never twice the same, never backwards):
	// when the document was edited last or, with LastGood, when it went bad. Of
	// two claims on one name, a document new or edited since the holder went
	// bad beats the holder's last-good copy.
	Changed uint64
}
