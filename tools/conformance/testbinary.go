package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// testBinary is a compiled package of tests, to be run within a scratch copy.
type testBinary struct {
	dir  string // the copy
	file string
}

// compile writes the suite's scratch copy and compiles its tests from within it,
// so that the copy is the main module. Without symbols, which nobody looks at, a
// binary of all of Kubernetes links in a third of the time.
func (r pluginRun) compile(ctx context.Context, suite pluginSuite) (testBinary, error) {
	scratch, err := suite.plan(r.root, r.dra, r.kubernetes)
	if err != nil {
		return testBinary{}, err
	}
	if err := scratch.prepare(r.options.fresh, r.say); err != nil {
		return testBinary{}, err
	}
	b := testBinary{dir: scratch.dir}
	if suite.pkg == (suitePackage{}) {
		return b, nil
	}
	pkg := suite.pkg.of(r.options)
	bin := filepath.Join(filepath.Dir(scratch.dir), "bin", filepath.Base(scratch.dir))
	if r.options.baseline {
		bin += "-baseline"
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return testBinary{}, err
	}
	b.file = filepath.Join(bin, path.Base(pkg)+".test")
	say := r.sayFor(suite)
	say("compiling %s", pkg)
	started := time.Now()
	build := goCommand(ctx, scratch.dir, "test", "-c", "-vet=off", "-trimpath", "-mod=mod", "-ldflags=-s -w", "-o", b.file, pkg)
	if text, err := build.CombinedOutput(); err != nil {
		return testBinary{}, fmt.Errorf("compile %s: %w: %s", pkg, err, text)
	}
	say("compiled in %s", took(started, build.ProcessState))
	return b, nil
}

// test runs the tests that match.
func (b testBinary) test(ctx context.Context, run string, env []string, say func(string, ...any)) (outcomes, error) {
	args := []string{"tool", "test2json", b.file, "-test.v=test2json", "-test.paniconexit0", "-test.timeout=30m", "-test.parallel=16"}
	if run != "" {
		args = append(args, "-test.run="+run)
	}
	return runTests(ctx, b.dir, env, args, say)
}

// took is how long a command took, and how long a processor was busy with it and
// what it started: tests that wait, and machines that do other things as well, show.
func took(started time.Time, ended *os.ProcessState) string {
	busy := ended.UserTime() + ended.SystemTime()
	return fmt.Sprintf("%.1f minutes, %.1f of a processor", time.Since(started).Minutes(), busy.Minutes())
}
