package pause

import _ "embed"

//go:embed pause-arm64
var program []byte
