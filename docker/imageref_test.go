package docker

import (
	"strconv"
	"testing"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestParseImage(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"nginx", "docker.io/library/nginx:latest"},
		{"nginx:1.27", "docker.io/library/nginx:1.27"},
		{"index.docker.io/library/nginx", "docker.io/library/nginx:latest"},
		{"registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"},
		{"localhost:5000/a/b", "localhost:5000/a/b:latest"},
		{"nginx@" + digestA, "docker.io/library/nginx@" + digestA},
		{"", ""}, {"Nginx", ""}, {"a b", ""}, {"nginx:", ""}, {"nginx@sha256:12", ""}, {"https://x/y", ""},
	} {
		named, err := parseImage(row.text)
		switch {
		case row.want == "" && err == nil:
			t.Errorf("%q was read as %s", row.text, named)
		case row.want != "" && (err != nil || named.String() != row.want):
			t.Errorf("%q: %v, %v, want %s", row.text, named, err, row.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, row := range []struct {
		name          string
		ref           string
		tags, digests []string
		want          bool
	}{
		{"its tag", "nginx", []string{"nginx:latest"}, nil, true},
		{"one of its tags", "quay.io/x/y:2", []string{"a:1", "quay.io/x/y:2"}, nil, true},
		{"found by the beginning of its id", "cafe", []string{"nginx:latest"}, nil, false},
		{"no tags left", "nginx", nil, []string{"nginx@" + digestA}, false},
		{"another tag", "nginx:1", []string{"nginx:2"}, nil, false},
		{"its digest", "nginx@" + digestA, nil, []string{"nginx@" + digestA}, true},
		{"another digest", "nginx@" + digestA, nil, []string{"nginx@" + digestB}, false},
		{"the digest in another repository", "nginx@" + digestA, nil, []string{"mirror/nginx@" + digestA}, false},
		{"of tag and digest the digest counts", "nginx:1@" + digestA, nil, []string{"nginx@" + digestA}, true},
		{"unreadable names", "nginx", []string{"<none>:<none>"}, []string{"<none>@<none>"}, false},
	} {
		named, err := parseImage(row.ref)
		if err != nil {
			t.Fatal(err)
		}
		if got := matches(named, row.tags, row.digests); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestLookup(t *testing.T) {
	for ref, want := range map[string]string{
		"nginx":              "docker.io/library/nginx:latest",
		"nginx:1@" + digestA: "docker.io/library/nginx@" + digestA,
	} {
		named, err := parseImage(ref)
		if err != nil {
			t.Fatal(err)
		}
		if got := lookup(named); got != want {
			t.Errorf("%s is looked up as %s, want %s", ref, got, want)
		}
	}
}

func TestImageForm(t *testing.T) {
	named, _ := parseImage("mirror.test/nginx:1")
	for _, row := range []struct {
		digests []string
		want    string
	}{
		{nil, "docker://sha256:id"},
		{[]string{"nginx@" + digestA, "mirror.test/nginx@" + digestB}, "docker-pullable://mirror.test/nginx@" + digestB},
		{[]string{"nginx@" + digestA}, "docker-pullable://nginx@" + digestA},
	} {
		if got := imageForm(named, "sha256:id", row.digests); got != row.want {
			t.Errorf("%v: %s, want %s", row.digests, got, row.want)
		}
	}
}

func TestImageFormsAreBounded(t *testing.T) {
	var f imageForms
	for i := range 3 * maxImageForms {
		f.put(strconv.Itoa(i), "r", "form")
		if len(f.forms) > maxImageForms {
			t.Fatalf("%d entries", len(f.forms))
		}
		if form, ok := f.get(strconv.Itoa(i), "r"); !ok || form != "form" {
			t.Fatalf("the newest entry: %q, %v", form, ok)
		}
	}
}
