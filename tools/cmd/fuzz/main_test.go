package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inModule changes to a new module whose one test file has this body.
func inModule(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26.0\n",
		"m.go":      "package m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\n" + body,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
}

func TestEveryTargetRuns(t *testing.T) {
	inModule(t, `
func FuzzOne(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }
func FuzzTwo(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }
func TestFuzzNot(t *testing.T) {}
`)
	var out bytes.Buffer
	if err := run([]string{"-fuzztime", "10x", "./..."}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--- FuzzOne in example.com/m\n", "--- FuzzTwo in example.com/m\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
	if want := "\nfuzz: 2 targets, 10x each, 0 failures\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("does not end with %q:\n%s", want, &out)
	}
}

func TestAFailingTargetIsNamed(t *testing.T) {
	inModule(t, `
func FuzzBroken(f *testing.F) { f.Fuzz(func(t *testing.T, _ int) { t.Error("broken") }) }
`)
	err := run([]string{"-fuzztime", "10x", "./..."}, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "FuzzBroken in example.com/m") {
		t.Errorf("error is %v, want one that names the target", err)
	}
}

func TestTheEndOfTheTimeIsNoFailure(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   bool
	}{
		"time":           {"--- FAIL: FuzzA (10.10s)\n    context deadline exceeded\nFAIL\nexit status 1\n", true},
		"input":          {"--- FAIL: FuzzA (0.02s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:5: broken\n    \n    Failing input written to testdata/fuzz/FuzzA/0\n", false},
		"both":           {"--- FAIL: FuzzA (10.10s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzA/0\n", false},
		"target's own":   {"--- FAIL: FuzzA (0.02s)\n        a_test.go:5: context deadline exceeded\n", false},
		"hung":           {"--- FAIL: FuzzA (3.00s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n", false},
		"does not build": {"FAIL\tm [build failed]\n", false},
	} {
		if got := outOfTime(test.output); got != test.want {
			t.Errorf("%s: out of time is %t, want %t", name, got, test.want)
		}
	}
}

func TestNothingToFuzzIsAnError(t *testing.T) {
	inModule(t, "func TestOnly(t *testing.T) {}\n")
	if err := run([]string{"./..."}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "no fuzz target") {
		t.Errorf("error is %v, want one that says so", err)
	}
}

func TestAPackageThatDoesNotCompileIsReported(t *testing.T) {
	inModule(t, "func FuzzBroken(f *testing.F) { undefined() }\n")
	if err := run([]string{"./..."}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("error is %v, want the compiler's message", err)
	}
}
