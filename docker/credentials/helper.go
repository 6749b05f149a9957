package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/docker/docker-credential-helpers/client"
	helpers "github.com/docker/docker-credential-helpers/credentials"
	"github.com/docker/docker/api/types/registry"
)

const (
	helperPrefix  = "docker-credential-"
	helperTimeout = 30 * time.Second
	// helperPatience is how long a helper that was killed may keep its output
	// open through a child of its own.
	helperPatience = time.Second
	// tokenUser is the user name by which a helper says that the secret is an
	// identity token.
	tokenUser = "<token>"
)

// fromHelper asks the credential helper of a registry, if it has one.
func (f Files) fromHelper(ctx context.Context, config file, domain string) ([]Credential, error) {
	name := config.CredsStore
	for _, key := range helperKeys(domain) {
		if own := config.CredHelpers[key]; own != "" {
			name = own
			break
		}
	}
	if name == "" {
		return nil, nil
	}
	program := helperPrefix + name
	if strings.ContainsAny(name, "/\\") {
		return nil, fmt.Errorf("ask credential helper %q: its name may not be a path", program)
	}
	timeout := f.HelperTimeout
	if timeout <= 0 {
		timeout = helperTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := client.Get(command(ctx, program), serverOf(domain))
	switch {
	case helpers.IsErrCredentialsNotFound(err):
		return nil, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask credential helper %s: no answer within %v", program, timeout)
	case errors.Is(err, exec.ErrNotFound) || err != nil && strings.Contains(err.Error(), exec.ErrNotFound.Error()):
		return nil, fmt.Errorf("ask credential helper %s: it is not installed where islet finds it (PATH)", program)
	case err != nil:
		return nil, fmt.Errorf("ask credential helper %s: %w", program, err)
	case got.Secret == "":
		return nil, nil
	}
	auth := registry.AuthConfig{Username: got.Username, Password: got.Secret, ServerAddress: serverOf(domain)}
	if got.Username == tokenUser {
		auth = registry.AuthConfig{IdentityToken: got.Secret, ServerAddress: serverOf(domain)}
	}
	return []Credential{{Auth: auth, From: program}}, nil
}

// helperKeys are the names under which credHelpers may list a registry.
func helperKeys(domain string) []string {
	if domain == hubDomain {
		return []string{hubServer, hubHost, hubDomain}
	}
	return []string{domain}
}

// command runs a helper as a process that ends with ctx.
func command(ctx context.Context, program string) client.ProgramFunc {
	return func(args ...string) client.Program {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = helperPatience
		return &process{cmd}
	}
}

type process struct{ cmd *exec.Cmd }

// Output runs the program and returns what it prints.
func (p *process) Output() ([]byte, error) { return p.cmd.Output() }

// Input gives the program what to read.
func (p *process) Input(in io.Reader) { p.cmd.Stdin = in }
