package islet_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// manualWords is the least number of words of a package comment: enough to say
// which question the package answers, with what, and how it is used.
const manualWords = 60

// docFindings checks that every package has one package comment, that it stands
// in doc.go, begins as Go wants it and is a manual rather than a label.
func docFindings(files []file) []string {
	commented := map[string][]file{}
	for _, f := range goFiles(files) {
		if f.test() {
			continue
		}
		dir := f.folder()
		if _, ok := commented[dir]; !ok {
			commented[dir] = nil
		}
		if f.syntax.Doc != nil {
			commented[dir] = append(commented[dir], f)
		}
	}
	var out []string
	for dir, with := range commented {
		if len(with) != 1 || path.Base(with[0].path) != "doc.go" {
			out = append(out, fmt.Sprintf("%s: %d package comments, want one, in doc.go", dir, len(with)))
			continue
		}
		f := with[0]
		text := f.syntax.Doc.Text()
		if begin := docBegin(f.syntax.Name.Name, dir); !strings.HasPrefix(text, begin) {
			out = append(out, fmt.Sprintf("%s: the package comment does not begin with %q", f.path, begin))
		}
		if n := len(strings.Fields(text)); n < manualWords {
			out = append(out, fmt.Sprintf("%s: a package comment of %d words is no manual, want %d", f.path, n, manualWords))
		}
	}
	slices.Sort(out)
	return out
}

func docBegin(pkg, dir string) string {
	if pkg == "main" {
		return "Command " + path.Base(dir) + " "
	}
	return "Package " + pkg + " "
}

func TestPackageComments(t *testing.T) {
	report(t, "package comment", docFindings(tree(t)))
}

func TestPackageCommentsFinds(t *testing.T) {
	manual := strings.TrimSpace(strings.Repeat("word ", manualWords))
	wantFindings(t, docFindings(broken(t,
		"a/doc.go", "// Package a is short.\npackage a",
		"b/b.go", "// Package b "+manual+"\npackage b",
		"c/c.go", "package c",
		"d/doc.go", "// Package d "+manual+"\npackage d",
		"d/d.go", "// And another.\npackage d",
		"e/doc.go", "// "+manual+"\npackage e",
		"f/doc.go", "// Package f "+manual+"\npackage f",
		"f/f_test.go", "// Tests may say what they want.\npackage f",
		"g/doc.go", "// Command g "+manual+"\npackage main",
		"h/h_test.go", "package h",
	)),
		"a/doc.go: a package comment of 4 words",
		"b: 1 package comments",
		"c: 0 package comments",
		"d: 2 package comments",
		`e/doc.go: the package comment does not begin with "Package e "`,
	)
}
