package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// allocatorSuite is the name of the suite that needs nothing of Kubernetes'
// scheduler.
const allocatorSuite = "allocator"

type options struct {
	suites          []pluginSuite // none: the allocator's suite
	baseline        bool
	fresh           bool
	sharedInventory bool
	verbose         bool
	run             *regexp.Regexp // nil: all cases
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := conformance(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// errIncomplete ends a run that went through, but in which not every case passed.
var errIncomplete = errors.New("not every case passed")

func conformance(ctx context.Context, args []string, out, progress io.Writer) error {
	opts, err := parseFlags(args, progress)
	if err != nil {
		return err
	}
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	say := func(format string, a ...any) { fmt.Fprintf(progress, format+"\n", a...) }
	if len(opts.suites) > 0 {
		return pluginConformance(ctx, root, opts.suites, opts, out, say)
	}
	return allocatorConformance(ctx, root, opts, out, say)
}

func allocatorConformance(ctx context.Context, root string, opts options, out io.Writer, say func(string, ...any)) error {
	say("finding %s", upstreamPath)
	module, err := findModule(ctx, filepath.Join(root, allocatorDir), upstreamPath)
	if err != nil {
		return err
	}
	suite, err := readSuite(module.Dir)
	if err != nil {
		return err
	}
	if err := suite.checkSize(module.Version); err != nil {
		return err
	}
	var changes []change
	if !opts.baseline {
		changes = deviating
	}
	titles, err := deviationTitles(filepath.Join(root, deviationsFile), changes)
	if err != nil {
		return err
	}
	scratch, err := plan(root, module, suite, changes, opts.baseline)
	if err != nil {
		return err
	}
	if err := scratch.prepare(opts.fresh, say); err != nil {
		return err
	}
	leaves := suite.leaves(opts.run)
	if len(leaves) == 0 {
		return fmt.Errorf("-run %q: no case has such a name", opts.run)
	}
	say("building and running %d cases", len(leaves))
	outcomes, err := runSuite(ctx, scratch.dir, leaves, opts, say)
	if err != nil {
		return err
	}
	r := report{module: module, suite: suite, changes: changes, titles: titles, outcomes: outcomes, leaves: leaves, options: opts}
	r.print(out)
	if !r.complete() {
		return errIncomplete
	}
	return nil
}

func parseFlags(args []string, usage io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(usage)
	suite := flags.String("suite", allocatorSuite, "which tests to run: "+allocatorSuite+", or a comma-separated `list` of "+strings.Join(suiteNames()[1:], ", "))
	flags.BoolVar(&opts.baseline, "baseline", false, "run upstream's own code on the unchanged expectations, as a control")
	flags.BoolVar(&opts.fresh, "fresh", false, "write the scratch copy anew even if its inputs have not changed")
	flags.BoolVar(&opts.sharedInventory, "shared-inventory", false, "put all cases through one inventory")
	flags.BoolVar(&opts.verbose, "v", false, "print the output of every case, not only of those that fail")
	run := flags.String("run", "", "run only the cases whose name matches this regular `expression`")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("argument %q: this command takes flags only", flags.Arg(0))
	}
	if opts.baseline && opts.sharedInventory {
		return options{}, errors.New("-shared-inventory: upstream's allocator, which -baseline runs, has no inventory")
	}
	if *suite != allocatorSuite {
		var err error
		if opts.suites, err = findSuites(strings.Split(*suite, ",")); err != nil {
			return options{}, err
		}
	}
	if len(opts.suites) > 0 && opts.sharedInventory {
		return options{}, fmt.Errorf("-shared-inventory: goes with -suite %s; in the others all tests share one inventory anyway", allocatorSuite)
	}
	if slices.ContainsFunc(opts.suites, func(s pluginSuite) bool { return s.pkg == (suitePackage{}) }) && *run != "" {
		return options{}, errors.New("-run: the workloads are selected by their labels")
	}
	if *run != "" {
		expression, err := regexp.Compile(*run)
		if err != nil {
			return options{}, fmt.Errorf("-run: %w", err)
		}
		opts.run = expression
	}
	return opts, nil
}
