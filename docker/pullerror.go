package docker

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxWords bounds what a status repeats of a registry's words: some answer with
// a whole page.
const maxWords = 1000

// concise is a text as one line of bounded length.
func concise(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxWords {
		return text
	}
	cut := maxWords
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// The engine passes on what went wrong at a registry as text only, in words
// that differ between its versions and image stores.
var (
	// noAnswer: there is an address and nobody to talk to.
	noAnswer = regexp.MustCompile(`(?i)connection refused|no route to host|network is unreachable|connection timed out|` +
		`i/o timeout|TLS handshake timeout|Client\.Timeout|request canceled while waiting for connection`)
	// gatewayStatus: what stands before the registry answers for it.
	gatewayStatus = regexp.MustCompile(`(?i)(HTTP status|HTTP response status|unexpected status( code| from [A-Z]+ request to \S+)?|parsing HTTP|StatusCode):? ?(502|503|504)\b`)
	// noName: the name cannot be resolved. A mistake in the image name looks
	// the same, so this is no registry that is away.
	noName = regexp.MustCompile(`(?i)\blookup \S+|no such host`)
)

// unavailable reports whether a failure of a pull says that the registry is
// there and cannot serve now, rather than that it refuses the image. Words that
// are not known are not taken for it.
func unavailable(text string) bool {
	if noName.MatchString(text) {
		return false
	}
	return noAnswer.MatchString(text) || gatewayStatus.MatchString(text)
}
