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
	return r.writeTables(w, r.schedulerTables(), r.verdicts(schedulerTargets, inTree))
}

// SchedulerMarkdown is the part of a document that holds the results of schedbench.
func (r *Results) SchedulerMarkdown() string {
	return r.tablesMarkdown(r.schedulerTables(), r.verdicts(schedulerTargets, inTree))
}

// ThroughputTable writes the results of perfbench for a terminal.
func (r *Results) ThroughputTable(w io.Writer) error {
	return r.writeTables(w, r.throughputTables(), r.verdicts(throughputTargets, inTree))
}

// ThroughputMarkdown is the part of a document that holds the results of perfbench.
func (r *Results) ThroughputMarkdown() string {
	return r.tablesMarkdown(r.throughputTables(), r.verdicts(throughputTargets, inTree))
}

func (r *Results) writeTables(w io.Writer, tables []resultTable, verdicts []verdict) error {
	if err := r.head(w); err != nil {
		return err
	}
	for _, table := range tables {
		c := columns{gap: 2}
		c.add(append([]string{table.title}, table.heads...)...)
		c.rows = append(c.rows, table.rows...)
		if err := writeBlock(w, &c); err != nil {
			return err
		}
	}
	c := columns{gap: 2}
	c.add("target", "", "worst row", "measured", "")
	for _, v := range verdicts {
		c.add(v.work, v.bound, v.row, v.measured, v.met)
	}
	if err := writeBlock(w, &c); err != nil {
		return err
	}
	return r.foot(w)
}

func (r *Results) tablesMarkdown(tables []resultTable, verdicts []verdict) string {
	var b strings.Builder
	table := markdownTable{&b}
	r.provenance(&b)
	table.targets(verdicts)
	for _, t := range tables {
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
	pods := newPods("pods per second")
	for _, row := range r.Rows {
		ours, theirs := row.Cells[dray], row.Cells[inTree]
		if row.Op == opPods {
			pods.addPods(row)
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

// throughputTables lists the one table there is.
func (r *Results) throughputTables() []resultTable {
	pods := newPods("pods per second, with an API server")
	for _, row := range r.Rows {
		pods.addPods(row)
	}
	return []resultTable{pods}
}

func newPods(title string) resultTable {
	return resultTable{title: title, heads: []string{"dray", "in-tree", "vs dray, by time"}}
}

func (t *resultTable) addPods(row *Row) {
	ours, theirs := row.Cells[dray], row.Cells[inTree]
	t.rows = append(t.rows, []string{row.Name, ours.rate(), theirs.rate(), ratioText(ours, theirs)})
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
