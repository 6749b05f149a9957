package main

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

const errorLevel = zerolog.ErrorLevel

// newLogger makes islet's own log: JSON lines, or lines for people on a
// terminal. Verbosity 0 logs what changes, 1 adds why, 2 everything.
func newLogger(out io.Writer, format string, verbosity int) zerolog.Logger {
	level := zerolog.InfoLevel
	switch {
	case verbosity >= 2:
		level = zerolog.TraceLevel
	case verbosity == 1:
		level = zerolog.DebugLevel
	}
	if format == "human" || format == "auto" && isTerminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: !isTerminal(out) || os.Getenv("NO_COLOR") != ""}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

func isTerminal(out io.Writer) bool {
	if _, ok := out.(*pullBar); ok {
		return true
	}
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
