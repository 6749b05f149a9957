//go:build !amd64

package pause

// program is empty: no binary is checked in for this architecture yet.
var program []byte
