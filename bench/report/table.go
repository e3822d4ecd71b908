package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/perf/benchunit"
)

// Width is the widest line of the tables for a terminal.
const Width = 120

// timed lists the rows that have a time; the others are sizes.
func (r *Results) timed() []*Row {
	var timed []*Row
	for _, row := range r.Rows {
		if row.Op != "Inventory" {
			timed = append(timed, row)
		}
	}
	return timed
}

// Table writes everything for a terminal: counted work, then sizes, then times
// and ratios last, where they are read first.
func (r *Results) Table(w io.Writer) error {
	for _, part := range []func(io.Writer) error{r.head, r.workTable, r.sizeTable, r.timeTable, r.foot} {
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *Results) head(w io.Writer) error {
	for _, c := range r.Config {
		if _, err := fmt.Fprintf(w, "%s: %s\n", c.Key, c.Value); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (r *Results) workTable(w io.Writer) error {
	table := columns{gap: 2}
	table.add("work per operation", "steps", "", "", "CEL", "", "", "allocs", "", "")
	table.add("", "dray", "incub.", "exp.", "dray", "incub.", "exp.", "dray", "incub.", "exp.")
	for _, row := range r.timed() {
		cells := []string{row.Name}
		for _, unit := range []string{stepsPerOp, evalsPerOp, allocsPerOp} {
			for _, implementation := range []string{dray, incubating, experimental} {
				cells = append(cells, row.Cells[implementation].count(unit))
			}
		}
		table.add(cells...)
	}
	return writeBlock(w, &table)
}

func (r *Results) sizeTable(w io.Writer) error {
	table := columns{gap: 2}
	table.add("bytes per device", "index", "slices themselves")
	for _, row := range r.Rows {
		if row.Op == "Inventory" {
			table.add(row.Name, row.Cells[dray].size(bytesPerDev), row.Cells[dray].size(sliceBytes))
		}
	}
	if len(table.rows) == 1 {
		return nil
	}
	return writeBlock(w, &table)
}

func (c *Cell) size(unit string) string {
	s, ok := c.summary(unit)
	if !ok {
		return none
	}
	return benchunit.Scale(s.Center, benchunit.Decimal)
}

func (r *Results) timeTable(w io.Writer) error {
	timed := r.timed()
	if len(timed) == 0 {
		return nil
	}
	table := columns{gap: 2}
	table.add("time per operation", "dray", "incubating", "vs dray", "experimental", "vs dray")
	for _, row := range timed {
		table.add(r.timeCells(row)...)
	}
	return writeBlock(w, &table)
}

func (r *Results) timeCells(row *Row) []string {
	ours := row.Cells[dray]
	cells := []string{row.Name, ours.time()}
	for _, implementation := range []string{incubating, experimental} {
		theirs := row.Cells[implementation]
		cells = append(cells, theirs.time(), ratioText(ours, theirs))
	}
	return cells
}

// foot explains what a reader of the tables may not know.
func (r *Results) foot(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n", strings.Join([]string{
		fmt.Sprintf("Medians of %s interleaved samples with 95 %% intervals, in seconds (n, µ, m).", r.config("rounds")),
		r.unfinished() + ": not finished within the limit. ~: cannot be told apart. -: not measured, or a feature it does not have.",
	}, "\n"))
	return err
}

// unfinished is what a cell says that reached the limit of the run; N stands for a
// limit that the results do not tell.
func (r *Results) unfinished() string {
	limit, err := time.ParseDuration(r.config("limit"))
	if err != nil {
		return "> N s"
	}
	return beyond(limit.Seconds())
}

func writeBlock(w io.Writer, table *columns) error {
	if err := table.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
