package record

import (
	"fmt"
	"io"
	"math"
	"runtime"

	"golang.org/x/perf/benchfmt"
)

// LimitSeconds is the unit of what did not end: the time after which it was given
// up.
const LimitSeconds = "limit-sec"

// Uncompared is the unit of what did not end and gave no answer that another one's
// could be compared with.
const Uncompared = "uncompared"

// Unit is what is to be known about one that is measured.
type Unit struct {
	Name   string
	Higher bool // more is better
	Exact  bool // the same in every sample; others are compared as distributions
}

// Setting is something about the run that a reader should know.
type Setting struct{ Key, Value string }

// Recorder writes results.
type Recorder struct {
	writer *benchfmt.Writer
	config []benchfmt.Config
}

// New writes what is to be known about the units. Upstream is the path of the
// module that is compared with.
func New(out io.Writer, upstream string, settings []Setting, units []Unit) (*Recorder, error) {
	r := &Recorder{writer: benchfmt.NewWriter(out), config: machine(upstream)}
	for _, s := range settings {
		r.config = append(r.config, benchfmt.Config{Key: s.Key, Value: []byte(s.Value), File: true})
	}
	for _, unit := range append(units, Unit{Name: LimitSeconds, Exact: true}, Unit{Name: Uncompared, Exact: true}) {
		if unit.Name != LimitSeconds && unit.Name != Uncompared {
			better := "lower"
			if unit.Higher {
				better = "higher"
			}
			if err := r.metadata(unit.Name, "better", better); err != nil {
				return nil, err
			}
		}
		if unit.Exact {
			if err := r.metadata(unit.Name, "assume", "exact"); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (r *Recorder) metadata(unit, key, value string) error {
	return r.writer.Write(&benchfmt.UnitMetadata{
		UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: key}, OrigUnit: unit, Value: value,
	})
}

// Write writes one sample. The name is that of the benchmark without "Benchmark":
// Allocate/family=F3/n=16/impl=dray.
func (r *Recorder) Write(name string, iterations int, values ...benchfmt.Value) error {
	err := r.writer.Write(&benchfmt.Result{
		Config: r.config,
		Name:   benchfmt.Name(fmt.Sprintf("%s-%d", name, runtime.GOMAXPROCS(0))),
		Iters:  iterations,
		Values: values,
	})
	if err != nil {
		return fmt.Errorf("write the result of %s: %w", name, err)
	}
	return nil
}

// Round keeps four significant digits below a microsecond and whole nanoseconds
// above, as the testing package does.
func Round(nanoseconds float64) float64 {
	if nanoseconds >= 1000 {
		return math.Round(nanoseconds)
	}
	return math.Round(nanoseconds*10) / 10
}
