package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// pluginPackage is the in-tree scheduler plugin. Its tests are run where they
// are, in the module cache: nothing of k8s.io/kubernetes is copied.
const pluginPackage = kubernetesPath + "/pkg/scheduler/framework/plugins/dynamicresources"

// exception is a test of the plugin's package that cannot pass with another
// allocator inside, with all of its subtests.
type exception struct {
	test   string
	reason string
}

// pluginExceptions has at most maxPluginExceptions entries. Each must fail: one
// that passes has lost its reason.
var pluginExceptions = []exception{
	{"TestAllocatorSelection", "asserts by the name of its type which of upstream's own allocators is chosen"},
}

const maxPluginExceptions = 3

// What the package held when the exceptions were last read against it.
const (
	readPluginVersion = "v1.37.2"
	wantPluginTests   = 713
)

func pluginConformance(ctx context.Context, root string, opts options, out io.Writer, say func(string, ...any)) error {
	say("finding %s and %s", upstreamPath, kubernetesPath)
	dra, err := findModule(ctx, filepath.Join(root, allocatorDir), upstreamPath)
	if err != nil {
		return err
	}
	kubernetes, err := findModule(ctx, filepath.Join(root, kubernetesUser), kubernetesPath)
	if err != nil {
		return err
	}
	if err := checkPluginVersions(dra, kubernetes); err != nil {
		return err
	}
	scratch, err := planPlugin(root, dra, kubernetes)
	if err != nil {
		return err
	}
	if err := scratch.prepare(opts.fresh, say); err != nil {
		return err
	}
	r := pluginReport{name: "allocator-in-tree", kubernetes: kubernetes, options: opts, exceptions: pluginExceptions, want: wantPluginTests}
	if opts.workloads {
		r.name, r.exceptions, r.want = "allocator-in-tree-workloads", nil, wantWorkloads
		r.outcomes, err = runWorkloads(ctx, scratch.dir, kubernetes, opts, say)
	} else {
		say("building and running the tests of %s", pluginPackage)
		r.outcomes, err = runPlugin(ctx, scratch.dir, opts, say)
	}
	if err != nil {
		return err
	}
	r.print(out)
	if len(r.faults()) > 0 {
		return errIncomplete
	}
	return nil
}

// checkPluginVersions fails for other versions than those whose tests were read,
// and for two that are not of one release.
func checkPluginVersions(dra, kubernetes module) error {
	if strings.TrimPrefix(dra.Version, "v0.") != strings.TrimPrefix(kubernetes.Version, "v1.") {
		return fmt.Errorf("%s %s and %s %s are of different releases", dra.Path, dra.Version, kubernetes.Path, kubernetes.Version)
	}
	if kubernetes.Version != readPluginVersion {
		return fmt.Errorf("%s %s: the plugin's tests were last read at %s: read its changes, then correct the constants in plugin.go", kubernetes.Path, kubernetes.Version, readPluginVersion)
	}
	return nil
}

// runPlugin runs the package's tests from within the scratch copy, which is the
// main module and hence the only version of itself.
func runPlugin(ctx context.Context, dir string, opts options, say func(string, ...any)) (outcomes, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-trimpath", "-mod=mod", "-timeout=10m"}
	if opts.run != nil {
		args = append(args, "-run="+opts.run.String())
	}
	return runTests(ctx, dir, opts.override(overrideShared), append(args, pluginPackage), say)
}
