package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/output"
	"github.com/dray-dev/dray/bench/report"
)

func schedbench(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("schedbench %q: %v\n%s", args, err, progress.String())
	}
	return out.String(), progress.String()
}

func TestResultsGoToAFileAndComeBack(t *testing.T) {
	dir := t.TempDir()
	file, document := filepath.Join(dir, "new", "scheduler.txt"), filepath.Join(dir, "benchmarks.md")
	if err := os.WriteFile(document, []byte(report.SchedulerBegin+"\n"+report.SchedulerEnd+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	table, progress := schedbench(t, "-quick", "-run", "nodes=12/use=half$", "-out", file, "-docs", document)
	if !strings.Contains(progress, " 2 of 2  pods/nodes=12/use=half") {
		t.Errorf("progress is\n%s", progress)
	}
	if again, _ := schedbench(t, "-from", file); again != table {
		t.Errorf("the table from the file differs\n%s\nfrom the first one\n%s", again, table)
	}
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "| plugin/nodes=12/use=half |") {
		t.Errorf("the document has no row for the case\n%s", content)
	}
	if out, _ := schedbench(t, "-from", file, "-o", "json"); !json.Valid([]byte(out)) {
		t.Errorf("this is no JSON: %s", out)
	}
}

func TestProfilesOfOurPluginAreWritten(t *testing.T) {
	dir := t.TempDir()
	out, _ := schedbench(t, "-quick", "-run", "plugin/nodes=12/use=half$", "-profile", dir, "-profile-time", "50ms")
	files, err := filepath.Glob(filepath.Join(dir, "*_dray.*.pprof"))
	if err != nil || len(files) != 3 || strings.Count(out, "go tool pprof") != 3 {
		t.Errorf("files %v (%v), printed\n%s", files, err, out)
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"-run", "("}, {"-impl", "nobody"}, {"-n", "0"}, {"-limit", "0s"}, {"stray"}} {
		var usage output.UsageError
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &usage) {
			t.Errorf("schedbench %q ended with %v, want a usage error", args, err)
		}
	}
	var usage output.UsageError
	if err := run(t.Context(), []string{"-run", "^nothing$"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.As(err, &usage) {
		t.Errorf("a pattern that matches no case ended with %v, want an error that is not about usage", err)
	}
}
