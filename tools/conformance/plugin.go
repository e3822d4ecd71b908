package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What the suites held when they were last read.
const readPluginVersion = "v1.37.2"

// pluginPackage is the in-tree scheduler plugin.
const pluginPackage = kubernetesPath + "/pkg/scheduler/framework/plugins/dynamicresources"

// pluginSuite is a set of upstream's tests about the scheduler plugin, which makes
// one line of the result.
type pluginSuite struct {
	name    string // of the line, and in -suite
	subject string // what of Dray's takes the place of upstream's
	mark    string // what is printed when the subject is made for the first time
	want    int    // how many tests count, at readPluginVersion
	// depth is how many elements the name of a test has that counts as one with all
	// beneath it; 0 means that those count which have none beneath them.
	depth      int
	exceptions []exception
	mayExcept  int // how many exceptions there may be

	plan func(root string, dra, kubernetes module) (scratch, error)
	// pkg has the tests, run selects among them. A suite without pkg, the workloads,
	// runs by itself.
	pkg     suitePackage
	run     string
	servers bool // the tests start servers, and mostly wait: side by side with others
	// timed are tests that give something less time than it takes on a busy machine,
	// without our plugin having a part in it. Those that fail run once more, alone.
	timed []string
}

// suitePackage is a package with tests, in the copy and as upstream has it.
type suitePackage struct{ copied, upstream string }

func (p suitePackage) of(opts options) string {
	if opts.baseline {
		return p.upstream
	}
	return p.copied
}

// exception is a test that cannot pass with what is Dray's in place, with all of
// its subtests. Each must fail: one that passes has lost its reason.
type exception struct {
	test   string
	reason string
	says   string // what the failure prints: it must be that failure
}

func except(reason, says string, tests ...string) []exception {
	exceptions := make([]exception, 0, len(tests))
	for _, test := range tests {
		exceptions = append(exceptions, exception{test, reason, says})
	}
	return exceptions
}

// pluginRun is what all suites of a run share.
type pluginRun struct {
	root            string
	dra, kubernetes module
	options         options
	servers         []string // environment of tests that start servers, once there is one
	say             func(string, ...any)
}

func pluginConformance(ctx context.Context, root string, suites []pluginSuite, opts options, out io.Writer, say func(string, ...any)) error {
	say("finding %s and %s", upstreamPath, kubernetesPath)
	r := pluginRun{root: root, options: opts, say: say}
	var err error
	if r.dra, err = findModule(ctx, filepath.Join(root, allocatorDir), upstreamPath); err != nil {
		return err
	}
	if r.kubernetes, err = findModule(ctx, filepath.Join(root, kubernetesUser), kubernetesPath); err != nil {
		return err
	}
	if err := checkPluginVersions(r.dra, r.kubernetes); err != nil {
		return err
	}
	outcomes, err := r.suites(ctx, suites)
	if err != nil {
		return err
	}
	complete := true
	for i, suite := range suites {
		report := pluginReport{pluginSuite: suite, kubernetes: r.kubernetes, options: opts, outcomes: outcomes[i]}
		report.print(out)
		complete = complete && len(report.faults()) == 0
	}
	if !complete {
		return errIncomplete
	}
	return nil
}

// suites runs all suites: first what needs the processors, one after the other,
// then what mostly waits, all at once.
func (r pluginRun) suites(ctx context.Context, suites []pluginSuite) ([]outcomes, error) {
	results, errs := make([]outcomes, len(suites)), make([]error, len(suites))
	binaries := make([]testBinary, len(suites))
	for i, suite := range suites {
		var err error
		if binaries[i], err = r.compile(ctx, suite); err != nil {
			return nil, fmt.Errorf("%s: %w", suite.name, err)
		}
		if suite.servers {
			continue
		}
		if results[i], err = r.runSuite(ctx, suite, binaries[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", suite.name, err)
		}
	}
	var group sync.WaitGroup
	for i, suite := range suites {
		if suite.servers {
			if r.servers == nil {
				var err error
				if r.servers, err = serverEnvironment(ctx, binaries[i].dir, r.kubernetes, r.say); err != nil {
					return nil, err
				}
			}
			group.Go(func() { results[i], errs[i] = r.runSuite(ctx, suite, binaries[i]) })
		}
	}
	group.Wait()
	for i, suite := range suites {
		if errs[i] == nil {
			errs[i] = r.again(ctx, suite, binaries[i], &results[i])
		}
		if errs[i] != nil {
			return nil, fmt.Errorf("%s: %w", suite.name, errs[i])
		}
	}
	return results, nil
}

// again runs the timed tests that failed once more.
func (r pluginRun) again(ctx context.Context, suite pluginSuite, binary testBinary, o *outcomes) error {
	var failures []string
	for _, test := range suite.timed {
		if o.verdicts[test] == failed {
			failures = append(failures, test)
		}
	}
	if len(failures) == 0 {
		return nil
	}
	say := r.sayFor(suite)
	say("once more, alone: %s", strings.Join(failures, ", "))
	second, err := binary.test(ctx, runPattern(failures), append(r.options.override(overrideShared), r.servers...), say)
	if err != nil {
		return err
	}
	o.retried(failures, second)
	return nil
}

func (r pluginRun) runSuite(ctx context.Context, suite pluginSuite, binary testBinary) (outcomes, error) {
	if suite.pkg == (suitePackage{}) {
		return runWorkloads(ctx, binary.dir, r.kubernetes, r.options, r.sayFor(suite))
	}
	run := suite.run
	if r.options.run != nil {
		run = r.options.run.String()
	}
	return binary.test(ctx, run, append(r.options.override(overrideShared), r.servers...), r.sayFor(suite))
}

// sayFor says things about one suite.
func (r pluginRun) sayFor(suite pluginSuite) func(string, ...any) {
	return func(format string, a ...any) { r.say(suite.name+": "+format, a...) }
}

// checkPluginVersions fails for other versions than those whose tests were read,
// and for two that are not of one release.
func checkPluginVersions(dra, kubernetes module) error {
	if strings.TrimPrefix(dra.Version, "v0.") != strings.TrimPrefix(kubernetes.Version, "v1.") {
		return fmt.Errorf("%s %s and %s %s are of different releases", dra.Path, dra.Version, kubernetes.Path, kubernetes.Version)
	}
	if kubernetes.Version != readPluginVersion {
		return fmt.Errorf("%s %s: the plugin's tests were last read at %s: read its changes, then correct the constants in plugin.go and pluginsuites.go", kubernetes.Path, kubernetes.Version, readPluginVersion)
	}
	return nil
}

// findSuites returns the suites of the given names, in that order.
func findSuites(names []string) ([]pluginSuite, error) {
	var found []pluginSuite
	for _, name := range names {
		i := slices.IndexFunc(pluginSuites, func(s pluginSuite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-suite %q: there are %s", name, strings.Join(suiteNames(), ", "))
		}
		found = append(found, pluginSuites[i])
	}
	return found, nil
}

func suiteNames() []string {
	names := []string{allocatorSuite}
	for _, suite := range pluginSuites {
		names = append(names, suite.name)
	}
	return names
}
