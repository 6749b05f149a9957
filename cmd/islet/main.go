package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code.
func execute(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(context.Background())
	return report(stderr, command.CommandPath(), err)
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return i.signal.String() + " received" }

// sameSignal is how long after a signal another is taken for the same one: a
// terminal, timeout(1) and a shell each may pass it on.
const sameSignal = time.Second

// untilSignal returns a context that SIGINT or SIGTERM ends. A second one, a
// while later, ends the program at once, whatever it is doing: what must
// survive is on disk and in the engine. Only commands that heed their context
// may use it; the others keep the usual effect of these signals.
func untilSignal(parent context.Context, stderr io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				number := s.(syscall.Signal) // os/signal delivers nothing else on unix
				switch {
				case first.IsZero():
					first = time.Now()
				case time.Since(first) < sameSignal:
					continue
				default:
					fmt.Fprintf(stderr, "islet: %s a second time: ending at once\n", number)
					os.Exit(exitSignal + int(number))
				}
				cancel(interrupted{number})
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
