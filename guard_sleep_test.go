package islet_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// sleepFindings checks that tests do not wait for a fixed time in the hope that
// something has happened by then. A sleep is fine
//
//   - where the clock is not real: in a function given to synctest.Test, or to a
//     function of the same package that calls it, and in one that calls
//     synctest.Wait;
//   - between two looks of a loop that ends when it has seen the thing;
//   - where slowness itself is tested; a comment on its line then begins with
//     "scenario:" and says what is slow.
func sleepFindings(files []file) []string {
	byFolder := map[string]clocks{}
	for _, f := range goFiles(files) {
		if !f.test() {
			continue
		}
		if _, ok := byFolder[f.folder()]; !ok {
			byFolder[f.folder()] = clocks{inside: map[string]bool{}, enters: map[string]bool{}}
		}
		byFolder[f.folder()].add(f.syntax)
	}
	var out []string
	for _, f := range goFiles(files) {
		if !f.test() {
			continue
		}
		scan := sleepScan{clocks: byFolder[f.folder()], synctest: synctestName(f.syntax)}
		var dot bool
		if scan.time, dot = importName(f.syntax, "time", "time"); dot {
			out = append(out, f.path+": dot import of time hides sleeps")
		}
		scenarios := scenarioLines(f)
		scan.report = func(n ast.Node, what string) {
			if !scenarios[f.fset.Position(n.Pos()).Line] {
				out = append(out, fmt.Sprintf("%s: %s: wait for the thing, with a deadline, or use testing/synctest", f.at(n), what))
			}
		}
		ast.Walk(scan, f.syntax)
	}
	return out
}

func synctestName(f *ast.File) string {
	name, _ := importName(f, "testing/synctest", "synctest")
	return name
}

// scenarioLines returns the lines with a comment that excuses a sleep.
func scenarioLines(f file) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "// scenario: ") {
				lines[f.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}

// clocks says which functions of a package have to do with unreal clocks.
type clocks struct {
	inside map[string]bool // run in a bubble: given to synctest.Test by name, or calling synctest.Wait
	enters map[string]bool // make one: calling synctest.Test
}

// add notes the functions of a file.
func (c clocks) add(f *ast.File) {
	synctest := synctestName(f)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			which, _ := isSelector(call.Fun, synctest, "Test", "Wait")
			switch which {
			case "Wait":
				c.inside[fn.Name.Name] = true
			case "Test":
				c.enters[fn.Name.Name] = true
				for _, a := range call.Args {
					if id, ok := a.(*ast.Ident); ok {
						c.inside[id.Name] = true
					}
				}
				return false // what is inside says nothing of this function
			}
			return true
		})
	}
}

// sleepScan walks a test file.
type sleepScan struct {
	time, synctest string // names of the packages in this file
	clocks         clocks
	polling        bool // inside a loop that can end early
	report         func(n ast.Node, what string)
}

// Visit implements [ast.Visitor].
func (s sleepScan) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.CallExpr:
		if s.entersBubble(n.Fun) {
			return nil
		}
		if _, ok := isSelector(n.Fun, s.time, "Sleep"); ok && !s.polling {
			s.report(n, "fixed sleep")
		}
	case *ast.ExprStmt:
		if s.waitsForTimer(n.X) && !s.polling {
			s.report(n, "fixed wait for a timer")
		}
	case *ast.CommClause:
		// The timer of a select is a deadline; what follows it may wait wrongly.
		for _, stmt := range n.Body {
			ast.Walk(s, stmt)
		}
		return nil
	case *ast.ForStmt:
		s.polling = s.polling || asksSomething(n.Cond) || endsEarly(n.Body)
	case *ast.FuncDecl:
		if s.clocks.inside[n.Name.Name] {
			return nil
		}
	case *ast.FuncLit:
		// A function made inside a loop is not the loop.
		s.polling = false
	}
	return s
}

// entersBubble reports whether what is called is synctest.Test or wraps it.
func (s sleepScan) entersBubble(fun ast.Expr) bool {
	if _, ok := isSelector(fun, s.synctest, "Test"); ok {
		return true
	}
	id, ok := fun.(*ast.Ident)
	return ok && s.clocks.enters[id.Name]
}

func (s sleepScan) waitsForTimer(x ast.Expr) bool {
	recv, ok := x.(*ast.UnaryExpr)
	if !ok || recv.Op != token.ARROW {
		return false
	}
	call, ok := recv.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = isSelector(call.Fun, s.time, "After", "Tick")
	return ok
}

// asksSomething reports whether a loop condition calls anything: a look at the
// thing, or at a deadline.
func asksSomething(cond ast.Expr) bool {
	asks := false
	if cond == nil {
		return false
	}
	ast.Inspect(cond, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, _ := call.Fun.(*ast.Ident)
			asks = asks || id == nil || id.Name != "len" && id.Name != "cap"
		}
		return true
	})
	return asks
}

// endsEarly reports whether the body of a loop can leave it.
func endsEarly(body *ast.BlockStmt) bool {
	early := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			early = true
		case *ast.BranchStmt:
			early = early || n.Tok == token.BREAK || n.Tok == token.GOTO
		}
		return true
	})
	return early
}

func TestNoFixedSleeps(t *testing.T) {
	report(t, "sleep", sleepFindings(tree(t)))
}

func TestNoFixedSleepsFinds(t *testing.T) {
	head := "package a\nimport (\n\"testing\"\n\"testing/synctest\"\n\"time\"\n)\n"
	wantFindings(t, sleepFindings(broken(t,
		"a/a_test.go", head+`func TestA(t *testing.T) {
	time.Sleep(time.Second)
	<-time.After(time.Second)
	for range 10 { time.Sleep(1) }
	for i := 0; i < len(x); i++ { time.Sleep(1) } // sleepy
	for { if ok() { return }; go func() { time.Sleep(1) }() }
}`,
		"a/b_test.go", head+`func TestB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour) })
	synctest.Test(t, bubble)
	for !ok() { time.Sleep(1) }
	for i := 0; ok(i); time.Sleep(1) {}
	for i := 0; len(look()) < 3; time.Sleep(1) {}
	wrap(t, func() { time.Sleep(time.Hour) })
	time.Sleep(1) // scenario: a slow writer
	time.Sleep(1) // because
	for { if ok() { break }; time.Sleep(1) }
	select { case <-done: case <-time.After(time.Second): t.Fatal() }
}
func bubble(t *testing.T) { time.Sleep(time.Hour) }
func wrap(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }
func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }
`,
		"a/c.go", head+"func wait() { time.Sleep(1) }",
	)),
		"a/a_test.go:8:", "a/a_test.go:9:", "a/a_test.go:10:", "a/a_test.go:11:", "a/a_test.go:12:",
		"a/b_test.go:15:",
	)
}
