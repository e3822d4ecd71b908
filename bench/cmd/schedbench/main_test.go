package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/output/outputtest"
	"github.com/dray-dev/dray/bench/report"
)

func TestResultsGoToAFileAndComeBack(t *testing.T) {
	outputtest.RoundTrip(t, tool(), "nodes=12/use=half$", " 2 of 2  pods/nodes=12/use=half", "plugin/nodes=12/use=half", report.SchedulerBegin, report.SchedulerEnd)
}

func TestProfilesOfOurPluginAreWritten(t *testing.T) {
	dir := t.TempDir()
	out, _ := outputtest.Run(t, tool(), "-quick", "-run", "plugin/nodes=12/use=half$", "-profile", dir, "-profile-time", "50ms")
	files, err := filepath.Glob(filepath.Join(dir, "*_dray.*.pprof"))
	if err != nil || len(files) != 3 || strings.Count(out, "go tool pprof") != 3 {
		t.Errorf("files %v (%v), printed\n%s", files, err, out)
	}
}

func TestAPatternThatMatchesNoCaseIsNoWrongUsage(t *testing.T) {
	var usage output.UsageError
	if err := tool().Run(t.Context(), []string{"-run", "^nothing$"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.As(err, &usage) {
		t.Errorf("ended with %v, want an error that is not about usage", err)
	}
}
