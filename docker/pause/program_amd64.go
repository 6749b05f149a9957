package pause

import _ "embed"

//go:generate make

//go:embed pause-amd64
var program []byte
