package main

import (
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/output/outputtest"
	"github.com/dray-dev/dray/bench/report"
)

func TestResultsGoToAFileAndComeBack(t *testing.T) {
	outputtest.RoundTrip(t, tool(), "^(F1/m=8|warm/n=8)$", " 2 of 2  warm/n=8", "F1/m=8", report.AllocatorBegin, report.AllocatorEnd)
}

func TestOneImplementationCanBeMeasured(t *testing.T) {
	out, _ := outputtest.Run(t, tool(), "-quick", "-run", "^F1/m=1$", "-impl", "dray", "-o", "go")
	if strings.Count(out, "impl=dray") != 2 || strings.Contains(out, "impl=incubating") {
		t.Errorf("got\n%s", out)
	}
}
