package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// verdict is the end of one test. The zero value is the test that never ended.
type verdict string

const (
	absent  verdict = ""
	passed  verdict = "pass"
	failed  verdict = "fail"
	skipped verdict = "skip"
)

// outcomes is what go test reported.
type outcomes struct {
	verdicts map[string]verdict // by full test name, parents included
	output   map[string]string  // by full test name; "" holds what belongs to no test
	exit     error              // of the go command, nil if it is content
	again    []string           // tests that passed at a second attempt
}

// runSuite runs the leaves in the scratch copy. An error means that there are
// no outcomes; failing tests are outcomes.
func runSuite(ctx context.Context, dir string, leaves []string, opts options, say func(string, ...any)) (outcomes, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-trimpath", "-mod=mod", "-timeout=5m"}
	if opts.run != nil {
		args = append(args, "-run="+runPattern(leaves))
	}
	inventory := overrideFresh
	if opts.sharedInventory {
		inventory = overrideShared
	}
	return runTests(ctx, dir, opts.override(inventory), append(args, "./"+adapterDir), say)
}

// runTests runs the go command, which has to be a go test -json of one package.
func runTests(ctx context.Context, dir string, env, args []string, say func(string, ...any)) (outcomes, error) {
	cmd := goCommand(ctx, dir, args...)
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return outcomes{}, err
	}
	if err := cmd.Start(); err != nil {
		return outcomes{}, fmt.Errorf("run the suite: %w", err)
	}
	started := time.Now()
	o, parseErr := parseEvents(stdout)
	o.exit = cmd.Wait()
	if parseErr != nil {
		return outcomes{}, fmt.Errorf("run the suite: %w: %s", errors.Join(o.exit, parseErr), stderr.Bytes())
	}
	var exit *exec.ExitError
	if o.exit != nil && !errors.As(o.exit, &exit) || ctx.Err() != nil {
		return outcomes{}, fmt.Errorf("run the suite: %w", errors.Join(o.exit, ctx.Err()))
	}
	if len(o.verdicts) == 0 {
		return outcomes{}, fmt.Errorf("run the suite in %s: no test ran: %s%s", dir, stderr.Bytes(), o.output[""])
	}
	say("ran in %s", took(started, cmd.ProcessState))
	return o, nil
}

// runPattern selects exactly the leaves.
func runPattern(leaves []string) string {
	patterns := make([]string, 0, len(leaves))
	for _, leaf := range leaves {
		elements := strings.Split(leaf, "/")
		for i, element := range elements {
			elements[i] = "^" + regexp.QuoteMeta(element) + "$"
		}
		patterns = append(patterns, strings.Join(elements, "/"))
	}
	return strings.Join(patterns, "|")
}

// parseEvents reads the stream that go test -json writes (go doc test2json),
// for a single package.
func parseEvents(r io.Reader) (outcomes, error) {
	o := outcomes{verdicts: map[string]verdict{}, output: map[string]string{}}
	output := map[string]*strings.Builder{}
	decoder := json.NewDecoder(bufio.NewReader(r))
	for {
		var event struct{ Action, Test, Output string }
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return outcomes{}, fmt.Errorf("read the events of go test: %w", err)
		}
		switch event.Action {
		case "run":
			if _, known := o.verdicts[event.Test]; !known {
				o.verdicts[event.Test] = absent // Until it ends.
			}
		case "pass", "fail", "skip":
			if event.Test != "" {
				o.verdicts[event.Test] = verdict(event.Action)
			}
		case "output", "build-output":
			if output[event.Test] == nil {
				output[event.Test] = new(strings.Builder)
			}
			output[event.Test].WriteString(event.Output)
		}
	}
	for test, text := range output {
		o.output[test] = text.String()
	}
	return o, nil
}

// strangers lists tests without subtests that were not asked for: the tables
// hold less than what ran.
func (o outcomes) strangers(leaves []string) []string {
	known := map[string]bool{}
	for _, leaf := range leaves {
		for name := leaf; name != ""; name = parent(name) {
			known[name] = true
		}
	}
	var found []string
	for name := range o.verdicts {
		if !known[name] {
			found = append(found, name)
		}
	}
	return found
}

func parent(test string) string {
	i := strings.LastIndexByte(test, '/')
	return test[:max(i, 0)]
}
