package islet_test

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// forbiddenTexts are not to be in any text of the tree. The patterns are put
// together from pieces so that this file does not find itself.
var forbiddenTexts = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(?:` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`),
		"unfinished work belongs into the issue tracker"},
	{regexp.MustCompile(`(?:^|[\s"'=(:` + "`" + `])/(?:` + strings.Join([]string{"wo" + "rk", "ho" + "me", "Us" + "ers", "root/" + "go"}, "|") + `)/\w`),
		"a path of somebody's machine"},
	{regexp.MustCompile(`^(?:<{7} |>{7} |={7}$)`), "a conflict marker"},
	{regexp.MustCompile(`panic\("(?:being ` + `written|not implemented|unimplemented)`), "not written yet"},
}

// freeText are folders whose files come from elsewhere or hold broken input on
// purpose.
var freeText = []string{"testdata/manifests/", "manifests/testdata/", "LICENSE", "go.sum"}

// textFindings checks every text file, line by line.
func textFindings(files []file) []string {
	var out []string
	for _, f := range files {
		if isFree(f.path) || !utf8.ValidString(f.text) {
			continue
		}
		for i, line := range strings.Split(f.text, "\n") {
			for _, bad := range forbiddenTexts {
				if bad.pattern.MatchString(line) {
					out = append(out, fmt.Sprintf("%s:%d: %s: %s", f.path, i+1, bad.why, strings.TrimSpace(line)))
				}
			}
		}
		if scriptLike(f) && strings.Contains(f.text, "\r\n") {
			out = append(out, f.path+": CRLF line ends")
		}
	}
	return out
}

func isFree(name string) bool {
	for _, prefix := range freeText {
		if strings.HasPrefix(name, prefix) || strings.Contains(name, "/"+prefix) {
			return true
		}
	}
	return false
}

func scriptLike(f file) bool {
	switch path.Ext(f.path) {
	case ".go", ".sh", ".md":
		return true
	}
	return path.Base(f.path) == "Makefile"
}

func TestTexts(t *testing.T) {
	report(t, "text", textFindings(tree(t)))
}

func TestTextsFinds(t *testing.T) {
	wantFindings(t, textFindings(broken(t,
		"a/a.go", "package a\n// TO"+"DO: later\n// todos are fine\nfunc f() { panic(\"being "+"written\") }",
		"a/b.sh", "cd /wo"+"rk/tree\r\n",
		"a/c.md", "see /ho"+"me/joe/notes, https://example.org/wo"+"rk/x",
		"manifests/testdata/bad.yaml", "# TO"+"DO",
		"a/d.txt", "<<<<"+"<<< HEAD",
		"a/e.bin", "\xff\xfe TO"+"DO",
	)),
		"a/a.go:2: unfinished", "a/a.go:4: not written yet", "a/b.sh:1: a path", "a/b.sh: CRLF", "a/c.md:1: a path", "a/d.txt:1: a conflict marker",
	)
}
