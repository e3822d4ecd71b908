package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

const tinyEvents = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestAllocator"}
{"Action":"run","Package":"p","Test":"TestAllocator/fits"}
{"Action":"output","Package":"p","Test":"TestAllocator/fits","Output":"hidden\n"}
{"Action":"pass","Package":"p","Test":"TestAllocator/fits","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestAllocator/fails","Output":"one\n"}
{"Action":"output","Package":"p","Test":"TestAllocator/fails","Output":"two\n"}
{"Action":"fail","Package":"p","Test":"TestAllocator/fails"}
{"Action":"output","Package":"p","Test":"TestAllocator/counts","Output":"not today\n"}
{"Action":"skip","Package":"p","Test":"TestAllocator/counts"}
{"Action":"pass","Package":"p","Test":"TestAllocator/interrupt/soon"}
{"Action":"pass","Package":"p","Test":"TestAllocator/interrupt/late"}
{"Action":"pass","Package":"p","Test":"TestAllocator/interrupt"}
{"Action":"run","Package":"p","Test":"TestOrder/by-name"}
{"Action":"output","Package":"p","Output":"the last words\n"}
{"Action":"fail","Package":"p","Test":"TestAllocator"}
{"Action":"fail","Package":"p"}
`

func tinyReport(t *testing.T, events string, exit error) report {
	t.Helper()
	o, err := parseEvents(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	o.exit = exit
	s := tinySuiteParsed(t)
	return report{
		module: module{Path: "example.com/up", Version: "v1.0.0"}, suite: s, leaves: s.leaves(nil), outcomes: o,
		changes: []change{{"fits", 5, doesNotFit{}}}, titles: map[int]string{5: "Fewer"},
	}
}

func printed(r report) string {
	var out strings.Builder
	r.print(&out)
	return out.String()
}

func TestReportNamesEveryCaseThatDidNotPass(t *testing.T) {
	r := tinyReport(t, tinyEvents, errors.New("exit status 1"))
	want := `Dray's allocator on the suite of example.com/up v1.0.0
changed: fits: an allocation was expected, none is now: deviation 5, Fewer
step count not asserted in 2 cases, because it describes upstream's search; their answers are compared
failed: TestAllocator/fails
    one
    two
skipped, without a reason that counts: TestAllocator/counts
    not today
did not run to its end: TestOrder/by-name
go test: exit status 1
    the last words
conformance: 3 of 6
`
	if got := printed(r); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if r.complete() {
		t.Error("a run with failures counts as complete")
	}
}

var allPass = regexp.MustCompile(`"(fail|skip|run)"`).ReplaceAllString(tinyEvents, `"pass"`)

func TestReportOfACompleteRun(t *testing.T) {
	r := tinyReport(t, allPass, nil)
	if got := printed(r); !strings.HasSuffix(got, "\nconformance: 6 of 6\n") || strings.Contains(got, "hidden") {
		t.Errorf("got:\n%s", got)
	}
	if !r.complete() {
		t.Error("not complete")
	}
	r.options.verbose = true
	if got := printed(r); !strings.Contains(got, "passed: TestAllocator/fits\n    hidden\n") || !strings.Contains(got, "are compared\n    fits\n    counts\n") {
		t.Errorf("with -v, got:\n%s", got)
	}
	r.options.run = regexp.MustCompile("fi")
	r.leaves = r.suite.leaves(r.options.run)
	if got := printed(r); !strings.HasSuffix(got, "\nconformance: 1 of 1 (of 6, selected by -run)\n") {
		t.Errorf("with -run, got:\n%s", got)
	}
}

// P equal to T is not enough: the go command has to agree, and nothing may run
// that the tables do not hold.
func TestRunThatIsNotCompleteAlthoughAllPassed(t *testing.T) {
	if r := tinyReport(t, allPass, errors.New("exit status 2")); r.complete() || !strings.Contains(printed(r), "go test: exit status 2\n    the last words\n") {
		t.Errorf("go test failed, got:\n%s", printed(r))
	}
	stranger := allPass + `{"Action":"pass","Package":"p","Test":"TestAllocator/unheard-of"}` + "\n"
	if r := tinyReport(t, stranger, nil); r.complete() || !strings.Contains(printed(r), "not in the tables: TestAllocator/unheard-of\n") {
		t.Errorf("an unknown case ran, got:\n%s", printed(r))
	}
}

func TestBrokenEventsAreAnError(t *testing.T) {
	if _, err := parseEvents(strings.NewReader(tinyEvents + "panic!\n")); err == nil {
		t.Error("no error")
	}
}

func TestRunPatternSelectsWholeNames(t *testing.T) {
	got := runPattern([]string{"TestAllocator/a.b", "TestAllocator/interrupt/off"})
	if want := `^TestAllocator$/^a\.b$|^TestAllocator$/^interrupt$/^off$`; got != want {
		t.Errorf("got %s", got)
	}
}
