package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"k8s.io/kubernetes/pkg/credentialprovider"
)

// maxFile bounds the size of a file of credentials.
const maxFile = 1 << 20

// SearchPath returns where credentials of this machine are looked for, in that
// order: config.json in rootDir, then in DOCKER_CONFIG or else in .docker of
// the home directory, then in /.docker. It is the kubelet's list without the
// working directory, which depends on who started islet, and without the
// .dockercfg files that Docker gave up in 2014.
//
// The home directory is the user's also where HOME is not set, as under
// systemd.
func SearchPath(rootDir string) []string {
	dirs := []string{rootDir}
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		dirs = append(dirs, dir)
	} else if home := homeDir(); home != "" {
		dirs = append(dirs, filepath.Join(home, ".docker"))
	}
	dirs = append(dirs, "/.docker")
	paths := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, "config.json"))
	}
	return paths
}

func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	if me, err := user.Current(); err == nil {
		return me.HomeDir
	}
	return ""
}

// file is the part of a config.json that is about logging in.
type file struct {
	// Auths are read one by one, so that one bad entry does not hide the rest.
	Auths       map[string]json.RawMessage `json:"auths"`
	CredHelpers map[string]string          `json:"credHelpers"`
	CredsStore  string                     `json:"credsStore"`
}

// token is what an entry may have instead of a password.
type token struct {
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// read reads the first of the files that is there; without one it returns "".
// A file that is there and cannot be read is not passed over: the next one
// might hold what nobody meant to use.
func read(paths []string) (path string, data []byte, err error) {
	for _, path := range paths {
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return path, nil, fmt.Errorf("read credentials: %w", err)
		}
		return path, data, nil
	}
	return "", nil, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// parse reads the text of a config.json. Entries that cannot be read are left
// out and named by the error; what they hold is not in its words.
func parse(data []byte) (file, entries, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return file{}, entries{}, errors.New(position(data, err))
	}
	all := entries{basic: credentialprovider.DockerConfig{}, tokens: map[tokenKind]credentialprovider.DockerConfig{}}
	var bad []error
	for name, text := range f.Auths {
		if err := all.add(name, text); err != nil {
			bad = append(bad, fmt.Errorf("entry %q of auths: %w", name, err))
		}
	}
	return f, all, errors.Join(bad...)
}

// position says where a text stops being JSON, without quoting it.
func position(data []byte, err error) string {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		return fmt.Sprintf("field %q is not of the kind a config.json of Docker has there", wrong.Field)
	}
	line := 1
	for i, c := range data {
		if int64(i) >= offset {
			break
		}
		if c == '\n' {
			line++
		}
	}
	return fmt.Sprintf("line %d: it is not JSON as a config.json of Docker is", line)
}

// tokenKind is a way to log in other than with a password.
type tokenKind string

const (
	identityToken tokenKind = "identity"
	registryToken tokenKind = "registry"
)

// entries are the auths of a file by how they log in. The kubelet's keyring
// knows only passwords; tokens stand in theirs, in keyrings of their own.
type entries struct {
	basic  credentialprovider.DockerConfig
	tokens map[tokenKind]credentialprovider.DockerConfig
}

func (all *entries) add(name string, text []byte) error {
	var login credentialprovider.DockerConfigEntry
	if err := json.Unmarshal(text, &login); err != nil {
		return errors.New("auth is not the base64 of user:password")
	}
	var t token
	if err := json.Unmarshal(text, &t); err != nil {
		return errors.New("its tokens are not strings")
	}
	for kind, secret := range map[tokenKind]string{identityToken: t.IdentityToken, registryToken: t.RegistryToken} {
		if secret == "" {
			continue
		}
		if all.tokens[kind] == nil {
			all.tokens[kind] = credentialprovider.DockerConfig{}
		}
		all.tokens[kind][name] = credentialprovider.DockerConfigEntry{Username: login.Username, Password: secret}
	}
	// An entry without anything in it says that a helper knows.
	if login.Password != "" {
		all.basic[name] = login
	}
	return nil
}
