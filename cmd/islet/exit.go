package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/islet-run/islet/httpapi"
	"github.com/islet-run/islet/pods"
	"github.com/spf13/cobra"
)

// Exit codes of every command. Scripts rely on them.
const (
	exitGood        = 0   // all is as wanted; a pod that has succeeded is
	exitRefused     = 1   // something was refused, failed, or is not as wanted
	exitUsage       = 2   // the command line makes no sense
	exitUnreachable = 3   // islet or the engine does not answer
	exitSignal      = 128 // plus the number of the signal that ended the command
)

// exitError is an error that knows its exit code. Without err there is nothing
// to say: the command has printed it as its answer.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// notAsWanted ends a command that has printed what is not as wanted.
func notAsWanted() error { return &exitError{code: exitRefused} }

// usageError marks what is wrong with the command line.
func usageError(err error) error { return &exitError{code: exitUsage, err: err} }

// errUnreachable is matched by errors of commands that need a running islet
// and found none.
var errUnreachable = errors.New("islet cannot be reached")

// exitCode is the one place where errors become codes. An error that no
// command has returned comes from cobra, which has then understood the command
// line as little as it could be understood.
func exitCode(err error) int {
	var known *exitError
	switch {
	case err == nil:
		return exitGood
	case errors.As(err, &known):
		return known.code
	}
	return exitUsage
}

// body is what a command does.
type body func(cmd *cobra.Command, args []string) error

// plain makes a command of a body that leaves signals alone.
func plain(do body) body {
	return func(cmd *cobra.Command, args []string) error {
		return withCode(cmd.Context(), do(cmd, args))
	}
}

// interruptible makes a command of a body that heeds its context, which a
// signal ends.
func interruptible(do body) body {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := untilSignal(cmd.Context(), cmd.ErrOrStderr())
		defer stop()
		cmd.SetContext(ctx)
		return withCode(ctx, do(cmd, args))
	}
}

// withCode gives an error of a command its exit code.
func withCode(ctx context.Context, err error) error {
	var known *exitError
	var signal interrupted
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &signal):
		return &exitError{code: exitSignal + int(signal.signal)} // who sent it knows
	case errors.Is(err, errUnreachable), errors.Is(err, pods.ErrEngineAway):
		return &exitError{code: exitUnreachable, err: err}
	case errors.Is(err, httpapi.ErrSocketInUse):
		return &exitError{code: exitRefused, err: fmt.Errorf("%w; end it first, or use another --root-dir", err)}
	}
	return &exitError{code: exitRefused, err: err}
}

// report prints what there is to say of an error and returns the exit code.
func report(stderr io.Writer, command string, err error) int {
	code := exitCode(err)
	var known *exitError
	if err == nil || errors.As(err, &known) && known.err == nil {
		return code
	}
	for line := range strings.Lines(inOneLine(err)) {
		fmt.Fprintf(stderr, "islet: %s\n", strings.TrimSpace(line))
	}
	if code == exitUsage {
		fmt.Fprintf(stderr, "See '%s --help'.\n", command)
	}
	return code
}

// inOneLine puts what cobra spreads over several lines into one. Of several
// errors each keeps its line.
func inOneLine(err error) string {
	text, suggestions, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !found {
		return text
	}
	return text + " (did you mean " + strings.Join(strings.Fields(suggestions), " or ") + "?)"
}

// noArgs refuses arguments, and says how to name what was meant.
func noArgs(advice string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%s takes no arguments, yet got %q%s", cmd.CommandPath(), args[0], advice)
	}
}
