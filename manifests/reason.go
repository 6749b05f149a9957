package manifests

// Reasons of a [Rejection]. They are stable: status, the API and callers
// branch on them.
const (
	ReasonTooLarge       = "TooLarge"       // over 10 MiB, or more values, documents or aliases than a manifest has
	ReasonBinary         = "Binary"         // not text
	ReasonEmpty          = "Empty"          // no document in the file
	ReasonInvalidYAML    = "InvalidYAML"    // the text does not parse
	ReasonMissingKind    = "MissingKind"    // kind or apiVersion is absent
	ReasonInvalidKind    = "InvalidKind"    // a misspelt kind, or a known kind of another apiVersion
	ReasonUnknownField   = "UnknownField"   // a key that the type does not have
	ReasonDuplicateKey   = "DuplicateKey"   // a key twice in one mapping
	ReasonWrongType      = "WrongType"      // a value that the field cannot hold
	ReasonInvalid        = "Invalid"        // refused by the validation of Kubernetes
	ReasonNeedsAPIServer = "NeedsAPIServer" // names something that only an API server has
	ReasonNotSupported   = "NotSupported"   // has no meaning on one machine with Docker
	ReasonNotYet         = "NotYetSupported"
	ReasonInternal       = "Internal" // a fault in a library that reads manifests

	// ReasonUnsupportedKind: a well-formed object of a kind that islet does
	// not run. Unlike all others it says nothing about what the file was
	// meant to run, so it does not hold up removals from the file.
	ReasonUnsupportedKind = "UnsupportedKind"
)

// Kinds that Decode accepts, all of apiVersion v1.
const (
	kindPod       = "Pod"
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
	kindClaim     = "PersistentVolumeClaim"

	kindsInWords = "Pod, ConfigMap, Secret and PersistentVolumeClaim"
	supportedAPI = "v1"
)
