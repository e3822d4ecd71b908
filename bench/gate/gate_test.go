package gate_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dray-dev/dray/bench/gate"
)

func TestRangesAreReadAsWritten(t *testing.T) {
	for text, want := range map[string]gate.Range{`7`: {Min: 7, Max: 7}, `"7..9"`: {Min: 7, Max: 9}, `0`: {}} {
		var got gate.Range
		if err := got.UnmarshalJSON([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %s with error %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`"9..7"`, `"..7"`, `"many"`, `1.5`, `""`} {
		var got gate.Range
		if err := got.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read as %s, want an error", text, got)
		}
	}
}

func TestTheFileSpeaksOfEveryFamilyOnceAndWithAReason(t *testing.T) {
	if _, err := gate.CheckedIn(); err != nil {
		t.Error(err)
	}
	content, err := os.ReadFile("ranges.yaml")
	if err != nil {
		t.Fatal(err)
	}
	firstCommit := regexp.MustCompile(`  commit: "\w+"\n`)
	for what, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a row is missing":      {bytes.Replace(content, []byte("case: F1/m=10"), []byte("case: F1/m=11"), 1), "family F1 has 0 entries"},
		"a row too many":        {append(content[:len(content):len(content)], "- {case: F99, steps: 1, commit: c, why: w}\n"...), "case F99 is no family"},
		"a commit is missing":   {firstCommit.ReplaceAll(content, []byte("  commit: \"\"\n")), "say in why and commit"},
		"a count is misspelled": {bytes.Replace(content, []byte("steps:"), []byte("stops:"), 1), "stops"},
	} {
		if _, err := gate.Parse(c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", what, err, c.want)
		}
	}
}

func TestACountOutOfItsRangeIsReported(t *testing.T) {
	entries, err := gate.CheckedIn()
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		switch entries[i].Case {
		case "F1/m=10":
			entries[i].Steps = gate.Range{}
		case "P3/n=128":
			entries[i].FirstEvaluations = gate.Range{Min: 128, Max: 128}
		case "warm/n=8":
			entries[i].Allocations = gate.Range{Min: 1000, Max: 1001}
		}
	}
	findings, err := gate.Check(t.Context(), entries)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, f := range findings {
		said[f.Case] = f.String()
	}
	for name, want := range map[string]string{
		"F1/m=10": "steps 1, more than 0", "P3/n=128": "first-cel-evals 1, less than 128", "warm/n=8": "less than 1000..1001",
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%s: reported is %q, want something with %q", name, said[name], want)
		}
	}
}

func TestAnUpdateSetsWhatIsOutOfRangeAndAsksForAReview(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pooled memory vanish at random: allocations cannot be counted")
	}
	content, err := os.ReadFile("ranges.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if updated, err := gate.Update(t.Context(), content); err != nil || !bytes.Equal(updated, content) {
		t.Errorf("what is within range became with error %v\n%s", err, updated)
	}
	stale := bytes.Replace(content, []byte("case: F1/m=10\n  steps: 1\n"), []byte("case: F1/m=10\n  steps: 5..7\n"), 1)
	updated, err := gate.Update(t.Context(), stale)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(updated, []byte("case: F1/m=10\n  steps: 1\n")) {
		t.Errorf("the stale row was not set\n%s", updated)
	}
	if _, err := gate.Parse(updated); err == nil || strings.Count(err.Error(), "say in why and commit") != 1 {
		t.Errorf("the updated file is read with error %v, want one about the commit of one row", err)
	}
}

// A gate that nothing closes would look the same as one that holds.
func TestTheGateClosesOnWaste(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another binary")
	}
	command := exec.Command("go", "run", "-tags", "draygate_waste", "github.com/dray-dev/dray/bench/cmd/benchgate")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the gate with everything done twice ended with %v, want exit code 1\n%s%s", err, output, stderr.String())
	}
	for _, want := range []string{
		`(?m)^F1/m=10: steps 2, more than 1; `,
		`(?m)^F8/g=1: steps \d+, more than \d+; `,
		`(?m)^warm/n=8: steps 8, more than 4; .*steps 8, more than upstream's 4$`,
		`(?m)^gate: \d+ of \d+ within range\n\z`,
	} {
		if !regexp.MustCompile(want).Match(output) {
			t.Errorf("the output has nothing like %s\n%s", want, output)
		}
	}
	if regexp.MustCompile(`first-cel-evals`).Match(output) {
		t.Errorf("the first operation of a process evaluates as often as before, but reported is\n%s", output)
	}
}
