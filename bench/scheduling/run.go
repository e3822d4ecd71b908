package scheduling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/dray-dev/dray/bench/record"
)

// Options say what is measured and how long.
type Options struct {
	Contenders []Contender
	Rounds     int            // samples of each contender of each case
	Sample     time.Duration  // an operation is repeated until it takes about that long
	Limit      time.Duration  // after which an operation is given up
	Match      *regexp.Regexp // of names of cases, as plugin/nodes=500/use=half; nil is all
	Quick      bool           // small clusters instead of those worth timing
	Progress   io.Writer      // for people
}

// Cases lists what Run would measure.
func (o *Options) Cases() []*Case {
	var wanted []*Case
	for _, c := range Cases(o.Quick) {
		if o.Match == nil || o.Match.MatchString(c.Name) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// Units of what is measured, beside those of the testing package.
const (
	ProcessorTime = "cpu-ns/op" // of all processors
	PreFilterTime = "prefilter-ns/op"
	FilterTime    = "filter-ns/op"
	ReserveTime   = "reserve-ns/op"
	PodsPerSecond = "pods/s"
	// Counted by our plugin alone.
	SearchesPerOp    = "searches/op"
	StepsPerOp       = "steps/op"
	EvaluationsPerOp = "cel-evals/op"
	FallbacksPerOp   = "ledger-fallbacks/op"
)

// Run measures every selected case and writes lines to out as it goes.
func Run(ctx context.Context, out io.Writer, options Options) error {
	cases := options.Cases()
	if len(cases) == 0 {
		return fmt.Errorf("no case is named like %q", options.Match)
	}
	records, err := record.New(out, "k8s.io/kubernetes",
		[]record.Setting{{Key: "rounds", Value: fmt.Sprint(options.Rounds)}, {Key: "limit", Value: options.Limit.String()}},
		[]record.Unit{{Name: "ns/op"}, {Name: ProcessorTime}, {Name: PreFilterTime}, {Name: FilterTime}, {Name: ReserveTime},
			{Name: PodsPerSecond, Higher: true}, {Name: "B/op"}, {Name: "allocs/op"},
			{Name: SearchesPerOp}, {Name: StepsPerOp}, {Name: EvaluationsPerOp}, {Name: FallbacksPerOp}})
	if err != nil {
		return err
	}
	started := time.Now()
	for i, c := range cases {
		fmt.Fprintf(options.Progress, "%4ds  %2d of %d  %s: %s\n", int(time.Since(started).Seconds()), i+1, len(cases), c.Name, c.Title)
		if err := options.measure(ctx, c, records); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	fmt.Fprintf(options.Progress, "%4ds  done\n", int(time.Since(started).Seconds()))
	return nil
}

// racer is one contender on one case.
type racer struct {
	*world
	op         Op
	want       []*outcome // for Plugin by template, for Pods only one
	finished   bool
	compared   bool // with the first racer
	iterations int
	pod        int // counts operations, so that each has another pod
}

func (o *Options) measure(ctx context.Context, c *Case, records *record.Recorder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	var racers []*racer
	var finished []*racer
	for _, with := range o.Contenders {
		r, err := o.prepare(ctx, with, c, v)
		if err != nil {
			return fmt.Errorf("%s: %w", with.Name, err)
		}
		if len(racers) > 0 {
			if err := o.compare(ctx, racers[0], r); err != nil {
				return err
			}
		}
		racers = append(racers, r)
		r.compared = r.compared || len(racers) == 1
		if r.finished {
			finished = append(finished, r)
			continue
		}
		values := []benchfmt.Value{{Value: o.Limit.Seconds(), Unit: record.LimitSeconds}}
		if !r.compared {
			values = append(values, benchfmt.Value{Value: 1, Unit: record.Uncompared})
		}
		if err := records.Write(c.line(r.Name), 1, values...); err != nil {
			return err
		}
	}
	for range o.Rounds {
		for _, r := range finished {
			operations, values, err := r.sample(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			if err := records.Write(c.line(r.Name), operations, values...); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare is an error if a racer says something else than the first one. Where either
// was given up too early for that, nothing but its limit is known of it.
func (o *Options) compare(ctx context.Context, first, r *racer) error {
	err := agree(first, r)
	if !errors.Is(err, errNothingInCommon) {
		r.compared = true
		return err
	}
	slow := r
	if r.finished {
		slow = first
	}
	if answered, err := slow.alone(ctx, o.Limit); err != nil {
		return fmt.Errorf("%s about one node: %w", slow.Name, err)
	} else if answered {
		r.compared = true
		return agree(first, r)
	}
	fmt.Fprintf(o.Progress, "       %s does not end within %s, not even about one node: its answers are not compared\n", slow.Name, o.Limit)
	return nil
}

// view builds the case's objects.
func (c *Case) view(ctx context.Context) (*view, error) {
	objects, err := c.build()
	if err != nil {
		return nil, err
	}
	return newView(ctx, objects)
}

// line is the name of a contender's results.
func (c *Case) line(contender string) string {
	return fmt.Sprintf("%s/family=%s/impl=%s", c.Op, c.Name, contender)
}

// prepare runs the operation once, which warms up what can be warm, and finds out
// how often it has to be repeated.
func (o *Options) prepare(ctx context.Context, with Contender, c *Case, v *view) (*racer, error) {
	w, err := newWorld(ctx, with, v)
	if err != nil {
		return nil, err
	}
	r := &racer{world: w, op: c.Op, iterations: 1}
	// What is learned once about slices is no part of the first pod's time.
	if _, err := w.newCycle(w.pods[0]).preFilter(ctx); err != nil {
		return nil, err
	}
	if c.Op == Pods {
		err = r.plan(ctx)
	} else {
		err = r.answers(ctx, o.Limit)
	}
	if err != nil || !r.finished {
		return r, err
	}
	return r, r.enough(ctx, o.Sample)
}

// answers asks about a pod of each template, until one is given up.
func (r *racer) answers(ctx context.Context, limit time.Duration) error {
	for _, pod := range r.pods[:r.templates] {
		if r.learns {
			if _, err := r.answer(ctx, pod, r.asked); err != nil {
				return err
			}
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		o, err := r.answer(limited, pod, r.asked)
		cancel()
		if err != nil {
			return err
		}
		r.want, r.finished = append(r.want, o), o.finished
		if !o.finished {
			break
		}
	}
	return nil
}

// plan fills the cluster for the first time, which decides who goes where.
func (r *racer) plan(ctx context.Context) error {
	nodes, err := r.fill(ctx, nil)
	if err != nil {
		return err
	}
	o, err := r.bound(nodes)
	if err != nil {
		return err
	}
	r.want, r.finished = []*outcome{o}, true
	return r.empty(ctx)
}

// enough finds how many operations take about as long as a sample should.
func (r *racer) enough(ctx context.Context, want time.Duration) error {
	for {
		m, err := r.repeat(ctx, r.iterations, false)
		if err != nil || m.took() >= want/2 {
			return err
		}
		// At most a hundredfold, because a short measurement says little.
		r.iterations = max(r.iterations+1, min(100*r.iterations, int(float64(r.iterations)*float64(want)/float64(m.took()+1))))
	}
}

// repeat runs operations.
func (r *racer) repeat(ctx context.Context, times int, counting bool) (*meters, error) {
	m := newMeters(counting)
	for range times {
		r.pod++
		var err error
		if r.op == Pods {
			err = r.fillAgain(ctx, r.want[0], m)
		} else {
			err = r.place(ctx, r.pod%len(r.pods), r.want[r.pod%len(r.pods)%r.templates], m)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// counted is how many operations are looked at for what they allocate.
const counted = 4

// sample measures once. It collects garbage before, so that no sample pays for
// what another one left.
func (r *racer) sample(ctx context.Context) (operations int, values []benchfmt.Value, err error) {
	runtime.GC()
	before := r.counts()
	timed, err := r.repeat(ctx, r.iterations, false)
	if err != nil {
		return 0, nil, err
	}
	after := r.counts()
	allocated, err := r.repeat(ctx, min(counted, r.iterations), true)
	if err != nil {
		return 0, nil, err
	}
	per := func(took time.Duration) float64 { return record.Round(timed.per(float64(took.Nanoseconds()))) }
	values = append(values, benchfmt.Value{Value: per(timed.took()), Unit: "ns/op"}, benchfmt.Value{Value: per(timed.cpu()), Unit: ProcessorTime})
	if r.op == Pods {
		values = append(values, benchfmt.Value{Value: math.Round(float64(timed.operations)/timed.took().Seconds()*10) / 10, Unit: PodsPerSecond})
	} else {
		values = append(values,
			benchfmt.Value{Value: per(timed.preFilter.took), Unit: PreFilterTime},
			benchfmt.Value{Value: per(timed.filter.took), Unit: FilterTime},
			benchfmt.Value{Value: per(timed.reserve.took), Unit: ReserveTime})
	}
	values = append(values,
		benchfmt.Value{Value: math.Round(allocated.bytes()), Unit: "B/op"},
		benchfmt.Value{Value: math.Round(allocated.objects()), Unit: "allocs/op"})
	for i, count := range after {
		values = append(values, benchfmt.Value{Value: timed.per(float64(count.n - before[i].n)), Unit: count.unit})
	}
	return timed.operations, values, nil
}

// count is of something since the beginning.
type count struct {
	unit string
	n    int64
}

// counts is what the plugin counts, nothing if it does not.
func (r *racer) counts() []count {
	if r.work == nil {
		return nil
	}
	work := r.work()
	return []count{
		{SearchesPerOp, work.Searches}, {StepsPerOp, work.Steps}, {EvaluationsPerOp, work.SelectorEvaluations},
		{FallbacksPerOp, work.LedgerFallbacks},
	}
}
