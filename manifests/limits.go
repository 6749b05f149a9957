package manifests

// Bounds on what one file may ask of this process. Kubernetes' own limits
// (1 MiB per ConfigMap or Secret) are far below; these only keep a hostile or
// accidental file from taking the memory of the daemon.
const (
	// sizeLimit is the first refused size; 10485759 bytes are fine, as for the
	// kubelet.
	sizeLimit = 10 << 20
	// maxDocuments counts YAML documents and list items of one file.
	maxDocuments = 20_000
	// maxNodes bounds the values of one YAML document: the parser needs about
	// 250 bytes for each.
	maxNodes = 1_000_000
	// maxAliasNodes bounds what aliases and merge keys add to a document when
	// they are written out.
	maxAliasNodes = 100_000
	// maxDepth is how deep values nest; a pod needs about fifteen.
	maxDepth = 100
	// maxFindings is how many faults of one document are spelled out.
	maxFindings = 20
)
