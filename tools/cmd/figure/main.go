// Command figure runs another command and prints one line of its output, the
// figure, last:
//
//	figure -prefix 'difftest: ' -- go test ./allocator/difftest -run TestDifferential -v
//
// Everything else passes through as it comes. The exit code is the command's
// own. A command that succeeds without its figure has not done what it was run
// for; figure then fails.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/dray-dev/dray/tools/stream"
)

func main() { os.Exit(stream.Code("figure", run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("figure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	prefix := flags.String("prefix", "", "how the line begins that is printed last")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *prefix == "" || flags.NArg() == 0 {
		return errors.New("give -prefix, then the command to run")
	}
	line := ""
	readErr, err := stream.Command(flags.Arg(0), flags.Args()[1:], stderr, func(output io.Reader) (err error) {
		line, err = passOn(output, stdout, *prefix)
		return err
	})
	if line != "" {
		fmt.Fprintln(stdout, line)
	}
	if err == nil {
		err = readErr
	}
	if err == nil && line == "" {
		err = fmt.Errorf("%s succeeded without a line that begins with %q", strings.Join(flags.Args(), " "), *prefix)
	}
	return err
}

// logPosition is what the testing package puts before a line of t.Log.
var logPosition = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// passOn copies lines and returns the last one that begins with prefix, which it
// holds back. An earlier one is copied when a later one takes its place.
func passOn(from io.Reader, to io.Writer, prefix string) (figure string, err error) {
	for reader := bufio.NewReader(from); ; {
		line, err := reader.ReadString('\n')
		text := logPosition.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if strings.HasPrefix(text, prefix) {
			if figure != "" {
				fmt.Fprintln(to, figure)
			}
			figure = text
		} else if _, err := io.WriteString(to, line); err != nil {
			return figure, err
		}
		if errors.Is(err, io.EOF) {
			return figure, nil
		} else if err != nil {
			return figure, err
		}
	}
}
