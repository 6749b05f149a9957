package credentials

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distribution/reference"
)

func named(t *testing.T, text string) reference.Named {
	t.Helper()
	n, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// auth is an entry with the name of the user as the password.
func auth(user string) string {
	return fmt.Sprintf(`{"auth":%q}`, base64.StdEncoding.EncodeToString([]byte(user+":"+user)))
}

// kinds names what was found: user, or token kind and its value.
func kinds(found []Credential) []string {
	var out []string
	for _, c := range found {
		switch {
		case c.Auth.RegistryToken != "":
			out = append(out, "registry token "+c.Auth.RegistryToken)
		case c.Auth.IdentityToken != "":
			out = append(out, "identity token "+c.Auth.IdentityToken)
		case c.Auth.Password != c.Auth.Username:
			out = append(out, "wrong password for "+c.Auth.Username)
		default:
			out = append(out, c.Auth.Username)
		}
	}
	return out
}

func TestFor(t *testing.T) {
	for _, row := range []struct {
		name, text, image string
		want              []string
		server            string
	}{
		{"nothing about it", `{"auths":{"other.test":` + auth("a") + `}}`, "reg.test/app", nil, ""},
		{"by host", `{"auths":{"reg.test":` + auth("a") + `}}`, "reg.test/app", []string{"a"}, "reg.test"},
		{"as a URL", `{"auths":{"https://reg.test/v2/":` + auth("a") + `}}`, "reg.test/app:1", []string{"a"}, "reg.test"},
		{"by host and port", `{"auths":{"reg.test:5000":` + auth("a") + `}}`, "reg.test:5000/app", []string{"a"}, "reg.test:5000"},
		{"another port", `{"auths":{"reg.test:5000":` + auth("a") + `}}`, "reg.test/app", nil, ""},
		{"a beginning of the host is not it", `{"auths":{"reg.test":` + auth("a") + `}}`, "reg.test.evil/app", nil, ""},
		{"by path, the longest first", `{"auths":{"reg.test":` + auth("host") + `,"reg.test/team":` + auth("team") + `}}`,
			"reg.test/team/app", []string{"team", "host"}, "reg.test"},
		{"another path", `{"auths":{"reg.test/team":` + auth("team") + `}}`, "reg.test/app", nil, ""},
		{"with a star", `{"auths":{"*.reg.test":` + auth("a") + `}}`, "eu.reg.test/app", []string{"a"}, "eu.reg.test"},
		{"a star is one part", `{"auths":{"*.reg.test":` + auth("a") + `}}`, "a.b.reg.test/app", nil, ""},
		{"Docker Hub without a registry", `{"auths":{"https://index.docker.io/v1/":` + auth("hub") + `}}`, "nginx", []string{"hub"}, hubServer},
		{"Docker Hub by name", `{"auths":{"docker.io":` + auth("hub") + `}}`, "team/app", []string{"hub"}, hubServer},
		{"Docker Hub's are for nobody else", `{"auths":{"https://index.docker.io/v1/":` + auth("hub") + `}}`, "reg.test/app", nil, ""},
		{"user and password", `{"auths":{"reg.test":{"username":"u","password":"u"}}}`, "reg.test/app", []string{"u"}, "reg.test"},
		{"an identity token", `{"auths":{"reg.test":{"auth":"dTo=","identitytoken":"it"}}}`, "reg.test/app", []string{"identity token it"}, "reg.test"},
		{"a registry token", `{"auths":{"reg.test":{"registrytoken":"rt"}}}`, "reg.test/app", []string{"registry token rt"}, "reg.test"},
		{"an empty entry is none", `{"auths":{"reg.test":{}}}`, "reg.test/app", nil, ""},
		{"no auths at all", `{"psFormat":"x","HttpHeaders":{"a":"b"}}`, "reg.test/app", nil, ""},
		{"a digest changes nothing", `{"auths":{"reg.test":` + auth("a") + `}}`, "reg.test/app:1@sha256:" + strings.Repeat("a", 64), []string{"a"}, "reg.test"},
	} {
		path := write(t, row.text)
		found, err := Files{Paths: []string{path}}.For(context.Background(), named(t, row.image))
		if err != nil || !slices.Equal(kinds(found), row.want) {
			t.Errorf("%s: %q, %v, want %q", row.name, kinds(found), err, row.want)
		}
		for _, c := range found {
			if c.From != path || c.Auth.ServerAddress != row.server {
				t.Errorf("%s: from %q at %q, want %q at %q", row.name, c.From, c.Auth.ServerAddress, path, row.server)
			}
		}
	}
}

func TestFirstFileCounts(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "config.json")
	first := write(t, `{"auths":{"reg.test":`+auth("first")+`}}`)
	second := write(t, `{"auths":{"reg.test":`+auth("second")+`,"two.test":`+auth("two")+`}}`)
	files := Files{Paths: []string{missing, first, second}}
	for image, want := range map[string][]string{"reg.test/app": {"first"}, "two.test/app": nil} {
		found, err := files.For(context.Background(), named(t, image))
		if err != nil || !slices.Equal(kinds(found), want) {
			t.Errorf("%s: %q, %v, want %q", image, kinds(found), err, want)
		}
	}
	// An edit is in force at once.
	if err := os.WriteFile(first, []byte(`{"auths":{"reg.test":`+auth("changed")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := files.For(context.Background(), named(t, "reg.test/app")); err != nil || !slices.Equal(kinds(found), []string{"changed"}) {
		t.Errorf("after an edit: %q, %v", kinds(found), err)
	}
	if found, err := (Files{}).For(context.Background(), named(t, "reg.test/app")); err != nil || found != nil {
		t.Errorf("without files: %v, %v", found, err)
	}
}

func TestBadFiles(t *testing.T) {
	const secret = "Y29ycmVjdGhvcnNl"
	good := auth("good")
	for _, row := range []struct {
		name, text string
		want       []string
		words      string
	}{
		{"not JSON", "{\"auths\": {\n \"reg.test\": {\"auth\": \"" + secret + "\"\n", nil, "line 3"},
		{"empty", "", nil, "line 1"},
		{"a list", `["` + secret + `"]`, nil, "config.json"},
		{"an auth of the wrong kind", `{"auths":{"reg.test":{"auth":7}, "reg.test/a":` + good + `}}`, []string{"good"}, `entry "reg.test"`},
		{"an auth without a colon", `{"auths":{"reg.test":{"auth":"` + secret + `"}}}`, nil, `entry "reg.test" of auths: auth is not the base64`},
		{"an entry that is no object", `{"auths":{"reg.test":"` + secret + `"}}`, nil, `entry "reg.test"`},
		{"a token that is a number", `{"auths":{"reg.test":{"identitytoken":1}}}`, nil, "tokens"},
	} {
		path := write(t, row.text)
		found, err := Files{Paths: []string{path}}.For(context.Background(), named(t, "reg.test/a/b"))
		if !slices.Equal(kinds(found), row.want) {
			t.Errorf("%s: %q, want %q", row.name, kinds(found), row.want)
		}
		if err == nil || !strings.Contains(err.Error(), row.words) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one with %q and the file", row.name, err, row.words)
		} else if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "correcthorse") {
			t.Errorf("%s: the error tells a secret: %v", row.name, err)
		}
	}
	// What is there and cannot be read is not passed over.
	if _, err := (Files{Paths: []string{t.TempDir(), write(t, `{}`)}}).For(context.Background(), named(t, "a")); err == nil {
		t.Error("a directory was passed over")
	}
	big := write(t, `{"auths":{"reg.test":{"auth":"`+strings.Repeat("A", maxFile)+`"}}}`)
	if _, err := (Files{Paths: []string{big}}).For(context.Background(), named(t, "a")); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a huge file: %v", err)
	}
}

// helper installs a credential helper, a shell script, and puts it on the PATH.
func helper(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, helperPrefix+name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestHelpers(t *testing.T) {
	// Each answers with the server that it was asked for in the user name.
	helper(t, "one", `read -r server || true; [ "$1" = get ] && printf '{"Username":"one@%s","Secret":"one@%s"}' "$server" "$server"`)
	helper(t, "token", `printf '{"Username":"<token>","Secret":"tok"}'`)
	helper(t, "empty", `echo 'credentials not found in native keychain'; exit 1`)
	helper(t, "broken", `echo 'vault is sealed'; exit 1`)
	helper(t, "slow", `sleep 60`)
	for _, row := range []struct {
		name, text, image string
		want              []string
		words             string
	}{
		{"of the registry", `{"credHelpers":{"reg.test":"one"}}`, "reg.test/app", []string{"one@reg.test"}, ""},
		{"of another registry", `{"credHelpers":{"reg.test":"one"}}`, "two.test/app", nil, ""},
		{"for all", `{"credsStore":"one"}`, "two.test/app", []string{"one@two.test"}, ""},
		{"its own goes before the one for all", `{"credsStore":"token","credHelpers":{"reg.test":"one"}}`, "reg.test/app", []string{"one@reg.test"}, ""},
		{"Docker Hub", `{"credHelpers":{"docker.io":"one"}}`, "nginx", []string{"one@https://index.docker.io/v1/"}, ""},
		{"a token", `{"credsStore":"token"}`, "reg.test/app", []string{"identity token tok"}, ""},
		{"knows nothing; the file does", `{"credsStore":"empty","auths":{"reg.test":` + auth("a") + `}}`, "reg.test/app", []string{"a"}, ""},
		{"goes before the file", `{"credsStore":"one","auths":{"reg.test":` + auth("a") + `}}`, "reg.test/app", []string{"one@reg.test", "a"}, ""},
		{"fails; the file stands in", `{"credsStore":"broken","auths":{"reg.test":` + auth("a") + `}}`, "reg.test/app", []string{"a"}, "vault is sealed"},
		{"not installed", `{"credsStore":"nowhere"}`, "reg.test/app", nil, "docker-credential-nowhere: it is not installed"},
		{"a path is no name", `{"credsStore":"../../bin/sh"}`, "reg.test/app", nil, "may not be a path"},
		{"takes too long", `{"credsStore":"slow"}`, "reg.test/app", nil, "no answer within 300ms"},
	} {
		files := Files{Paths: []string{write(t, row.text)}, HelperTimeout: 20 * time.Second}
		if row.name == "takes too long" {
			files.HelperTimeout = 300 * time.Millisecond
		}
		found, err := files.For(context.Background(), named(t, row.image))
		if !slices.Equal(kinds(found), row.want) {
			t.Errorf("%s: %q, want %q", row.name, kinds(found), row.want)
		}
		if (err != nil) != (row.words != "") || err != nil && !strings.Contains(err.Error(), row.words) {
			t.Errorf("%s: error %v, want one with %q", row.name, err, row.words)
		}
	}
}

func TestSearchPath(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", "")
	t.Setenv("HOME", "/h")
	want := []string{"/r/config.json", "/h/.docker/config.json", "/.docker/config.json"}
	if got := SearchPath("/r"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	t.Setenv("DOCKER_CONFIG", "/elsewhere")
	want[1] = "/elsewhere/config.json"
	if got := SearchPath("/r"); !slices.Equal(got, want) {
		t.Errorf("with DOCKER_CONFIG: %q, want %q", got, want)
	}
	t.Setenv("DOCKER_CONFIG", "")
	t.Setenv("HOME", "")
	if got := SearchPath("/r"); len(got) != 3 || !filepath.IsAbs(got[1]) {
		t.Errorf("without HOME: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"auths":{"reg.test":{"auth":"YTpi"},"https://index.docker.io/v1/":{"identitytoken":"x"}},"credsStore":"a"}`))
	f.Add([]byte(`{"auths":{"[::1":{"auth":"YTpi"},"%zz":{"auth":"YTpi="}}}`))
	f.Add([]byte(`{"auths":null,"credHelpers":{"":""}}`))
	image, err := reference.ParseNormalizedNamed("reg.test/team/app")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, all, _ := parse(data)
		for _, c := range all.lookup(image, "f") {
			if c.Auth.Password == "" && c.Auth.IdentityToken == "" && c.Auth.RegistryToken == "" {
				t.Errorf("a credential without a secret: %+v", c.Auth.Username)
			}
		}
	})
}
