// Command counttests runs go test and says last how many tests passed and failed:
//
//	counttests -name hwsim -- -vet=off ./hwsim/... ./e2e/machines
//
//	hwsim: 412 passed, 0 failed
//
// Subtests count as their parents do; with -whole, tests alone count, where subtests are
// their parts, and a test that was skipped, or a part of it, has not passed: it is printed
// with what it said. What failed is printed with its output, and the exit code is 1 then. A
// package that does not compile counts as one that failed, and to run no test at all is an
// error.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dray-dev/dray/tools/stream"
)

func main() { os.Exit(stream.Code("counttests", run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("counttests", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("name", "", "what the last line begins with")
	whole := flags.Bool("whole", false, "count tests, and not their subtests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" || flags.NArg() == 0 {
		return errors.New("give -name, then what go test is to be called with")
	}
	var c counts
	readErr, runErr := stream.Command("go", append([]string{"test", "-json"}, flags.Args()...), stderr, func(output io.Reader) (err error) {
		c, err = count(output, stdout, *whole)
		return err
	})
	if readErr != nil {
		return readErr
	}
	if runErr != nil && c.failed == 0 {
		return fmt.Errorf("go test: %w", runErr)
	}
	fmt.Fprintf(stdout, "%s: %d passed, %d failed\n", *name, c.passed, c.failed)
	switch {
	case c.failed > 0:
		return fmt.Errorf("%d tests or packages failed", c.failed)
	case c.passed == 0:
		return errors.New("there was no test")
	}
	return nil
}

// counts of tests.
type counts struct{ passed, failed int }

// event is what go test says with -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// count counts the tests of go test's events, with their subtests unless whole is true. It
// prints a line for each package, and what the tests said that failed.
func count(events io.Reader, w io.Writer, whole bool) (counts, error) {
	var c counts
	said := map[[2]string]string{}  // by package and test
	skipped := map[[2]string]bool{} // those of which a part was, by package and test
	failedIn := map[string]int{}
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return c, fmt.Errorf("read the go command's test events: %w", err)
		}
		key := [2]string{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			said[key] += e.Output
			continue
		case "pass", "fail", "skip":
		case "build-fail":
			fmt.Fprint(w, said[key])
			delete(said, key) // the next one's has the same key: these events name no package
			continue
		default:
			continue
		}
		// A test fails if a part of it does. For go test it passes if a part is skipped.
		test, _, part := strings.Cut(e.Test, "/")
		part = part && whole
		switch {
		case e.Test == "" && e.Action == "fail" && failedIn[e.Package] == 0: // it did not compile, or crashed
			c.failed++
			fmt.Fprint(w, said[key])
			fmt.Fprintf(w, "FAIL %s\n", e.Package)
		case e.Test == "":
			fmt.Fprintf(w, "%-4s %s (%.1f s)\n", e.Action, e.Package, e.Elapsed)
		case e.Action == "skip" && whole:
			skipped[[2]string{e.Package, test}] = true
			fmt.Fprint(w, said[key])
		case e.Action == "pass" && !part && !skipped[key]:
			c.passed++
		case e.Action == "fail" && part:
			fmt.Fprint(w, said[key])
		case e.Action == "fail":
			c.failed++
			failedIn[e.Package]++
			fmt.Fprint(w, said[key])
		}
		delete(said, key)
	}
}
