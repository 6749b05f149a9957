package docker

import (
	"fmt"
	"sync"

	"github.com/distribution/reference"
)

// parseImage reads an image name as written in a pod: without tag and digest it
// means the tag latest, without a registry Docker's.
func parseImage(text string) (reference.Named, error) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		// The wording is the kubelet's: people search for it.
		return nil, fmt.Errorf("couldn't parse image name %q: %w", text, err)
	}
	return reference.TagNameOnly(named), nil
}

// matches reports whether an image that the engine found by a name really
// carries it. Docker also looks the name up as the beginning of an image id:
// "cafe" finds an image whose id starts with cafe.
func matches(named reference.Named, tags, digests []string) bool {
	if digested, ok := named.(reference.Digested); ok {
		for _, text := range digests {
			have, err := reference.ParseNormalizedNamed(text)
			if err != nil || have.Name() != named.Name() {
				continue
			}
			if d, ok := have.(reference.Digested); ok && d.Digest() == digested.Digest() {
				return true
			}
		}
		return false
	}
	for _, text := range tags {
		if have, err := reference.ParseNormalizedNamed(text); err == nil && have.String() == named.String() {
			return true
		}
	}
	return false
}

// imageForm is how a status names an image: by a digest in the repository that
// was asked for, so that it can be pulled again, else by any digest, else by
// the engine's id.
func imageForm(named reference.Named, id string, digests []string) string {
	for _, text := range digests {
		if have, err := reference.ParseNormalizedNamed(text); err == nil && have.Name() == named.Name() {
			return "docker-pullable://" + text
		}
	}
	if len(digests) > 0 {
		return "docker-pullable://" + digests[0]
	}
	return "docker://" + id
}

// imageForms remembers the status form of images between EnsureImage and
// StartContainer, so that starting a container asks nothing again.
type imageForms struct {
	mu    sync.Mutex
	forms map[[2]string]string // by image id and name as written
}

// maxImageForms bounds the memory; an entry that was lost is asked for again.
const maxImageForms = 1024

func (f *imageForms) put(id, ref, form string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.forms == nil || len(f.forms) >= maxImageForms {
		f.forms = map[[2]string]string{}
	}
	f.forms[[2]string{id, ref}] = form
}

func (f *imageForms) get(id, ref string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	form, ok := f.forms[[2]string{id, ref}]
	return form, ok
}
