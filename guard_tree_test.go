package islet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
)

// The guard tests hold the tree to rules that no compiler checks: who may
// import whom, what is pure, what is documented, how large things grow. Each
// rule is a function from files or packages to findings. It is asked twice: of
// this tree, where a finding is a failure, and of a small broken tree, where
// the absence of one is.

const module = "github.com/islet-run/islet"

// listed is what the guards need of `go list -json`.
type listed struct {
	ImportPath   string
	Name         string
	GoFiles      []string
	CgoFiles     []string
	Imports      []string // direct, of non-test files
	Deps         []string // transitive, without itself
	TestGoFiles  []string
	XTestGoFiles []string
}

// folder returns the package's folder in this module, "." for the root.
func (p listed) folder() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// hasCode reports whether the package consists of more than tests.
func (p listed) hasCode() bool { return len(p.GoFiles)+len(p.CgoFiles) > 0 }

var goList = sync.OnceValues(func() ([]listed, error) {
	cmd := exec.Command("go", "list", "-e=false",
		"-json=ImportPath,Name,GoFiles,CgoFiles,Imports,Deps,TestGoFiles,XTestGoFiles", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// packages returns the packages of ./... that consist of more than tests.
func packages(t *testing.T) []listed {
	t.Helper()
	all, err := goList()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var code []listed
	for _, p := range all {
		if p.hasCode() {
			code = append(code, p)
		}
	}
	return code
}

// file is one file of the tree; syntax is nil unless it is Go.
type file struct {
	path   string // slash-separated, from the root of the tree
	text   string
	fset   *token.FileSet
	syntax *ast.File
}

func (f file) test() bool     { return strings.HasSuffix(f.path, "_test.go") }
func (f file) folder() string { return path.Dir(f.path) }

// at returns "path:line" of a node.
func (f file) at(n ast.Node) string { return f.fset.Position(n.Pos()).String() }

// madeFolders are made by make and by git, and ignored by the latter.
var madeFolders = map[string]bool{".git": true, "bin": true, ".islet": true, "manifests.d": true, "fuzz": true}

// readTree reads every regular file below 1 MiB that is part of the source.
func readTree(tree fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && madeFolders[d.Name()] {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f := file{path: name, text: string(text)}
		if path.Ext(name) == ".go" {
			f.fset = token.NewFileSet()
			f.syntax, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

var thisTree = sync.OnceValues(func() ([]file, error) { return readTree(os.DirFS(".")) })

// tree returns the files of this repository.
func tree(t *testing.T) []file {
	t.Helper()
	files, err := thisTree()
	if err != nil {
		t.Fatalf("read tree: %v", err)
	}
	return files
}

// goFiles returns the Go files among files.
func goFiles(files []file) []file {
	var out []file
	for _, f := range files {
		if f.syntax != nil {
			out = append(out, f)
		}
	}
	return out
}

// report fails the test with one line per finding.
func report(t *testing.T, rule string, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("%s: %s", rule, f)
	}
}
