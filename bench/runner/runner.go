package runner

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"time"

	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
)

// Options say what is measured and how long.
type Options struct {
	Contenders []contender.Contender
	Rounds     int            // samples of each implementation of each case
	Sample     time.Duration  // an operation is repeated until it takes about that long
	Limit      time.Duration  // after which an operation is given up
	Match      *regexp.Regexp // of names of cases, as F3/n=16/c=4; nil is all
	Quick      bool           // small sizes instead of those worth timing
	Progress   io.Writer      // for people
}

// matches says whether a case or another measurement of that name is wanted.
func (o *Options) matches(name string) bool { return o.Match == nil || o.Match.MatchString(name) }

// selected lists the sizes of a family that are wanted.
func (o *Options) selected(f *family.Family) []family.Size {
	sizes := f.Bench
	if o.Quick {
		sizes = f.Test
	}
	var selected []family.Size
	for _, size := range sizes {
		if o.matches(f.Name + "/" + size.String()) {
			selected = append(selected, size)
		}
	}
	return selected
}

// Cases lists the names of what Run would measure.
func (o *Options) Cases() []string {
	var names []string
	for _, f := range family.All() {
		for _, size := range o.selected(f) {
			names = append(names, f.Name+"/"+size.String())
		}
	}
	for _, cluster := range o.clusters() {
		names = append(names, cluster.name())
	}
	return names
}

// Run measures every selected case and writes lines to out as it goes.
func Run(ctx context.Context, out io.Writer, options Options) error {
	names := options.Cases()
	if len(names) == 0 {
		return fmt.Errorf("no case is named like %q", options.Match)
	}
	records, err := newRecorder(out, options)
	if err != nil {
		return err
	}
	started, done := time.Now(), 0
	for _, f := range family.All() {
		for _, size := range options.selected(f) {
			done++
			fmt.Fprintf(options.Progress, "%4ds  %2d of %d  %s/%s: %s\n", int(time.Since(started).Seconds()), done, len(names), f.Name, size, f.Title)
			if err := measure(ctx, f.Case(size), options, records); err != nil {
				return fmt.Errorf("%s/%s: %w", f.Name, size, err)
			}
		}
	}
	for _, cluster := range options.clusters() {
		done++
		fmt.Fprintf(options.Progress, "%4ds  %2d of %d  %s\n", int(time.Since(started).Seconds()), done, len(names), cluster.name())
		if err := cluster.measure(ctx, records); err != nil {
			return fmt.Errorf("%s: %w", cluster.name(), err)
		}
	}
	fmt.Fprintf(options.Progress, "%4ds  done\n", int(time.Since(started).Seconds()))
	return nil
}

// racer is one implementation on one case.
type racer struct {
	session    *contender.Session
	name       string
	answer     allocatortest.Outcome
	finished   bool
	iterations int
	// evaluations per operation, -1 where they are not known.
	evaluations int64
}

func measure(ctx context.Context, c *family.Case, options Options, records recorder) error {
	var racers []*racer
	for _, with := range options.Contenders {
		if !with.Supports(c.Scenario.Features) {
			continue
		}
		r, err := prepare(ctx, with, c, options)
		if err != nil {
			return fmt.Errorf("%s: %w", with.Name(), err)
		}
		if !r.finished {
			if err := records.unfinished(c, r.name, options.Limit); err != nil {
				return err
			}
			continue
		}
		if len(racers) > 0 {
			if err := agree(racers[0], r); err != nil {
				return err
			}
		}
		racers = append(racers, r)
	}
	for range options.Rounds {
		for _, r := range racers {
			sample, err := take(ctx, r.session, r.iterations)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if err := records.sample(c, r.name, sample, r.evaluations); err != nil {
				return err
			}
		}
	}
	return nil
}

// agree is an error if two implementations do not give the same answer.
func agree(a, b *racer) error {
	if difference := allocatortest.Diff(a.answer, b.answer); difference != "" {
		return fmt.Errorf("%s and %s answer differently: %s", a.name, b.name, difference)
	}
	return nil
}

// prepare runs the operation once, which warms up what can be warm, and finds
// out how often it has to be repeated.
func prepare(ctx context.Context, with contender.Contender, c *family.Case, options Options) (*racer, error) {
	session := contender.Start(with, c)
	if err := session.Prepare(ctx, 1); err != nil {
		return nil, err
	}
	r := &racer{session: session, name: with.Name(), evaluations: -1}
	runtime.GC()
	within, cancel := context.WithTimeout(ctx, options.Limit)
	defer cancel()
	started := time.Now()
	r.answer = session.Answer(within)
	took := time.Since(started)
	if r.answer.Class == allocatortest.GaveUp {
		return r, ctx.Err()
	}
	r.finished = true
	r.evaluations = countEvaluations(ctx, with, c, took)
	var err error
	r.iterations, err = enough(ctx, session, options.Sample)
	return r, err
}

// countingIsSlow bounds the operations that are repeated with a logger, which
// takes many times as long.
const countingIsSlow = 200 * time.Millisecond

// countEvaluations counts those of a warm operation, in a session of its own,
// -1 if that would take too long.
func countEvaluations(ctx context.Context, with contender.Contender, c *family.Case, took time.Duration) int64 {
	if took > countingIsSlow {
		return -1
	}
	counting := contender.Counting(ctx)
	session := contender.Start(with, c)
	session.Answer(counting)
	session.Answer(counting)
	return session.Work().Evaluations
}
