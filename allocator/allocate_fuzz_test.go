package allocator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// absurdExponent is what must not reach Kubernetes' own arithmetic, which adds up
// the allocated state and evaluates selectors: it would write the exponent out
// in digits. Our own has TestQuantitiesOfAnySizeHaveAnAnswer.
var absurdExponent = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{3,}`)

// FuzzAllocate lets the fuzzer write the objects: a case folder as text, in which
// nothing has to make sense as long as it can be read.
func FuzzAllocate(f *testing.F) {
	dir := f.TempDir()
	cases, err := filepath.Glob("difftest/testdata/cases/*")
	if err != nil || len(cases) == 0 {
		f.Fatalf("no cases to begin with: %v", err)
	}
	for _, folder := range append(cases, "testdata/small") {
		f.Add(readFile(f, folder, "input.yaml"), readFile(f, folder, "expect.yaml"))
	}
	for seed := range uint64(5) {
		s := allocatortest.FromSeed(seed)
		if err := allocatortest.WriteCase(dir, s, allocatortest.ExpectOutcomes("seed", s, make([]allocatortest.Outcome, len(s.Nodes)))); err != nil {
			f.Fatal(err)
		}
		f.Add(readFile(f, dir, "input.yaml"), readFile(f, dir, "expect.yaml"))
	}
	f.Fuzz(func(t *testing.T, input, expect []byte) {
		if len(input)+len(expect) > 1<<16 || absurdExponent.Match(input) {
			t.Skip("too large")
		}
		writeFile(t, dir, "input.yaml", input)
		writeFile(t, dir, "expect.yaml", expect)
		s, _, err := allocatortest.ReadCase(dir)
		if err != nil {
			t.Skip(err)
		}
		checkProperties(t, s)
	})
}

func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
