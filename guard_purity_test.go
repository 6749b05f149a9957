package islet_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"testing"
)

// clockNames are what package time offers to read or use the clock.
var clockNames = []string{
	"Now", "Since", "Until", "Sleep", "Tick", "After", "AfterFunc", "NewTimer", "NewTicker",
}

// importName returns the name under which f imports the path, "" when it does
// not or cannot be asked by name (blank). dot is set for a dot import.
func importName(f *ast.File, importPath, base string) (name string, dot bool) {
	for _, imp := range f.Imports {
		if p, err := strconv.Unquote(imp.Path.Value); err != nil || p != importPath {
			continue
		}
		switch {
		case imp.Name == nil:
			return base, false
		case imp.Name.Name == ".":
			return "", true
		case imp.Name.Name != "_":
			return imp.Name.Name, false
		}
	}
	return "", false
}

// isSelector reports whether n is pkg.name with one of the names.
func isSelector(n ast.Node, pkg string, names ...string) (string, bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || pkg == "" || id.Name != pkg || !slices.Contains(names, sel.Sel.Name) {
		return "", false
	}
	return sel.Sel.Name, true
}

// purityFindings checks that pure rooms have no clock and no goroutine: time is
// an argument there, and the next time to look is a result.
func purityFindings(files []file) []string {
	var out []string
	for _, f := range goFiles(files) {
		if f.test() || !slices.Contains(pure, room(f.path)) {
			continue
		}
		name, dot := importName(f.syntax, "time", "time")
		if dot {
			out = append(out, f.path+": dot import of time in a pure package")
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if fn, ok := isSelector(n, name, clockNames...); ok {
				out = append(out, fmt.Sprintf("%s: time.%s in a pure package", f.at(n), fn))
			}
			if g, ok := n.(*ast.GoStmt); ok {
				out = append(out, f.at(g)+": goroutine in a pure package")
			}
			return true
		})
	}
	return out
}

func TestPurity(t *testing.T) {
	report(t, "purity", purityFindings(tree(t)))
}

func TestPurityFinds(t *testing.T) {
	wantFindings(t, purityFindings(broken(t,
		"manifests/a.go", "package manifests\nimport clock \"time\"\nvar f = clock.Since\nvar d clock.Duration",
		"pods/a.go", "package pods\nimport \"time\"\nfunc f() time.Time {\n\tgo f()\n\treturn time.Now()\n}",
		"pods/a_test.go", "package pods\nimport \"time\"\nvar now = time.Now()",
		"pods/b.go", "package pods\nimport . \"time\"\nvar d Duration",
		"store/a.go", "package store\nimport \"time\"\nvar now = time.Now()",
	)),
		"manifests/a.go:3:9: time.Since",
		"pods/a.go:4:2: goroutine",
		"pods/a.go:5:9: time.Now",
		"pods/b.go: dot import",
	)
}
