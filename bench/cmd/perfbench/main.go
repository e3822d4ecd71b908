// Command perfbench measures pods a second with the scheduler plugin and with
// Kubernetes' own, against a real API server, in the workloads of scheduler_perf:
//
//	perfbench                              # everything, for hours; tables on stdout
//	perfbench -run '^burst/' -n 3          # a workload, three samples of each plugin
//	perfbench -quick                       # to see that it works
//	perfbench -from results.txt            # the tables of an earlier run
//	perfbench -docs docs/benchmarks.md     # rewrites the generated part of a document
//
// It runs in the root of the repository, after etcd has been built into build/etcd (make
// bench-throughput does both). Progress goes to stderr. The exit code is 0 if everything
// was measured, 2 for wrong usage, else 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/throughput"
)

// Relative to the root of the repository.
const (
	schedulerConfig = "deploy/scheduler/config.yaml"
	etcdDir         = "build/etcd"
)

func main() {
	if dir, ok := throughput.ChildDir(); ok {
		os.Exit(output.Code("perfbench", child(dir), os.Stderr))
	}
	os.Exit(tool().Main())
}

func tool() *output.Tool {
	return &output.Tool{
		Name: "perfbench", Example: "burst/nodes=500", Each: "plugin",
		Limit:   10 * time.Minute,
		Names:   []string{throughput.Dray, throughput.InTree},
		Measure: measure,
		Profile: func(context.Context, io.Writer, *output.Selection) error {
			return errors.New("-profile: a sample is a cluster of its own processes; schedbench profiles the plugin")
		},
		Table: (*report.Results).ThroughputTable, Rewrite: (*report.Results).RewriteThroughput,
	}
}

func measure(ctx context.Context, out io.Writer, s *output.Selection) error {
	config, err := os.ReadFile(schedulerConfig)
	if err != nil {
		return fmt.Errorf("read the scheduler's configuration, in the root of the repository: %w", err)
	}
	return throughput.Run(ctx, out, throughput.Options{
		Contenders: s.Names, SchedulerConfig: config, EtcdDir: etcdDir, Rounds: s.Rounds, Limit: s.Limit,
		Match: s.Match, Quick: s.Quick, Progress: s.Progress,
	})
}
