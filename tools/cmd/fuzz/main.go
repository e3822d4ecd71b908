// Command fuzz runs every native fuzz target of the packages that match its
// arguments, one after the other, because the go command fuzzes one at a time:
//
//	fuzz -fuzztime 10s ./allocator/... ./tools/...
//
// It stops at the first target that fails. The go command then has written the
// failing input to the package's testdata/fuzz, where it is a test case from
// then on. Finding no target at all is an error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "fuzz: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	each := flags.String("fuzztime", "10s", "how long each target runs, or how often (100x), as go test takes it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("give the packages to look for targets in")
	}
	targets, err := list(flags.Args())
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no fuzz target in %s", strings.Join(flags.Args(), " "))
	}
	for _, target := range targets {
		fmt.Fprintf(out, "--- %s in %s\n", target.name, target.pkg)
		command := exec.Command("go", "test", "-vet=off", "-run=^$", "-fuzz=^"+target.name+"$",
			"-fuzztime="+*each, "-fuzzminimizetime="+minimize, target.pkg)
		var said bytes.Buffer
		command.Stdout, command.Stderr = io.MultiWriter(out, &said), os.Stderr
		if err := command.Run(); err != nil && !outOfTime(said.String()) {
			return fmt.Errorf("%s in %s: %w", target.name, target.pkg, err)
		}
	}
	fmt.Fprintf(out, "fuzz: %d targets, %s each, 0 failures\n", len(targets), *each)
	return nil
}

var (
	timeUp  = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \(.*\)\n    context deadline exceeded\n`)
	failing = regexp.MustCompile(`(?m)^\s+(Failing input written|failure while|fuzzing process)`)
)

// outOfTime says whether the only complaint of the go command is that fuzzing
// ended when its time was up. It makes that a failure if a worker is in the middle
// of an input at that moment; then no
// input has failed, and none is written.
func outOfTime(output string) bool {
	return timeUp.MatchString(output) && !failing.MatchString(output)
}

// minimize bounds the attempts to make one input smaller. By default the go
// command spends up to a minute on every input that reaches new code, so that ten
// seconds of fuzzing would try next to nothing where inputs are long.
const minimize = "10x"

// target is one fuzz function.
type target struct{ pkg, name string }

// list asks the test binaries for their fuzz functions, in the order of the
// packages.
func list(patterns []string) ([]target, error) {
	command := exec.Command("go", append([]string{"test", "-vet=off", "-json", "-list=^Fuzz"}, patterns...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		// Why a package does not compile stands among the events.
		return nil, fmt.Errorf("list the fuzz targets: %w\n%s", err, out)
	}
	return read(bytes.NewReader(out))
}

var fuzzName = regexp.MustCompile(`^Fuzz\w*$`)

// read picks the names out of the go command's test events.
func read(events io.Reader) ([]target, error) {
	var targets []target
	for decoder := json.NewDecoder(events); ; {
		var event struct{ Action, Package, Output string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the go command's test events: %w", err)
		}
		if name := strings.TrimSpace(event.Output); event.Action == "output" && fuzzName.MatchString(name) {
			targets = append(targets, target{event.Package, name})
		}
	}
}
