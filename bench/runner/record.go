package runner

import (
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/dray-dev/dray/bench/family"
	"github.com/dray-dev/dray/bench/record"
)

// Units of what is measured, beside those of the testing package.
const (
	StepsPerOp       = "steps/op"
	EvaluationsPerOp = "cel-evals/op"
	BytesPerDevice   = "B/device"
	SliceBytes       = "slice-B/device"
)

// recorder writes results.
type recorder struct{ *record.Recorder }

func newRecorder(out io.Writer, options Options) (recorder, error) {
	r, err := record.New(out, "k8s.io/dynamic-resource-allocation",
		[]record.Setting{{Key: "rounds", Value: fmt.Sprint(options.Rounds)}, {Key: "limit", Value: options.Limit.String()}},
		[]record.Unit{{Name: "ns/op"}, {Name: "B/op"}, {Name: "allocs/op"},
			{Name: StepsPerOp, Exact: true}, {Name: EvaluationsPerOp, Exact: true}, {Name: BytesPerDevice}})
	return recorder{r}, err
}

func nameOf(c *family.Case, implementation string) string {
	return fmt.Sprintf("%s/family=%s/%s/impl=%s", c.Family.Op, c.Family.Name, c.Size, implementation)
}

// sample writes one sample, with the evaluations of an operation where they are
// known.
func (r recorder) sample(c *family.Case, implementation string, s sample, evaluations int64) error {
	values := []benchfmt.Value{
		{Value: record.Round(s.nanoseconds), Unit: "ns/op"},
		{Value: math.Round(s.bytes), Unit: "B/op"},
		// Less than one in two operations is what the runtime did meanwhile.
		{Value: math.Round(s.allocs), Unit: "allocs/op"},
		{Value: float64(s.work.Steps), Unit: StepsPerOp},
	}
	if evaluations >= 0 {
		values = append(values, benchfmt.Value{Value: float64(evaluations), Unit: EvaluationsPerOp})
	}
	return r.Write(nameOf(c, implementation), s.iterations, values...)
}

// unfinished writes that an operation was given up.
func (r recorder) unfinished(c *family.Case, implementation string, limit time.Duration) error {
	return r.Write(nameOf(c, implementation), 1, benchfmt.Value{Value: limit.Seconds(), Unit: record.LimitSeconds})
}
