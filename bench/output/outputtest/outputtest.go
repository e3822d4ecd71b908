// Package outputtest tries a command that measures, whatever that is, as its users do.
package outputtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/output"
)

// Run runs the tool, which must succeed.
func Run(t *testing.T, tool *output.Tool, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, progress bytes.Buffer
	if err := tool.Run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%s %q: %v\n%s", tool.Name, args, err, progress.String())
	}
	return out.String(), progress.String()
}

// RoundTrip measures the cases that match, of which last is the last, and compares
// what is read from the file of results. begin and end enclose the generated part of
// a document, which gets a row for row.
func RoundTrip(t *testing.T, tool *output.Tool, match, last, row, begin, end string) {
	t.Helper()
	dir := t.TempDir()
	file, document := filepath.Join(dir, "new", "results.txt"), filepath.Join(dir, "benchmarks.md")
	if err := os.WriteFile(document, []byte("# By hand\n\n"+begin+"\n"+end+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table, progress := Run(t, tool, "-quick", "-run", match, "-out", file, "-docs", document)
	if !strings.Contains(progress, last) {
		t.Errorf("progress does not have %q:\n%s", last, progress)
	}
	if again, _ := Run(t, tool, "-from", file); again != table {
		t.Errorf("the table from the file differs\n%s\nfrom the first one\n%s", again, table)
	}
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(content), "# By hand\n") || !strings.Contains(string(content), "| "+row+" |") {
		t.Errorf("the document has no row for %s\n%s", row, content)
	}
	if out, _ := Run(t, tool, "-from", file, "-o", "json"); !json.Valid([]byte(out)) {
		t.Errorf("this is no JSON: %s", out)
	}
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := Run(t, tool, "-from", file, "-o", "go"); out != string(lines) {
		t.Errorf("the Go benchmark format differs from the file's\n%s", out)
	}
}
