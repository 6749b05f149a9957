package docker

import (
	"fmt"
	"strings"
)

// machines are the names of processors as the engine tells its own, in the
// names images use.
var machines = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv6l": "arm", "armv7l": "arm", "armv8l": "arm",
	"i386": "386", "i586": "386", "i686": "386", "loongarch64": "loong64", "mips64": "mips64le",
}

// older are the processors whose programs a newer one runs too.
var older = map[string]string{"amd64": "386", "arm64": "arm"}

// platform is what the engine runs.
type platform struct{ os, architecture string }

func platformOf(osType, machine string) platform {
	p := platform{os: osType, architecture: machine}
	if name, ok := machines[strings.ToLower(machine)]; ok {
		p.architecture = name
	}
	return p
}

// mismatch says what is the matter with an image of another platform; "" when
// it fits or nobody knows. Such an image may still run, where the machine
// emulates its processor, so it is no error.
func (p platform) mismatch(ref, imageOS, imageArchitecture string) string {
	fits := (p.os == "" || imageOS == "" || p.os == imageOS) &&
		(p.architecture == "" || imageArchitecture == "" || p.architecture == imageArchitecture || older[p.architecture] == imageArchitecture)
	if fits {
		return ""
	}
	return fmt.Sprintf("image %q is for %s/%s and this engine runs %s/%s: its programs start only if the machine emulates them",
		ref, imageOS, imageArchitecture, p.os, p.architecture)
}
