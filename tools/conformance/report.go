package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// report is what is printed in the end.
type report struct {
	module   module
	suite    suite
	changes  []change
	titles   map[int]string
	outcomes outcomes
	leaves   []string
	options  options
}

func (r report) passed() int {
	n := 0
	for _, leaf := range r.leaves {
		if r.outcomes.verdicts[leaf] == passed {
			n++
		}
	}
	return n
}

// complete says whether every test passed and the go command agrees.
func (r report) complete() bool {
	return r.passed() == len(r.leaves) && r.outcomes.exit == nil && len(r.outcomes.strangers(r.leaves)) == 0
}

// explained says whether a failing test accounts for a failing go command.
// Where none does, or where tests did not end, the output that belongs to no
// test has to say what happened.
func (r report) explained() bool {
	failures := false
	for _, leaf := range r.leaves {
		switch r.outcomes.verdicts[leaf] {
		case absent:
			return false
		case failed:
			failures = true
		}
	}
	return failures
}

func (r report) print(w io.Writer) {
	subject := "Dray's allocator"
	if r.options.baseline {
		subject = "upstream's experimental allocator (control)"
	}
	fmt.Fprintf(w, "%s on the suite of %s %s\n", subject, r.module.Path, r.module.Version)
	for _, ch := range r.changes {
		fmt.Fprintf(w, "changed: %s: %s: deviation %d, %s\n", ch.name, ch.kind, ch.deviation, r.titles[ch.deviation])
	}
	if uncounted := r.suite.main.stepCountCases(); len(uncounted) > 0 {
		fmt.Fprintf(w, "step count not asserted in %d cases, because it describes upstream's search; their answers are compared\n", len(uncounted))
		if r.options.verbose {
			fmt.Fprint(w, indent(strings.Join(uncounted, "\n")))
		}
	}
	for _, leaf := range r.leaves {
		r.printLeaf(w, leaf)
	}
	for _, name := range slices.Sorted(slices.Values(r.outcomes.strangers(r.leaves))) {
		fmt.Fprintf(w, "not in the tables: %s\n", name)
	}
	if r.outcomes.exit != nil && !r.explained() {
		fmt.Fprintf(w, "go test: %v\n%s", r.outcomes.exit, indent(r.outcomes.output[""]))
	}
	suffix := ""
	if r.options.run != nil {
		suffix = fmt.Sprintf(" (of %d, selected by -run)", r.suite.size())
	}
	fmt.Fprintf(w, "conformance: %d of %d%s\n", r.passed(), len(r.leaves), suffix)
}

func (r report) printLeaf(w io.Writer, leaf string) {
	v := r.outcomes.verdicts[leaf]
	output := indent(r.outcomes.output[leaf])
	switch v {
	case passed:
		if r.options.verbose {
			fmt.Fprintf(w, "passed: %s\n%s", leaf, output)
		}
	case absent:
		fmt.Fprintf(w, "did not run to its end: %s\n%s", leaf, output)
	case failed:
		fmt.Fprintf(w, "failed: %s\n%s", leaf, output)
	case skipped:
		fmt.Fprintf(w, "skipped, without a reason that counts: %s\n%s", leaf, output)
	}
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}
