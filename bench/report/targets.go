package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"golang.org/x/perf/benchunit"
)

// target is a promise of the design.
type target struct {
	work  string
	bound string         // in words
	rows  *regexp.Regexp // names of the rows that are meant
	// Exactly one of the two: a unit of which ours may have at most so much, or
	// how many times as long upstream's default implementation has to take.
	unit   string
	atMost float64
	faster float64
}

// allocatorTargets are those of draybench.
var allocatorTargets = []target{
	{work: "Allocate, 8 to 16 local devices, warm", bound: "≥ 10× faster", rows: regexp.MustCompile(`^(warm|again)/`), faster: 10},
	{work: "Allocate, 128 devices, CEL misses", bound: "≥ 1,000× faster", rows: regexp.MustCompile(`^P3/n=128$`), faster: 1000},
	{work: "families F1 to F8, F12, F16", bound: "≤ 100 µs each", rows: regexp.MustCompile(`^F([1-8]|12u?|16g?)/`), unit: secondsPerOp, atMost: 100e-6},
	{work: "F9, mixed partitions, 8 GPUs", bound: "≤ 1 ms", rows: regexp.MustCompile(`^F9/g=8$`), unit: secondsPerOp, atMost: 1e-3},
	{work: "unsatisfiable node, steady state", bound: "0 allocs/op", rows: regexp.MustCompile(`^(full|F\d+)again/`), unit: allocsPerOp},
	{work: "one slice of 128 devices changes", bound: "≤ 200 µs", rows: regexp.MustCompile(`^change/`), unit: secondsPerOp, atMost: 200e-6},
	{work: "memory", bound: "≤ 300 bytes a device indexed", rows: regexp.MustCompile(`^inventory/`), unit: bytesPerDev, atMost: 300},
}

// schedulerTargets are those of schedbench. What a row takes is more than what its
// target speaks of, by Reserve and Unreserve, and in rows about the state by Filter
// of one node.
var schedulerTargets = []target{
	{work: "state of the cluster, 100,000 devices", bound: "≤ 1 ms", rows: regexp.MustCompile(`^state/`), unit: secondsPerOp, atMost: 1e-3},
	{work: "plugin time a pod, 500 nodes", bound: "≤ 1 ms", rows: regexp.MustCompile(`^plugin/nodes=500/`), unit: secondsPerOp, atMost: 1e-3},
	{work: "5,000 nodes × 8 GPUs, MIG", bound: "≥ 10× faster", rows: regexp.MustCompile(`^mig/`), faster: 10},
}

// throughputTargets are those of perfbench.
var throughputTargets = []target{
	{work: "burst, 500 nodes", bound: "≥ 2× faster", rows: regexp.MustCompile(`^burst/nodes=500$`), faster: 2},
	{work: "five devices on one PCIe root, 500 nodes", bound: "≥ 1.7× faster", rows: regexp.MustCompile(`^match/nodes=500$`), faster: 1.7},
	{work: "a pod for each that is placed, 500 nodes", bound: "≥ 1× as fast", rows: regexp.MustCompile(`^(steady|selector)/nodes=500(/|$)`), faster: 1},
}

// verdict is a target with what was measured.
type verdict struct {
	target
	row      string // the worst one
	measured string
	met      string // met, missed, or not measured
}

// verdicts judges every target by its worst row, and by the bad end of the
// interval. Baseline is the implementation that ours is to be faster than.
func (r *Results) verdicts(targets []target, baseline string) []verdict {
	verdicts := make([]verdict, len(targets))
	for i, t := range targets {
		verdicts[i] = verdict{target: t, row: none, measured: none, met: "not measured"}
		worst := math.Inf(-1)
		for _, row := range r.Rows {
			if !t.rows.MatchString(row.Name) || row.Cells[dray] == nil {
				continue
			}
			if excess, measured := t.judge(row, baseline); excess > worst {
				worst = excess
				verdicts[i].row, verdicts[i].measured, verdicts[i].met = row.Name, measured, "met"
				if excess > 0 {
					verdicts[i].met = "missed"
				}
			}
		}
	}
	return verdicts
}

// judge returns by how much a row is beyond the bound, relative to it; at most
// zero if it is within.
func (t target) judge(row *Row, baseline string) (excess float64, measured string) {
	ours := row.Cells[dray]
	if limit, ok := ours.limit(); ok {
		return math.Inf(1), fmt.Sprintf("> %g s, not finished", limit)
	}
	if t.unit == "" {
		r, ok := ratio(ours, row.Cells[baseline])
		if !ok {
			return math.Inf(1), "not compared"
		}
		return t.faster/r.Lo - 1, r.String()
	}
	s, ok := ours.summary(t.unit)
	if !ok {
		return math.Inf(1), "not measured"
	}
	high := finite(s.Hi, s.Center)
	switch t.unit {
	case secondsPerOp:
		measured = strings.Replace(ours.time(), " ±", "s ±", 1)
	case allocsPerOp:
		measured = ours.count(t.unit) + " allocs/op"
	default:
		measured = benchunit.Scale(s.Center, benchunit.Decimal) + " " + t.unit
	}
	return (high - t.atMost) / math.Max(t.atMost, 1e-9), measured
}
