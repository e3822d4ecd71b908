package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// pluginReport counts the tests of a suite that have no subtests, or whose names
// are as deep as the suite says. A test that is an exception counts as one, with all
// that lies beneath it, in the baseline too, where it has to pass like any other.
// The run counts only if
//
//	passed + excepted = total = want
type pluginReport struct {
	pluginSuite
	kubernetes module
	outcomes   outcomes
	options    options
}

// tests lists the tests that count, sorted.
func (r pluginReport) tests() []string {
	parents := map[string]bool{}
	for name := range r.outcomes.verdicts {
		parents[parent(name)] = true
	}
	var tests []string
	for _, name := range slices.Sorted(maps.Keys(r.outcomes.verdicts)) {
		deep := strings.Count(name, "/") + 1
		counts := !parents[name]
		if r.depth > 0 {
			counts = deep == r.depth || counts && deep < r.depth
		}
		if e, found := r.exceptionAbove(name); found && name == e.test || !found && counts {
			tests = append(tests, name)
		}
	}
	return tests
}

// exceptionAbove is the exception that the test is or lies beneath.
func (r pluginReport) exceptionAbove(test string) (exception, bool) {
	i := slices.IndexFunc(r.exceptions, func(e exception) bool {
		return test == e.test || strings.HasPrefix(test, e.test+"/")
	})
	if i < 0 {
		return exception{}, false
	}
	return r.exceptions[i], true
}

// excepted lists the exceptions that ran and need not pass.
func (r pluginReport) excepted() []string {
	var excepted []string
	for _, e := range r.exceptions {
		if _, ran := r.outcomes.verdicts[e.test]; ran && !r.options.baseline {
			excepted = append(excepted, e.test)
		}
	}
	return excepted
}

func (r pluginReport) passed() int {
	n := 0
	for _, test := range r.tests() {
		if r.outcomes.verdicts[test] == passed {
			n++
		}
	}
	return n
}

// misses lists the tests that had to pass and did not.
func (r pluginReport) misses() []string {
	excepted := r.excepted()
	return slices.DeleteFunc(r.tests(), func(test string) bool {
		return r.outcomes.verdicts[test] == passed || slices.Contains(excepted, test)
	})
}

// failedAlone lists tests that failed although everything beneath them passed.
func (r pluginReport) failedAlone() []string {
	below := map[string]bool{}
	for name, v := range r.outcomes.verdicts {
		for up := parent(name); (v == failed || slices.Contains(r.outcomes.again, name)) && up != ""; up = parent(up) {
			below[up] = true
		}
	}
	var alone []string
	tests := r.tests()
	counted := func(name string) bool {
		for ; name != ""; name = parent(name) {
			if _, found := slices.BinarySearch(tests, name); found {
				return true
			}
		}
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(r.outcomes.verdicts)) {
		if _, under := r.exceptionAbove(name); !under && r.outcomes.verdicts[name] == failed && !below[name] && !counted(name) {
			alone = append(alone, name)
		}
	}
	return alone
}

// faults says why the run does not count. It is empty only if every test passed
// that is not excepted, and if what ran is what was meant to.
func (r pluginReport) faults() []string {
	var faults []string
	fault := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	all := r.options.run == nil
	if len(r.exceptions) > r.mayExcept {
		fault("%d tests are excepted, at most %d may be", len(r.exceptions), r.mayExcept)
	}
	if total := len(r.tests()); all && total != r.want {
		fault("%d tests ran, expected %d: read what changed upstream, then correct the number", total, r.want)
	}
	for _, e := range r.exceptions {
		switch v, ran := r.outcomes.verdicts[e.test]; {
		case !ran && all:
			fault("%s is excepted and did not run", e.test)
		case ran && !r.options.baseline && v != failed:
			fault("%s is excepted and did not fail: drop the exception", e.test)
		case ran && !r.options.baseline && !strings.Contains(r.outcomes.outputBelow(e.test), e.says):
			fault("%s is excepted and failed for another reason: it does not say %q", e.test, e.says)
		}
	}
	switch marked := r.outcomes.marked(r.mark); {
	case marked && r.options.baseline:
		fault("%s was made in a run without it", r.subject)
	case !marked && !r.options.baseline && all:
		fault("%s was not made", r.subject)
	}
	if misses := r.misses(); len(misses) > 0 {
		fault("tests that did not pass: %d", len(misses))
	}
	for _, name := range r.failedAlone() {
		fault("%s failed by itself", name)
	}
	if len(faults) == 0 && len(r.excepted())+len(r.outcomes.again) == 0 && r.outcomes.exit != nil {
		fault("no test failed, but go test ended with: %v", r.outcomes.exit)
	}
	return faults
}

// marked says whether the run printed the mark of what is Dray's.
func (o outcomes) marked(mark string) bool {
	for _, text := range o.output {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// retried takes the tests that passed in a second run over.
func (o *outcomes) retried(tests []string, second outcomes) {
	for _, test := range tests {
		if second.verdicts[test] == passed {
			o.verdicts[test] = passed
			o.again = append(o.again, test)
		}
	}
}

// outputBelow is what the test and those beneath it printed.
func (o outcomes) outputBelow(test string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.output)) {
		if name == test || strings.HasPrefix(name, test+"/") {
			text.WriteString(o.output[name])
		}
	}
	return text.String()
}

func (r pluginReport) print(w io.Writer) {
	subject, suffix := r.subject, ""
	if r.options.baseline {
		subject, suffix = "upstream's own (control)", " (baseline)"
	}
	if r.options.run != nil {
		suffix += " (selected by -run)"
	}
	fmt.Fprintf(w, "%s: %s in the tests of %s %s\n", r.name, subject, r.kubernetes.Path, r.kubernetes.Version)
	excepted := r.excepted()
	for _, e := range r.exceptions {
		if slices.Contains(excepted, e.test) {
			fmt.Fprintf(w, "excepted: %s: %s\n", e.test, e.reason)
		}
	}
	for _, test := range r.outcomes.again {
		fmt.Fprintf(w, "again: %s: failed beside others, passed alone\n", test)
	}
	for _, test := range r.misses() {
		verdict := r.outcomes.verdicts[test]
		if verdict == absent {
			verdict = "did not run to its end"
		}
		fmt.Fprintf(w, "%s: %s\n%s", verdict, test, indent(r.outcomes.outputBelow(test)))
	}
	if r.options.verbose {
		r.printPassed(w)
	}
	faults := r.faults()
	for _, f := range faults {
		fmt.Fprintf(w, "fault: %s\n", f)
	}
	if len(faults) > 0 && r.outcomes.exit != nil {
		fmt.Fprintf(w, "go test: %v\n%s", r.outcomes.exit, indent(r.outcomes.output[""]))
	}
	fmt.Fprintf(w, "conformance-plugin %s%s: %d of %d, %d excepted\n", r.name, suffix, r.passed(), len(r.tests()), len(excepted))
}

func (r pluginReport) printPassed(w io.Writer) {
	for _, test := range r.tests() {
		if r.outcomes.verdicts[test] == passed {
			fmt.Fprintf(w, "passed: %s\n%s", test, indent(r.outcomes.outputBelow(test)))
		}
	}
}
