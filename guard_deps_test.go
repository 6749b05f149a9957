package islet_test

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/guard/deps.txt anew")

const depsFile = "testdata/guard/deps.txt"

// budgetFor returns the bound that is written for a number of dependencies:
// a little room, so that a Go release with one more internal package is no
// news, and not enough for half of a controller.
func budgetFor(deps int) int { return (deps + 14) / 10 * 10 }

// budgetFindings checks the number of transitive dependencies of each package,
// the standard library included, against its bound. What `go list -deps` counts
// is one more: the package itself.
func budgetFindings(pkgs []listed, bounds map[string]int) []string {
	var out []string
	rest := maps.Clone(bounds)
	for _, p := range pkgs {
		bound, ok := rest[p.folder()]
		delete(rest, p.folder())
		switch n := len(p.Deps) + 1; {
		case !ok:
			out = append(out, fmt.Sprintf("%s has no line (it has %d dependencies): run make deps", p.folder(), n))
		case n > bound:
			out = append(out, fmt.Sprintf("%s has %d dependencies, at most %d: look at what came with the newest import; make deps if it is worth it", p.folder(), n, bound))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(rest)) {
		out = append(out, fmt.Sprintf("%s has a line but is no package any more: run make deps", folder))
	}
	return out
}

func parseBudget(text string) (map[string]int, error) {
	bounds := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("read budget: line %q is not a folder and a number", lines.Text())
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read budget: line %q: %w", lines.Text(), err)
		}
		bounds[fields[0]] = n
	}
	return bounds, lines.Err()
}

func writeBudget(pkgs []listed) string {
	var b strings.Builder
	b.WriteString("# How many packages each package may depend on, itself and the standard\n" +
		"# library included (go list -deps FOLDER | wc -l). Written by make deps.\n")
	for _, p := range pkgs {
		fmt.Fprintf(&b, "%s %d\n", p.folder(), budgetFor(len(p.Deps)+1))
	}
	return b.String()
}

func TestDependencyBudget(t *testing.T) {
	pkgs := packages(t)
	if *update {
		if err := os.WriteFile(depsFile, []byte(writeBudget(pkgs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(depsFile)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := parseBudget(string(text))
	if err != nil {
		t.Fatal(err)
	}
	report(t, depsFile, budgetFindings(pkgs, bounds))
}

func TestDependencyBudgetFinds(t *testing.T) {
	pkg := func(folder string, deps int) listed {
		return listed{ImportPath: module + "/" + folder, Deps: make([]string, deps)}
	}
	pkgs := []listed{pkg("a", 9), pkg("b", 30), pkg("c", 1)}
	wantFindings(t, budgetFindings(pkgs, map[string]int{"a": 10, "b": 30, "d": 5}),
		"b has 31 dependencies, at most 30", "c has no line", "d has a line but")

	bounds, err := parseBudget(writeBudget(pkgs))
	if err != nil {
		t.Fatal(err)
	}
	wantFindings(t, budgetFindings(pkgs, bounds))
	if _, err := parseBudget("a ten"); err == nil {
		t.Error("a budget that is no number was accepted")
	}
}
