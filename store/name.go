package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	valueSuffix = ".json"
	// maxEscaped keeps a file name with its suffix below the 255 bytes that
	// Linux file systems allow.
	maxEscaped = 200
)

// fileName turns a name of any bytes into a file name: letters, digits and
// "-_." are kept, anything else, and a dot at the start, becomes %XX. What
// would be too long is cut and made unique again by a hash.
func fileName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if plain(c) && (c != '.' || i > 0) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	escaped := b.String()
	if escaped == "" {
		escaped = "%"
	}
	if len(escaped) > maxEscaped {
		sum := sha256.Sum256([]byte(name))
		// "~" never comes out of the escaping, so no short name can be equal.
		escaped = escaped[:maxEscaped-65] + "~" + hex.EncodeToString(sum[:])
	}
	return escaped + valueSuffix
}

func plain(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.'
}

// randomHex returns 2*n hex digits. crypto/rand does not fail: where the
// kernel has no randomness it ends the program.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !(s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f') {
			return false
		}
	}
	return true
}
