package islet_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// vagueNames say nothing about what is inside, so everything ends up there.
var vagueNames = []string{
	"util", "utils", "common", "pkg", "helper", "helpers", "misc", "lib", "types", "base", "shared", "internal",
}

// nameFindings checks the names of folders with Go code, and of packages.
func nameFindings(files []file) []string {
	var out []string
	seen := map[string]bool{}
	for _, f := range goFiles(files) {
		names := append(strings.Split(f.folder(), "/"), strings.TrimSuffix(f.syntax.Name.Name, "_test"))
		for _, n := range names {
			if slices.Contains(vagueNames, n) && !seen[f.folder()] {
				seen[f.folder()] = true
				out = append(out, fmt.Sprintf("%s: the name %q says nothing", f.folder(), n))
			}
		}
		if strings.ToLower(path.Base(f.path)) != path.Base(f.path) {
			out = append(out, fmt.Sprintf("%s: file names are lower case", f.path))
		}
	}
	return out
}

func TestNames(t *testing.T) {
	report(t, "name", nameFindings(tree(t)))
}

func TestNamesFinds(t *testing.T) {
	wantFindings(t, nameFindings(broken(t,
		"docker/a.go", "package docker",
		"docker/Big.go", "package docker",
		"pkg/islet/a.go", "package islet",
		"pods/util/a.go", "package util",
		"pods/x/a_test.go", "package common_test",
		"testdata/lib/note.txt", "no Go here",
	)),
		"docker/Big.go: file names",
		`pkg/islet: the name "pkg"`,
		`pods/util: the name "util"`,
		`pods/x: the name "common"`,
	)
}
