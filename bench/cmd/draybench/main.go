// Command draybench measures Dray's allocator beside upstream's:
//
//	draybench                           # everything, in some minutes; tables on stdout
//	draybench -run '^F9/' -n 20         # some cases, more often
//	draybench -out results.txt -o json  # Go benchmark lines to a file, JSON on stdout
//	draybench -from results.txt         # the tables of an earlier run
//	draybench -docs docs/benchmarks.md  # rewrites the generated part of a document
//	draybench -profile DIR -run '^F9/g=8$'
//
// Progress goes to stderr. The exit code is 0 if everything was measured and
// all implementations agreed on every answer, 2 for wrong usage, else 1.
package main

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
	"github.com/dray-dev/dray/bench/runner"
)

func main() { os.Exit(tool().Main()) }

func tool() *output.Tool {
	t := &output.Tool{
		Name: "draybench", Example: "F3/n=16/c=4", Each: "implementation",
		Sample: 50 * time.Millisecond, Limit: 2 * time.Second,
		Measure: func(ctx context.Context, out io.Writer, s *output.Selection) error {
			return runner.Run(ctx, out, runner.Options{
				Contenders: contenders(s),
				Rounds:     s.Rounds, Sample: s.Sample, Limit: s.Limit, Match: s.Match, Quick: s.Quick, Progress: s.Progress,
			})
		},
		Profile: recordProfiles,
		Table:   (*report.Results).Table, Rewrite: (*report.Results).RewriteAllocator,
	}
	for _, c := range contender.All() {
		t.Names = append(t.Names, c.Name())
	}
	return t
}

func contenders(s *output.Selection) []contender.Contender {
	return slices.DeleteFunc(contender.All(), func(c contender.Contender) bool { return !slices.Contains(s.Names, c.Name()) })
}
