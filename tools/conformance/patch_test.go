package main

import (
	"slices"
	"strings"
	"testing"
)

// tinySuite has the shape of upstream's suite, and none of its content.
const tinySuite = `package suite

import "testing"

func TestAllocator(t *testing.T, supported Features) {
	testcases := map[string]AllocatorTestCase{
		"fits": {
			expectResults: []any{one},
			expectNumAllocateOneInvocations: 7,
		},
		"fails": {
			expectError: gomega.MatchError("no"),
		},
		"counts": {
			expectResults: nil,
			expectNumAllocateOneInvocations: 12,
		},
	}
	RunTestAllocator(t, testcases)

	t.Run("interrupt", func(t *testing.T) {
		for _, name := range []string{"soon", "late"} {
			t.Run(name, func(t *testing.T) {})
		}
	})
}
`

func parseTiny(t *testing.T, src string) (table, error) {
	t.Helper()
	parsed, body, err := parseTable("tiny.go", "TestAllocator", []byte(src))
	if err != nil {
		return table{}, err
	}
	_, err = readInterrupts(body)
	return parsed, err
}

func mustParseTiny(t *testing.T, src string) table {
	t.Helper()
	parsed, err := parseTiny(t, src)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestStepCountsAreZeroedAndNothingElse(t *testing.T) {
	tiny := mustParseTiny(t, tinySuite)
	edits, err := tiny.stripStepCounts(2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := applyEdits(tiny.src, edits)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("Invocations: 7", "Invocations: 0", "Invocations: 12", "Invocations: 0").Replace(tinySuite)
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if names := tiny.stepCountCases(); !slices.Equal(names, []string{"fits", "counts"}) {
		t.Errorf("cases with step counts: %q", names)
	}
}

func TestChangedExpectations(t *testing.T) {
	for _, test := range []struct {
		change   change
		old, new string
	}{
		{
			change{"fits", 5, doesNotFit{}},
			"[]any{one}", "nil",
		},
		{
			change{"fails", 1, concernsNodeOnly{}},
			`gomega.MatchError("no")`,
			`gomega.And(gomega.MatchError(func(err error) bool { return errors.Is(err, internal.ErrFailedAllocationOnNode) }, "errors.Is ErrFailedAllocationOnNode"), gomega.MatchError("no"))`,
		},
	} {
		t.Run(test.change.name, func(t *testing.T) {
			tiny := mustParseTiny(t, tinySuite)
			edits, err := tiny.applyChanges([]change{test.change})
			if err != nil {
				t.Fatal(err)
			}
			got, err := applyEdits(tiny.src, edits)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(tinySuite, test.old, test.new, 1); string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Every edit and every table that is read must notice that upstream's text is
// not what it was, and say which piece.
func TestMissingAnchorsAreNamed(t *testing.T) {
	strip := func(want int) func(table) error {
		return func(tiny table) error { _, err := tiny.stripStepCounts(want); return err }
	}
	apply := func(ch change) func(table) error {
		return func(tiny table) error { _, err := tiny.applyChanges([]change{ch}); return err }
	}
	for name, test := range map[string]struct {
		old, new string
		edit     func(table) error
		want     []string
	}{
		"one step count fewer":   {"expectNumAllocateOneInvocations: 12,", "", strip(2), []string{"expectNumAllocateOneInvocations", "found 1", "expected 2"}},
		"one step count more":    {"", "", strip(1), []string{"expectNumAllocateOneInvocations", "found 2", "expected 1"}},
		"step count computed":    {"Invocations: 12", "Invocations: 6 + 6", strip(2), []string{"case counts", "expectNumAllocateOneInvocations", "6 + 6"}},
		"step count zero":        {"Invocations: 12", "Invocations: 0", strip(2), []string{"case counts", "expectNumAllocateOneInvocations"}},
		"case renamed":           {`"fits"`, `"suits"`, apply(change{"fits", 5, doesNotFit{}}), []string{"case fits", "found 0"}},
		"case twice":             {`"fails"`, `"fits"`, apply(change{"fits", 5, doesNotFit{}}), []string{"case fits", "found 2"}},
		"no results any more":    {"[]any{one}", "[]any{}", apply(change{"fits", 5, doesNotFit{}}), []string{"case fits", "expectResults", "[]any{}"}},
		"results field gone":     {"expectResults: []any{one},", "", apply(change{"fits", 5, doesNotFit{}}), []string{"case fits", "expectResults"}},
		"an error beside it":     {"[]any{one},", "[]any{one}, expectError: oops,", apply(change{"fits", 5, doesNotFit{}}), []string{"case fits", "expects an error"}},
		"no error any more":      {`expectError: gomega.MatchError("no"),`, "", apply(change{"fails", 1, concernsNodeOnly{}}), []string{"case fails", "expectError"}},
		"another matcher":        {"gomega.MatchError", "gomega.Equal", apply(change{"fails", 1, concernsNodeOnly{}}), []string{"case fails", "gomega.Equal"}},
		"function renamed":       {"func TestAllocator", "func TestOther", nil, []string{"func TestAllocator", "found 0"}},
		"table of another type":  {"map[string]AllocatorTestCase", "map[string]Case", nil, []string{"map[string]AllocatorTestCase", "found 0"}},
		"computed case name":     {`"fits":`, `"fi" + "ts":`, nil, []string{"tiny.go:7", "not a string literal"}},
		"interrupt renamed":      {`"interrupt"`, `"stop"`, nil, []string{"interrupt", "found 0"}},
		"interrupts not literal": {`[]string{"soon", "late"}`, "names", nil, []string{"interrupt", "not over a literal"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.old != "" && strings.Count(tinySuite, test.old) != 1 {
				t.Fatalf("%q must be in the tiny suite once", test.old)
			}
			tiny, err := parseTiny(t, strings.Replace(tinySuite, test.old, test.new, 1))
			if err == nil && test.edit != nil {
				err = test.edit(tiny)
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOverlappingEditsAreRefused(t *testing.T) {
	src := []byte("abcdef")
	for _, edits := range [][]edit{
		{{0, 3, "x"}, {2, 4, "y"}},
		{{4, 7, "x"}},
		{{3, 2, "x"}},
	} {
		if got, err := applyEdits(src, edits); err == nil {
			t.Errorf("%v: got %q, expected an error", edits, got)
		}
	}
	got, err := applyEdits(src, []edit{{4, 5, "Y"}, {1, 3, ""}, {3, 3, "+"}})
	if err != nil || string(got) != "a+dYf" {
		t.Errorf("got %q, %v", got, err)
	}
}
