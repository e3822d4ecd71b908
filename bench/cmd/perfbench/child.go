package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"

	"github.com/dray-dev/dray/bench/throughput"
	"github.com/dray-dev/dray/scheduler/plugin"
)

// child is a sample: it runs the workload that dir was prepared for. Log and errors go
// to stderr and stdout, results into a file. scheduler_perf is made for test binaries
// and reads the process's flags, which are set here.
func child(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter the directory of the sample: %w", err)
	}
	os.Args = []string{os.Args[0], "-test.bench=.", "-test.benchtime=1x", "-v=0",
		"-data-items-dir=" + throughput.ResultsDir, "-perf-scheduling-label-filter=" + throughput.Label}
	testing.Init()
	if err := perf.InitTests(); err != nil {
		return fmt.Errorf("set up scheduler_perf: %w", err)
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("arguments %q are left", flag.Args())
	}
	factory := &plugin.Factory{}
	registry := runtime.Registry{plugin.Name: factory.New}
	perf.PluginNames = append(perf.PluginNames, plugin.Name)
	// Without a list of processor counts, which only the go command's main sets, each
	// benchmark runs exactly once. What fails is printed to stdout.
	all := func(string, string) (bool, error) { return true, nil }
	failed, ran := false, false
	testing.RunBenchmarks(all, []testing.InternalBenchmark{{Name: "BenchmarkPerfScheduling", F: func(b *testing.B) {
		if ran {
			return
		}
		ran = true
		defer func() { failed = b.Failed() }()
		perf.RunBenchmarkPerfScheduling(b, throughput.WorkloadFile, "dra", registry)
	}}})
	switch {
	case !ran:
		return errors.New("the workload was not run")
	case failed:
		return errors.New("the workload failed; what scheduler_perf says about it is above")
	}
	return nil
}
