package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for what must come.
const patience = 20 * time.Second

var update = flag.Bool("update", false, "write what the commands print into the scripts that compare it")

// TestMain makes the test binary stand in for the programs that scripts call:
// islet, fakeislet, which answers in its place, stubborn, which outlives a
// signal, and islet-counted, which is islet and tells what it has in use.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"islet":         main,
		"fakeislet":     fakeIslet,
		"stubborn":      stubborn,
		"islet-counted": countedIslet,
	})
}

// TestScripts runs the scripts of testdata/scripts. Beside the commands of
// testscript they have these; the last two poll until a deadline, so that no
// script needs to sleep:
//
//	exits CODE COMMAND [ARG...]       the command must end with that exit code
//	waitfor REGEXP COMMAND [ARG...]   until the output of the command matches
//	waitfile FILE [REGEXP]            until the file is there, and matches
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/scripts",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DOCKER_HOST", "")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"waitfor":  waitFor,
			"waitfile": waitFile,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: waitfor REGEXP COMMAND [ARG...]")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	poll(ts, "output of "+args[1]+" to match "+args[0], func() bool {
		_ = ts.Exec(args[1], args[2:]...) // whatever its exit code: the output counts
		return want.MatchString(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	})
}

func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfile FILE [REGEXP]")
	}
	want := regexp.MustCompile("")
	if len(args) == 2 {
		var err error
		want, err = regexp.Compile("(?m)" + args[1])
		ts.Check(err)
	}
	path := ts.MkAbs(args[0])
	poll(ts, args[0], func() bool {
		text, err := os.ReadFile(path)
		return err == nil && want.Match(text)
	})
}

func poll(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
