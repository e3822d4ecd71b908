package throughput

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/dray-dev/dray/bench/record"
)

// Names of what is compared.
const (
	Dray   = "dray"
	InTree = "in-tree"
)

// PodsPerSecond is the unit of what is measured, beside ns/op: its inverse.
const PodsPerSecond = "pods/s"

// Options say what is measured and how often.
type Options struct {
	Contenders      []string // Dray, InTree
	SchedulerConfig []byte   // of a scheduler with our plugin
	EtcdDir         string   // directory of the program etcd
	Rounds          int
	Limit           time.Duration // after which a sample is given up
	Match           *regexp.Regexp
	Quick           bool
	Progress        io.Writer
}

func (o *Options) workloads() []Workload {
	return slices.DeleteFunc(Workloads(o.Quick), func(w Workload) bool { return o.Match != nil && !o.Match.MatchString(w.Name) })
}

// Run measures, in rounds: each takes one sample of every contender and every workload,
// so that what else the machine does meets all of them, and the lines that were written
// when it is interrupted can be compared. One that was given up is not tried again.
func Run(ctx context.Context, out io.Writer, o Options) error {
	workloads := o.workloads()
	if len(workloads) == 0 {
		return fmt.Errorf("no workload is named like %q", o.Match)
	}
	sources, err := findSources(ctx, o.EtcdDir)
	if err != nil {
		return err
	}
	records, err := record.New(out, kubernetes,
		[]record.Setting{{Key: "rounds", Value: fmt.Sprint(o.Rounds)}, {Key: "limit", Value: o.Limit.String()}},
		[]record.Unit{{Name: "ns/op"}, {Name: PodsPerSecond, Higher: true}})
	if err != nil {
		return err
	}
	started, givenUp := time.Now(), map[[2]string]bool{}
	say := func(format string, arguments ...any) {
		fmt.Fprintf(o.Progress, "%5ds  %s\n", int(time.Since(started).Seconds()), fmt.Sprintf(format, arguments...))
	}
	for round := range o.Rounds {
		for _, w := range workloads {
			for _, contender := range o.Contenders {
				key := [2]string{w.Name, contender}
				if givenUp[key] {
					continue
				}
				var config []byte
				if contender == Dray {
					config = o.SchedulerConfig
				}
				name := fmt.Sprintf("Throughput/family=%s/impl=%s", w.Name, contender)
				rate, err := sources.sample(ctx, w, config, o.Limit)
				switch {
				case errors.Is(err, errTooLong):
					givenUp[key] = true
					say("round %d of %d  %s  %s: %v", round+1, o.Rounds, w.Name, contender, err)
					err = records.Write(name, 1, benchfmt.Value{Value: o.Limit.Seconds(), Unit: record.LimitSeconds})
				case err == nil:
					say("round %d of %d  %s  %s: %.1f pods/s", round+1, o.Rounds, w.Name, contender, rate)
					err = records.Write(name, 1, benchfmt.Value{Value: record.Round(1e9 / rate), Unit: "ns/op"}, benchfmt.Value{Value: rate, Unit: PodsPerSecond})
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.Name, contender, err)
				}
			}
		}
	}
	return nil
}
