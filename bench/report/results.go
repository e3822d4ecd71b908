package report

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
)

// Units as they are after reading: benchfmt turns nanoseconds into seconds.
const (
	secondsPerOp = "sec/op"
	allocsPerOp  = "allocs/op"
	stepsPerOp   = "steps/op"
	evalsPerOp   = "cel-evals/op"
	limitSeconds = "limit-sec"
	uncompared   = "uncompared"
	bytesPerDev  = "B/device"
	sliceBytes   = "slice-B/device"
)

// Implementations as results name them.
const (
	dray         = "dray"
	incubating   = "incubating"
	experimental = "experimental"
)

// Results are the samples of one run.
type Results struct {
	Config []benchfmt.Config // of the machine and the run
	Rows   []*Row            // in the order of the results
	units  benchfmt.UnitMetadataMap
}

// Row is one case, measured on several implementations.
type Row struct {
	Op    string // Allocate
	Name  string // F3/n=16/c=4
	Cells map[string]*Cell
}

// Cell is one implementation on one case.
type Cell struct {
	samples map[string][]float64 // by unit
	units   benchfmt.UnitMetadataMap
}

// Read reads a whole run.
func Read(r io.Reader, name string) (*Results, error) {
	var parser benchproc.ProjectionParser
	filter, err := benchproc.NewFilter("*")
	if err != nil {
		return nil, err
	}
	byImplementation, err := parser.Parse("/impl", filter)
	if err != nil {
		return nil, err
	}
	// These are not shown; parsing them takes them out of the full name.
	if _, err := parser.Parse("/gomaxprocs", filter); err != nil {
		return nil, err
	}
	byCase, err := parser.Parse(".fullname", filter)
	if err != nil {
		return nil, err
	}
	results := &Results{}
	rows := make(map[benchproc.Key]*Row)
	reader := benchfmt.NewReader(r, name)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			key := byCase.Project(record)
			row := rows[key]
			if row == nil {
				row = newRow(key.StringValues())
				rows[key] = row
				results.Rows = append(results.Rows, row)
			}
			row.add(byImplementation.Project(record).StringValues(), record)
			if results.Config == nil {
				results.Config = record.Clone().Config
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if len(results.Rows) == 0 {
		return nil, fmt.Errorf("%s holds no results", name)
	}
	results.units = reader.Units()
	for _, row := range results.Rows {
		for _, cell := range row.Cells {
			cell.units = results.units
		}
	}
	return results, nil
}

func newRow(fullName string) *Row {
	op, rest, _ := strings.Cut(fullName, "/")
	return &Row{Op: op, Name: strings.TrimPrefix(strings.TrimSuffix(rest, "/"), "family="), Cells: make(map[string]*Cell)}
}

func (r *Row) add(implementation string, record *benchfmt.Result) {
	cell := r.Cells[implementation]
	if cell == nil {
		cell = &Cell{samples: make(map[string][]float64)}
		r.Cells[implementation] = cell
	}
	for _, value := range record.Values {
		cell.samples[value.Unit] = append(cell.samples[value.Unit], value.Value)
	}
}

// config returns the value of a key, "" if the results do not have it.
func (r *Results) config(key string) string {
	for _, c := range r.Config {
		if c.Key == key {
			return string(c.Value)
		}
	}
	return ""
}

// sample returns the measurements of a unit, or nil.
func (c *Cell) sample(unit string) *benchmath.Sample {
	if c == nil || len(c.samples[unit]) == 0 {
		return nil
	}
	values := append([]float64(nil), c.samples[unit]...)
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}
