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
	r.say("%s: compiling %s", suite.name, pkg)
	started := time.Now()
	build := goCommand(ctx, scratch.dir, "test", "-c", "-vet=off", "-trimpath", "-mod=mod", "-ldflags=-s -w", "-o", b.file, pkg)
	if text, err := build.CombinedOutput(); err != nil {
		return testBinary{}, fmt.Errorf("compile %s: %w: %s", pkg, err, text)
	}
	r.say("%s: compiled for %s", suite.name, minutes(started))
	return b, nil
}

// test runs the tests that match.
func (b testBinary) test(ctx context.Context, run string, env []string) (outcomes, error) {
	args := []string{"tool", "test2json", b.file, "-test.v=test2json", "-test.paniconexit0", "-test.timeout=30m"}
	if run != "" {
		args = append(args, "-test.run="+run)
	}
	return runTests(ctx, b.dir, env, args, func(string, ...any) {})
}
