package credentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
	"k8s.io/kubernetes/pkg/credentialprovider"
)

// Docker Hub has one name in images and another one where credentials are kept.
const (
	hubDomain = "docker.io"
	hubHost   = "index.docker.io"
	hubServer = "https://index.docker.io/v1/"
)

// Credential is one way to log in at a registry.
type Credential struct {
	Auth registry.AuthConfig
	From string // the file or program it is from, for people
}

// Files are config files of Docker, of which the first that is there counts.
// The zero value knows no credentials.
type Files struct {
	Paths []string
	// HelperTimeout bounds one call of a credential helper; zero: 30 s.
	HelperTimeout time.Duration
}

// For returns the credentials that fit an image, best first; none means that
// the pull is to be anonymous. It reads a file and may run a credential helper,
// and blocks as long as these take, at most until ctx ends.
//
// An error says what could not be read; what could is returned beside it.
func (f Files) For(ctx context.Context, image reference.Named) ([]Credential, error) {
	path, data, err := read(f.Paths)
	if err != nil || path == "" {
		return nil, err
	}
	config, all, err := parse(data)
	if err != nil {
		err = fmt.Errorf("read credentials in %s: %w", path, err)
	}
	found, helperErr := f.fromHelper(ctx, config, reference.Domain(image))
	return append(found, all.lookup(image, path)...), errors.Join(err, helperErr)
}

// lookup finds the entries that fit an image, by the kubelet's rules.
func (all entries) lookup(image reference.Named, path string) []Credential {
	var out []Credential
	match := func(config credentialprovider.DockerConfig, put func(*registry.AuthConfig, string)) {
		var ring credentialprovider.BasicDockerKeyring
		ring.Add(nil, config)
		// Of a name without a registry Docker's is meant; both know it as that.
		found, _ := ring.Lookup(image.Name())
		for _, each := range found {
			auth := registry.AuthConfig{Username: each.Username, ServerAddress: serverOf(reference.Domain(image))}
			put(&auth, each.Password)
			out = append(out, Credential{Auth: auth, From: path})
		}
	}
	match(all.tokens[registryToken], func(a *registry.AuthConfig, secret string) { a.RegistryToken = secret })
	match(all.tokens[identityToken], func(a *registry.AuthConfig, secret string) { a.IdentityToken = secret })
	match(all.basic, func(a *registry.AuthConfig, secret string) { a.Password = secret })
	return out
}

// serverOf is the address of a registry as Docker files it.
func serverOf(domain string) string {
	if domain == hubDomain {
		return hubServer
	}
	return domain
}
