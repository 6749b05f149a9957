package islet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rooms says which other rooms (top folders) the code of a room may import
// directly. The packages inside a room may import each other. A folder that is
// not here is a finding: a new room needs a rule.
var rooms = map[string][]string{
	"manifests": {},
	"pods":      {},
	"store":     {},
	"sources":   {"manifests", "store"},
	"docker":    {"pods"},
	"syncer":    {"pods", "manifests", "store"},
	"node":      {"pods", "store"},
	"httpapi":   {"manifests", "pods", "store"},
	"cluster":   {"manifests", "pods", "store"},
	"cmd":       {"manifests", "pods", "store", "sources", "docker", "syncer", "node", "httpapi", "cluster"},
}

// pure are the rooms that decide and never act.
var pure = []string{"manifests", "pods"}

// impure may not be imported by them, nor may anything below.
var impure = []string{"os", "net/http", "context", "log", "sync", "syscall", "math/rand", "crypto/rand", "golang.org/x/sys"}

// kept are import paths that only one room may import directly, nor may others
// import anything below.
var kept = map[string]string{
	"github.com/docker/docker":                   "docker",
	"github.com/docker/go-connections":           "docker",
	"k8s.io/kubernetes/pkg/apis/core/validation": "manifests",
	"github.com/fsnotify/fsnotify":               "sources",
	"github.com/go-chi/chi":                      "httpapi",
	"github.com/spf13/cobra":                     "cmd",
	"k8s.io/client-go":                           "cluster",
}

// within reports whether the import path p is root or lies below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func room(folder string) string {
	first, _, _ := strings.Cut(folder, "/")
	return first
}

// importFindings checks direct imports of non-test files.
func importFindings(pkgs []listed) []string {
	var out []string
	for _, p := range pkgs {
		from := room(p.folder())
		allowed, known := rooms[from]
		if !known {
			out = append(out, fmt.Sprintf("%s: the folder %q has no rule in guard_imports_test.go", p.ImportPath, from))
			continue
		}
		for _, imp := range p.Imports {
			if within(imp, module) {
				to := room(strings.TrimPrefix(strings.TrimPrefix(imp, module), "/"))
				if to != from && !slices.Contains(allowed, to) {
					out = append(out, fmt.Sprintf("%s must not import %s: %s may import of ours only %v", p.ImportPath, imp, from, allowed))
				}
				continue
			}
			out = append(out, foreignFindings(p.ImportPath, from, imp)...)
		}
	}
	return out
}

func foreignFindings(importer, from, imp string) []string {
	var out []string
	if slices.Contains(pure, from) {
		for _, bad := range impure {
			if within(imp, bad) {
				out = append(out, fmt.Sprintf("%s must not import %s: %s is pure", importer, imp, from))
			}
		}
		if imp == "net" {
			out = append(out, fmt.Sprintf("%s must not import net: %s is pure", importer, from))
		}
	}
	for root, owner := range kept {
		if from != owner && within(imp, root) {
			out = append(out, fmt.Sprintf("%s must not import %s: that is for %s alone", importer, imp, owner))
		}
	}
	return out
}

func TestImports(t *testing.T) {
	report(t, "imports", importFindings(packages(t)))
}

func TestImportsFinds(t *testing.T) {
	pkg := func(folder string, imports ...string) listed {
		return listed{ImportPath: module + "/" + folder, GoFiles: []string{"a.go"}, Imports: imports}
	}
	wantFindings(t, importFindings([]listed{
		pkg("pods", "time", "strings", "net/url", "net/netip"),
		pkg("pods", module+"/manifests"),
		pkg("manifests", "os/exec", "net"),
		pkg("syncer/volumes", module+"/syncer", module+"/pods", "sync"),
		pkg("sources", module+"/syncer"),
		pkg("node", "github.com/docker/docker/client"),
		pkg("misc", "time"),
		pkg("cmd/islet", module+"/docker", module+"/syncer", "github.com/spf13/cobra"),
		pkg("store", module+"/cmd/islet"),
	}),
		"pods must not import "+module+"/manifests",
		"must not import os/exec",
		"must not import net:",
		"sources must not import "+module+"/syncer",
		"for docker alone",
		`"misc" has no rule`,
		"store must not import "+module+"/cmd/islet",
	)
}

// TestListSeesThisTree keeps the guards from passing because they look at nothing.
func TestListSeesThisTree(t *testing.T) {
	var folders []string
	for _, p := range packages(t) {
		folders = append(folders, p.folder())
	}
	for _, want := range []string{"manifests", "pods", "sources", "store", "syncer", "docker", "cmd/islet"} {
		if !slices.Contains(folders, want) {
			t.Errorf("go list does not show %s, only %v", want, folders)
		}
	}
	paths := map[string]bool{}
	for _, f := range tree(t) {
		paths[f.path] = true
	}
	for _, want := range []string{"go.mod", "Makefile", "pods/plan.go", "guard_imports_test.go"} {
		if !paths[want] {
			t.Errorf("the walk of the tree does not show %s", want)
		}
	}
}
