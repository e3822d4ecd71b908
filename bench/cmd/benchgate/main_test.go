package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsPrintedIsWithinRange(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pooled memory vanish at random: allocations cannot be counted")
	}
	var printed, out bytes.Buffer
	if err := run(t.Context(), []string{"-print"}, &printed, &out); err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("commit: \n", "commit: test\n", "why: \n", "why: test\n").Replace("rows:\n" + printed.String())
	file := filepath.Join(t.TempDir(), "ranges.yaml")
	check := func(content string) (string, error) {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := run(t.Context(), []string{"-ranges", file}, &out, &out)
		return out.String(), err
	}
	if out, err := check(filled); err != nil || !strings.HasSuffix(out, "within range\n") {
		t.Errorf("the gate ended with %v\n%s", err, out)
	}
	refused, err := check(strings.Replace(filled, "steps: 1\n", "steps: 0\n", 1))
	if !errors.Is(err, errOutOfRange) || !strings.Contains(refused, "F1/m=10: steps 1, more than 0\n") {
		t.Errorf("with no steps allowed the gate ended with %v\n%s", err, refused)
	}
	if _, err := check("rows: []"); err == nil || errors.Is(err, errOutOfRange) {
		t.Errorf("a file without rows ended with %v, want an error about the file", err)
	}
}
