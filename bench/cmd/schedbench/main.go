// Command schedbench measures the scheduler plugin beside Kubernetes' own:
//
//	schedbench                             # everything, in some minutes; tables on stdout
//	schedbench -run '^plugin/nodes=500/'   # some cases
//	schedbench -out results.txt -o json    # Go benchmark lines to a file, JSON on stdout
//	schedbench -from results.txt           # the tables of an earlier run
//	schedbench -docs docs/benchmarks.md    # rewrites the generated part of a document
//	schedbench -profile DIR -run '^mig/'   # profiles of our plugin
//
// Progress goes to stderr. The exit code is 0 if everything was measured and both
// plugins agreed on every answer, 2 for wrong usage, else 1.
package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/scheduling"
)

func main() { os.Exit(tool().Main()) }

func tool() *output.Tool {
	t := &output.Tool{
		Name: "schedbench", Example: "plugin/nodes=500/use=half", Each: "plugin",
		Sample: 200 * time.Millisecond, Limit: 10 * time.Second,
		Measure: func(ctx context.Context, out io.Writer, s *output.Selection) error {
			return scheduling.Run(quiet(ctx), out, options(s))
		},
		Profile: func(ctx context.Context, out io.Writer, s *output.Selection) error {
			return scheduling.Profile(quiet(ctx), options(s), s.ProfileDir, s.ProfileFor, out)
		},
		Table: (*report.Results).SchedulerTable, Rewrite: (*report.Results).RewriteScheduler,
	}
	for _, c := range scheduling.Contenders() {
		t.Names = append(t.Names, c.Name)
	}
	return t
}

// quiet is without a logger: a scheduler logs little at its default verbosity, and
// nothing that is of use here.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

func options(s *output.Selection) scheduling.Options {
	return scheduling.Options{
		Contenders: slices.DeleteFunc(scheduling.Contenders(), func(c scheduling.Contender) bool { return !slices.Contains(s.Names, c.Name) }),
		Rounds:     s.Rounds, Sample: s.Sample, Limit: s.Limit, Match: s.Match, Quick: s.Quick, Progress: s.Progress,
	}
}
