package report

import (
	"fmt"
	"io"
	"strings"
)

// What schedbench measures.
const (
	inTree        = "in-tree"
	opPods        = "Pods"
	podsPerSecond = "pods/s"
	preFilterTime = "prefilter-sec/op"
	searchesPerOp = "searches/op"
	fallbacks     = "ledger-fallbacks/op"
)

// SchedulerTable writes the results of schedbench for a terminal: work, then times
// and ratios, then what was promised.
func (r *Results) SchedulerTable(w io.Writer) error {
	if err := r.head(w); err != nil {
		return err
	}
	for _, table := range r.schedulerTables() {
		c := columns{gap: 2}
		c.add(append([]string{table.title}, table.heads...)...)
		c.rows = append(c.rows, table.rows...)
		if err := writeBlock(w, &c); err != nil {
			return err
		}
	}
	c := columns{gap: 2}
	c.add("target", "", "worst row", "measured", "")
	for _, v := range r.verdicts(schedulerTargets, inTree) {
		c.add(v.work, v.bound, v.row, v.measured, v.met)
	}
	if err := writeBlock(w, &c); err != nil {
		return err
	}
	return r.foot(w)
}

// SchedulerMarkdown is the part of a document that holds the results of schedbench.
func (r *Results) SchedulerMarkdown() string {
	var b strings.Builder
	table := markdownTable{&b}
	r.provenance(&b)
	table.targets(r.verdicts(schedulerTargets, inTree))
	for _, t := range r.schedulerTables() {
		fmt.Fprintf(&b, "\n### %s%s\n\n", strings.ToUpper(t.title[:1]), t.title[1:])
		table.head(append([]string{"case"}, t.heads...)...)
		for _, row := range t.rows {
			table.row(row...)
		}
	}
	return b.String()
}

// resultTable has a row of cells for each case, the first one its name.
type resultTable struct {
	title string
	heads []string
	rows  [][]string
}

// schedulerTables lists those that have rows.
func (r *Results) schedulerTables() []resultTable {
	work := resultTable{title: "work per pod", heads: []string{"searches", "steps", "CEL", "ledger misses", "allocs: dray", "in-tree"}}
	times := resultTable{title: "plugin time per pod", heads: []string{"dray", "of it PreFilter", "in-tree", "of it PreFilter", "vs dray"}}
	pods := resultTable{title: "pods per second", heads: []string{"dray", "in-tree", "vs dray, by time"}}
	for _, row := range r.Rows {
		ours, theirs := row.Cells[dray], row.Cells[inTree]
		if row.Op == opPods {
			pods.rows = append(pods.rows, []string{row.Name, ours.rate(), theirs.rate(), ratioText(ours, theirs)})
		} else {
			times.rows = append(times.rows, []string{row.Name, ours.time(), ours.size(preFilterTime), theirs.time(), theirs.size(preFilterTime), ratioText(ours, theirs)})
		}
		work.rows = append(work.rows, []string{row.Name, ours.mean(searchesPerOp), ours.mean(stepsPerOp), ours.mean(evalsPerOp), ours.mean(fallbacks),
			ours.count(allocsPerOp), theirs.count(allocsPerOp)})
	}
	var tables []resultTable
	for _, t := range []resultTable{work, times, pods} {
		if len(t.rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// rate is the median of pods per second and its interval.
func (c *Cell) rate() string {
	if limit, ok := c.limit(); ok {
		return beyond(limit)
	}
	s, ok := c.summary(podsPerSecond)
	if !ok {
		return none
	}
	return fmt.Sprintf("%.4g ± %s", s.Center, s.PctRangeString())
}

// mean is the median of something that may be less than one per operation.
func (c *Cell) mean(unit string) string {
	s, ok := c.summary(unit)
	if !ok {
		return none
	}
	return fmt.Sprintf("%.3g", s.Center)
}
