package runner

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/dray-dev/dray/bench/family"
)

// Units of what is measured, beside those of the testing package.
const (
	StepsPerOp       = "steps/op"
	EvaluationsPerOp = "cel-evals/op"
	LimitSeconds     = "limit-sec"
	BytesPerDevice   = "B/device"
	SliceBytes       = "slice-B/device"
)

// exact units are the same in every sample. The others are compared as
// distributions.
var exact = []string{StepsPerOp, EvaluationsPerOp, LimitSeconds}

// recorder writes results.
type recorder struct {
	writer *benchfmt.Writer
	config []benchfmt.Config
}

// newRecorder writes what is to be known about the units.
func newRecorder(out io.Writer, options Options) (*recorder, error) {
	r := &recorder{writer: benchfmt.NewWriter(out), config: machine()}
	r.configure("rounds", fmt.Sprint(options.Rounds))
	r.configure("limit", options.Limit.String())
	units := []string{"ns/op", "B/op", "allocs/op", StepsPerOp, EvaluationsPerOp, BytesPerDevice}
	for _, unit := range units {
		if err := r.metadata(unit, "better", "lower"); err != nil {
			return nil, err
		}
	}
	for _, unit := range exact {
		if err := r.metadata(unit, "assume", "exact"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *recorder) configure(key, value string) {
	r.config = append(r.config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
}

func (r *recorder) metadata(unit, key, value string) error {
	return r.writer.Write(&benchfmt.UnitMetadata{
		UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: key}, OrigUnit: unit, Value: value,
	})
}

func (r *recorder) write(name string, iterations int, values []benchfmt.Value) error {
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

func nameOf(c *family.Case, implementation string) string {
	return fmt.Sprintf("%s/family=%s/%s/impl=%s", c.Family.Op, c.Family.Name, c.Size, implementation)
}

// sample writes one sample, with the evaluations of an operation where they are
// known.
func (r *recorder) sample(c *family.Case, implementation string, s sample, evaluations int64) error {
	values := []benchfmt.Value{
		{Value: round(s.nanoseconds), Unit: "ns/op"},
		{Value: math.Round(s.bytes), Unit: "B/op"},
		// Less than one in two operations is what the runtime did meanwhile.
		{Value: math.Round(s.allocs), Unit: "allocs/op"},
		{Value: float64(s.work.Steps), Unit: StepsPerOp},
	}
	if evaluations >= 0 {
		values = append(values, benchfmt.Value{Value: float64(evaluations), Unit: EvaluationsPerOp})
	}
	return r.write(nameOf(c, implementation), s.iterations, values)
}

// unfinished writes that an operation was given up.
func (r *recorder) unfinished(c *family.Case, implementation string, limit time.Duration) error {
	return r.write(nameOf(c, implementation), 1, []benchfmt.Value{{Value: limit.Seconds(), Unit: LimitSeconds}})
}

// round keeps four significant digits below a microsecond and whole
// nanoseconds above, as the testing package does.
func round(nanoseconds float64) float64 {
	if nanoseconds >= 1000 {
		return math.Round(nanoseconds)
	}
	return math.Round(nanoseconds*10) / 10
}
