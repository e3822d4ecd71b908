package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// workloadsDir, in k8s.io/kubernetes, and the directories below it have tests
	// that run workloads through a real scheduler and API server.
	workloadsDir  = "test/integration/scheduler_perf/dra"
	workloadsTest = "TestSchedulerPerf"
	// filteredMark is the reason for which the long workloads are skipped.
	filteredMark = "disabled by label filter"
	etcdPackage  = "go.etcd.io/etcd/server/v3"
)

// runWorkloads runs the short workloads, package by package: their names repeat,
// and each package starts servers of its own.
func runWorkloads(ctx context.Context, dir string, kubernetes module, opts options, say func(string, ...any)) (outcomes, error) {
	packages, err := workloadPackages(kubernetes.Dir)
	if err != nil {
		return outcomes{}, err
	}
	env, err := serverEnvironment(ctx, dir, kubernetes, say)
	if err != nil {
		return outcomes{}, err
	}
	all := outcomes{verdicts: map[string]verdict{}, output: map[string]string{}}
	for _, name := range packages {
		say("building and running the short workloads of %s", name)
		args := []string{"test", "-json", "-vet=off", "-count=1", "-trimpath", "-mod=mod", "-ldflags=-s -w", "-timeout=20m", "-short", "-run=^" + workloadsTest + "$"}
		o, err := runTests(ctx, dir, append(opts.override(overrideShared), env...), append(args, path.Join(kubernetes.Path, name)), say)
		if err != nil {
			return outcomes{}, err
		}
		if o.exit == nil && o.marked(overrideMark) == opts.baseline {
			return outcomes{}, fmt.Errorf("%s: Dray's allocator was made: %t", name, !opts.baseline)
		}
		o.dropFiltered()
		all.add(strings.TrimPrefix(name, path.Dir(workloadsDir)+"/"), o)
	}
	return all, nil
}

// workloadPackages lists the directories with tests, sorted, relative to the module.
func workloadPackages(moduleDir string) ([]string, error) {
	var packages []string
	err := filepath.WalkDir(filepath.Join(moduleDir, filepath.FromSlash(workloadsDir)), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		relative, err := filepath.Rel(moduleDir, filepath.Dir(name))
		packages = append(packages, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the workloads: %w", err)
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// serverEnvironment builds etcd at the version that kubernetes pins and puts it
// first in the PATH. The other two variables tell the API server's test package,
// which looks for its own directory and has only a trimmed path, where that begins.
func serverEnvironment(ctx context.Context, dir string, kubernetes module, say func(string, ...any)) ([]string, error) {
	cache, found := strings.CutSuffix(filepath.ToSlash(kubernetes.Dir), "/"+kubernetes.Path+"@"+kubernetes.Version)
	if !found {
		return nil, fmt.Errorf("%s: does not end in the module's name and version", kubernetes.Dir)
	}
	bin := filepath.Join(filepath.Dir(dir), "bin")
	say("building %s", etcdPackage)
	build := goCommand(ctx, dir, "build", "-trimpath", "-mod=mod", "-ldflags=-s -w", "-o", filepath.Join(bin, "etcd"), etcdPackage)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w: %s", etcdPackage, err, text)
	}
	return []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"TEST_SRCDIR=" + filepath.FromSlash(cache), "TEST_WORKSPACE=.",
	}, nil
}

// dropFiltered forgets the workloads that the label filter skipped, and the tests
// that have no others.
func (o outcomes) dropFiltered() {
	kept := map[string]bool{} // and all above
	for name, v := range o.verdicts {
		filtered := v == skipped && strings.Contains(o.output[name], filteredMark)
		for up := name; up != "" && !filtered && !o.hasBelow(name); up = parent(up) {
			kept[up] = true
		}
	}
	for name := range o.verdicts {
		if !kept[name] && o.verdicts[name] != failed {
			delete(o.verdicts, name)
		}
	}
}

func (o outcomes) hasBelow(test string) bool {
	for name := range o.verdicts {
		if strings.HasPrefix(name, test+"/") {
			return true
		}
	}
	return false
}

// add adds what another package's tests came to, under its name.
func (o *outcomes) add(name string, from outcomes) {
	for test, v := range from.verdicts {
		o.verdicts[path.Join(name, test)] = v
	}
	for test, text := range from.output {
		if test == "" {
			o.output[""] += text
		} else {
			o.output[path.Join(name, test)] = text
		}
	}
	o.exit = errors.Join(o.exit, from.exit)
}
