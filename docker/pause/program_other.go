//go:build !amd64 && !arm64

package pause

// program is empty: no binary is checked in for this architecture.
var program []byte
