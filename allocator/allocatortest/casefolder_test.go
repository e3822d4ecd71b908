package allocatortest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCaseFolderKeepsScenario(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(300) {
		s := FromSeed(seed)
		written := ExpectOutcomes("case", s, make([]Outcome, len(s.Nodes)))
		if err := WriteCase(dir, s, written); err != nil {
			t.Fatal(err)
		}
		read, expected, err := ReadCase(dir)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(s, read, asAnswered); diff != "" {
			t.Fatalf("seed %d: scenario changes on its way through a folder (-written +read)\n%s", seed, diff)
		}
		if diff := cmp.Diff(written, expected, asAnswered); diff != "" {
			t.Fatalf("seed %d: expectation changes on its way through a folder (-written +read)\n%s", seed, diff)
		}
	}
}

func TestReadCaseRefuses(t *testing.T) {
	const node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n"
	for name, test := range map[string]struct{ input, expect, want string }{
		"unknown field":  {"kind: Node\nmetadata: {nom: node-a}\n", "case: x\n", "nom"},
		"unknown kind":   {node + "---\nkind: Pod\n", "case: x\n", "kind Pod has no place"},
		"missing claim":  {node, "case: x\nclaims: [default/claim]\n", "claim default/claim of expect.yaml is not in input.yaml"},
		"idle claim":     {"kind: ResourceClaim\nmetadata: {name: c, namespace: default}\n", "case: x\n", "neither holds devices nor is named"},
		"unknown class":  {node, "case: x\nperNode:\n- {node: node-a, class: perhaps}\n", "perhaps"},
		"unknown expect": {node, "case: x\noutcom: error\n", "outcom"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{inputFile: test.input, expectFile: test.expect} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := ReadCase(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v does not say %q", name, err, test.want)
		}
	}
}
