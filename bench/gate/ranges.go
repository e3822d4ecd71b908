package gate

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/bench/family"
)

// checkedIn is the file that the gate goes by.
//
//go:embed ranges.yaml
var checkedIn []byte

// Entry is what one family may do at its gate size.
type Entry struct {
	// Case is the family with its size, as F3/n=12/c=4.
	Case   string `json:"case"`
	Counts        // what each may be
	// Commit is where the ranges were set last.
	Commit string `json:"commit"`
	// Why says how the numbers come about, and what the slack is for.
	Why string `json:"why"`
}

// Counts are ranges of everything that is counted in one operation.
type Counts struct {
	Steps Range `json:"steps"`
	// FirstEvaluations are those of the first operation of a process.
	FirstEvaluations Range `json:"first-cel-evals"`
	// Evaluations, like Steps and Allocations, are those of a repeated one.
	Evaluations Range `json:"cel-evals"`
	Allocations Range `json:"allocs"`
}

// Range is an interval of counts, both ends included. It is written as 7 or as
// 7..9.
type Range struct{ Min, Max int64 }

// Contains says whether a count is within the range.
func (r Range) Contains(count int64) bool { return r.Min <= count && count <= r.Max }

func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.FormatInt(r.Min, 10)
	}
	return fmt.Sprintf("%d..%d", r.Min, r.Max)
}

// UnmarshalJSON reads a number or a string of two.
func (r *Range) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
		high = low
	}
	var err error
	if r.Min, err = strconv.ParseInt(low, 10, 64); err == nil {
		r.Max, err = strconv.ParseInt(high, 10, 64)
	}
	if err != nil || r.Min > r.Max {
		return fmt.Errorf("range %q: write a number or two with .. between them, the smaller one first", text)
	}
	return nil
}

// CheckedIn returns the ranges of the repository.
func CheckedIn() ([]Entry, error) { return Parse(checkedIn) }

// Parse reads ranges. It refuses a file that does not speak of every family
// exactly once, at its gate size, with a reason.
func Parse(content []byte) ([]Entry, error) {
	var file struct {
		Rows []Entry `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("ranges: %w", err)
	}
	var errs []error
	seen := make(map[string]int)
	for _, row := range file.Rows {
		seen[row.Case]++
		if strings.TrimSpace(row.Why) == "" || strings.TrimSpace(row.Commit) == "" {
			errs = append(errs, fmt.Errorf("ranges: case %s: say in why and commit where the numbers come from", row.Case))
		}
	}
	for _, f := range family.All() {
		name := nameOf(f)
		if seen[name] != 1 {
			errs = append(errs, fmt.Errorf("ranges: family %s has %d entries for case %s, want one", f.Name, seen[name], name))
		}
		delete(seen, name)
	}
	for _, row := range file.Rows {
		if seen[row.Case] > 0 {
			errs = append(errs, fmt.Errorf("ranges: case %s is no family at its gate size", row.Case))
		}
	}
	return file.Rows, errors.Join(errs...)
}

func nameOf(f *family.Family) string { return f.Name + "/" + f.Gate.String() }

// WithSlack is the range that allocations are given unless there is a reason
// for another one: none at all for none, otherwise a tenth of the count and at
// least one, for the maps of another Go release.
func WithSlack(allocations int64) Range {
	if allocations == 0 {
		return Range{}
	}
	slack := max(1, allocations/10)
	return Range{Min: allocations - slack, Max: allocations + slack}
}
