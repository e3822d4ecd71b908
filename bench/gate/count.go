package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
)

// Counted is what one operation took.
type Counted struct {
	Steps, FirstEvaluations, Evaluations, Allocations int64
}

// repetitions over which allocations are averaged: what the runtime allocates
// now and then vanishes in them.
const repetitions = 20

// Count runs a family's gate case on ours, again and again in one process.
func Count(ctx context.Context, c *family.Case) (Counted, error) {
	session := contender.Start(contender.Dray(), c)
	var counted Counted
	session.Answer(ctx)
	counted.FirstEvaluations = session.Work().Evaluations
	// Two operations are what it takes with slices that change and change back.
	session.Answer(ctx)
	session.Answer(ctx)
	counted.Steps, counted.Evaluations = session.Work().Steps, session.Work().Evaluations
	// AllocsPerRun calls once more than it counts.
	if err := session.Prepare(ctx, repetitions+1); err != nil {
		return Counted{}, err
	}
	counted.Allocations = int64(testing.AllocsPerRun(repetitions, func() { _, _ = session.Do(ctx) }))
	return counted, ctx.Err()
}

// upstreamSteps is the smallest number of steps that one of upstream's
// allocators takes.
func upstreamSteps(ctx context.Context, c *family.Case) (int64, error) {
	least := int64(-1)
	for _, with := range []contender.Contender{contender.Incubating(), contender.Experimental()} {
		if !with.Supports(c.Scenario.Features) {
			continue
		}
		session := contender.Start(with, c)
		session.Answer(ctx)
		if steps := session.Work().Steps; least < 0 || steps < least {
			least = steps
		}
	}
	return least, ctx.Err()
}

// Finding is a case with counts outside of their ranges.
type Finding struct {
	Case     string
	Problems []string // each names a count, what it is and what it may be
}

func (f Finding) String() string { return f.Case + ": " + strings.Join(f.Problems, "; ") }

// Check counts every case and reports those that are not within their ranges.
func Check(ctx context.Context, entries []Entry) ([]Finding, error) {
	byCase := make(map[string]Entry, len(entries))
	for _, e := range entries {
		byCase[e.Case] = e
	}
	var findings []Finding
	for _, f := range family.All() {
		c := f.Case(f.Gate)
		counted, err := Count(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", c.Name(), err)
		}
		upstream, err := upstreamSteps(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("count %s on upstream: %w", c.Name(), err)
		}
		if problems := byCase[c.Name()].problems(counted, upstream); len(problems) > 0 {
			findings = append(findings, Finding{c.Name(), problems})
		}
	}
	return findings, nil
}

// count is one count beside what it may be.
type count struct {
	name    string
	is      int64
	allowed Range
}

func (e Entry) counts(counted Counted) []count {
	return []count{
		{"steps", counted.Steps, e.Steps},
		{"first-cel-evals", counted.FirstEvaluations, e.FirstEvaluations},
		{"cel-evals", counted.Evaluations, e.Evaluations},
		{"allocs", counted.Allocations, e.Allocations},
	}
}

func (e Entry) problems(counted Counted, upstreamSteps int64) []string {
	var problems []string
	for _, c := range e.counts(counted) {
		switch {
		case c.is > c.allowed.Max:
			problems = append(problems, fmt.Sprintf("%s %d, more than %s", c.name, c.is, c.allowed))
		case c.is < c.allowed.Min:
			problems = append(problems, fmt.Sprintf("%s %d, less than %s (tighten the range if that is the doing of the change)", c.name, c.is, c.allowed))
		}
	}
	if counted.Steps > upstreamSteps {
		problems = append(problems, fmt.Sprintf("steps %d, more than upstream's %d", counted.Steps, upstreamSteps))
	}
	return problems
}
