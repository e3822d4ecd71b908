// Package output is what the commands that measure share: their flags, where results
// go, in which form, and how an earlier run is read instead of measuring. A command is a
// [Tool]; what it measures is its own.
package output

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// UsageError is about the flags.
type UsageError struct{ error }

// Usagef is a UsageError with a formatted text.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Settings are the flags about results.
type Settings struct {
	Format string // table, json or go
	Out    string // file that is written as results come
	From   string // file that is read instead of measuring
	Docs   string // Markdown file to rewrite
}

// AddFlags adds them to a command's.
func (s *Settings) AddFlags(flags *flag.FlagSet) {
	flags.StringVar(&s.Format, "o", "table", "what goes to stdout: table, json, or go for the Go benchmark format")
	flags.StringVar(&s.Out, "out", "", "write the results in the Go benchmark format to this `file` as they come")
	flags.StringVar(&s.From, "from", "", "read this `file` of results instead of measuring")
	flags.StringVar(&s.Docs, "docs", "", "rewrite the generated part of this Markdown `file`")
}

// Parse parses arguments, of which none may be left. The error is a UsageError, or
// flag.ErrHelp.
func (s *Settings) Parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return UsageError{err}
	case flags.NArg() > 0:
		return Usagef("there are no arguments, but got %q", flags.Args())
	case s.Format != "table" && s.Format != "json" && s.Format != "go":
		return Usagef("-o is table, json or go, not %q", s.Format)
	}
	return nil
}

// Results measures, or reads what was measured before, in the Go benchmark format.
func (s *Settings) Results(measure func(out io.Writer) error) ([]byte, error) {
	if s.From != "" {
		return os.ReadFile(s.From)
	}
	var lines bytes.Buffer
	if s.Out == "" {
		err := measure(&lines)
		return lines.Bytes(), err
	}
	if err := os.MkdirAll(filepath.Dir(s.Out), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the results: %w", err)
	}
	file, err := os.Create(s.Out)
	if err != nil {
		return nil, fmt.Errorf("create the file of results: %w", err)
	}
	err = measure(io.MultiWriter(file, &lines))
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write the results: %w", closeErr)
	}
	return lines.Bytes(), err
}

// Code is the exit code for what a command ended with, which it reports: 0, 2 for
// wrong usage, else 1.
func Code(command string, err error, stderr io.Writer) int {
	var usage UsageError
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", command, err)
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
