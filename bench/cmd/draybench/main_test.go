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

func draybench(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("draybench %q: %v\n%s", args, err, progress.String())
	}
	return out.String(), progress.String()
}

func TestResultsGoToAFileAndComeBack(t *testing.T) {
	dir := t.TempDir()
	file, document := filepath.Join(dir, "new", "results.txt"), filepath.Join(dir, "benchmarks.md")
	if err := os.WriteFile(document, []byte("# By hand\n\n"+report.AllocatorBegin+"\n"+report.AllocatorEnd+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	table, progress := draybench(t, "-quick", "-run", "^(F1/m=8|warm/n=8)$", "-out", file, "-docs", document)
	if !strings.Contains(progress, " 2 of 2  warm/n=8") {
		t.Errorf("progress is\n%s", progress)
	}
	if again, _ := draybench(t, "-from", file); again != table {
		t.Errorf("the table from the file differs\n%s\nfrom the first one\n%s", again, table)
	}
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "| F1/m=8 |") {
		t.Errorf("the document has no row for the case\n%s", content)
	}
	if out, _ := draybench(t, "-from", file, "-o", "json"); !json.Valid([]byte(out)) {
		t.Errorf("this is no JSON: %s", out)
	}
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := draybench(t, "-from", file, "-o", "go"); out != string(lines) {
		t.Errorf("the Go benchmark format differs from the file's\n%s", out)
	}
}

func TestOneImplementationCanBeMeasured(t *testing.T) {
	out, _ := draybench(t, "-quick", "-run", "^F1/m=1$", "-impl", "dray", "-o", "go")
	if strings.Count(out, "impl=dray") != 2 || strings.Contains(out, "impl=incubating") {
		t.Errorf("got\n%s", out)
	}
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"-run", "("}, {"-impl", "nobody"}, {"-n", "0"}, {"-limit", "0s"}, {"-limit", "-1s"}, {"stray"}, {"-nothing"}} {
		var usage output.UsageError
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &usage) {
			t.Errorf("draybench %q ended with %v, want a usage error", args, err)
		}
	}
	var usage output.UsageError
	if err := run(t.Context(), []string{"-from", filepath.Join(t.TempDir(), "none")}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.As(err, &usage) {
		t.Errorf("a missing file ended with %v, want an error that is not about usage", err)
	}
}
