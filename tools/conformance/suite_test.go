package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func tinySuiteParsed(t *testing.T) suite {
	t.Helper()
	tiny, body, err := parseTable("tiny.go", "TestAllocator", []byte(tinySuite))
	if err != nil {
		t.Fatal(err)
	}
	interrupts, err := readInterrupts(body)
	if err != nil {
		t.Fatal(err)
	}
	lexical, _, err := parseTable("order.go", "TestOrder", []byte(`package suite
func TestOrder() { testcases := map[string]AllocatorTestCase{"by-name": {}} }`))
	if err != nil {
		t.Fatal(err)
	}
	return suite{main: tiny, lexical: lexical, interrupts: interrupts}
}

func TestLeavesAreThoseOfTheTables(t *testing.T) {
	s := tinySuiteParsed(t)
	want := []string{
		"TestAllocator/fits", "TestAllocator/fails", "TestAllocator/counts",
		"TestAllocator/interrupt/soon", "TestAllocator/interrupt/late",
		"TestOrder/by-name",
	}
	if got := s.leaves(nil); !slices.Equal(got, want) || s.size() != len(want) {
		t.Errorf("got %d: %q", s.size(), got)
	}
	if got := s.leaves(regexp.MustCompile("^f|late")); !slices.Equal(got, []string{want[0], want[1], want[4]}) {
		t.Errorf("selected: %q", got)
	}
}

func TestSuiteOfAnotherSizeOrVersionIsRefused(t *testing.T) {
	full := func() suite {
		return suite{
			main:       table{cases: make([]testCase, wantCases)},
			lexical:    table{cases: make([]testCase, wantLexical)},
			interrupts: make([]string, wantInterrupt),
		}
	}
	if s := full(); s.checkSize(readVersion) != nil || s.size() != 283 {
		t.Fatalf("the suite as it was read: size %d, %v", s.size(), s.checkSize(readVersion))
	}
	for name, shrink := range map[string]func(*suite){
		"case":            func(s *suite) { s.main.cases = s.main.cases[1:] },
		"new case":        func(s *suite) { s.main.cases = append(s.main.cases, testCase{}) },
		"interrupt":       func(s *suite) { s.interrupts = s.interrupts[1:] },
		"lexical":         func(s *suite) { s.lexical.cases = nil },
		"moved, same sum": func(s *suite) { s.main.cases = s.main.cases[1:]; s.interrupts = append(s.interrupts, "") },
	} {
		s := full()
		shrink(&s)
		if err := s.checkSize(readVersion); err == nil {
			t.Errorf("%s: a suite of %d was accepted", name, s.size())
		}
	}
	if err := full().checkSize("v0.99.0"); err == nil || !strings.Contains(err.Error(), "v0.99.0") {
		t.Errorf("another version: %v", err)
	}
}
