package allocatortest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expensiveExponent is what the parser of quantities would write out in digits.
var expensiveExponent = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{3,}`)

// FuzzCaseFolder reads any text as a case folder: an error, or a case that
// survives being written and read again.
func FuzzCaseFolder(f *testing.F) {
	dir := f.TempDir()
	store := func(t testing.TB, input, expect []byte) {
		t.Helper()
		for name, text := range map[string][]byte{inputFile: input, expectFile: expect} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, seed := range [][2]string{
		{"", "case: empty\n"},
		{"# only a comment\n---\n---\nkind: Node\nmetadata: {name: n}\n", "case: node\nfeatures: {AdminAccess: true}\n"},
		{"kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d, pool: {name: p, generation: 9223372036854775807, resourceSliceCount: 1}}\n", "case: large\n"},
		{"kind: DeviceClass\nmetadata: {name: c}\nspec: {config: [{opaque: {driver: d, parameters: {a: [1, null, 1.5, x]}}}]}\n", "case: parameters\n"},
		{"kind: ResourceClaim\nmetadata: {name: c}\n", "case: claim\nclaims: [/c]\nperNode: [{node: n, class: fits, results: [{devices: {results: [{device: d, shareID: s}]}}]}]\n"},
		{"{kind: ResourceClaim, metadata: {name: c, namespace: n}, status: {allocation: {devices: {results: [{consumedCapacity: {m: 1Gi}}]}}}}", "case: holder\noutcome: error\n"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, input, expect []byte) {
		if len(input)+len(expect) > 1<<14 || expensiveExponent.Match(input) || expensiveExponent.Match(expect) {
			t.Skip("too expensive to parse")
		}
		store(t, input, expect)
		read, expected, err := ReadCase(dir)
		if err != nil {
			return
		}
		if err := WriteCase(dir, read, expected); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, expectedAgain, err := ReadCase(dir)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(read, again, asAnswered); diff != "" {
			t.Errorf("the scenario changes on its way through a folder (-read +again)\n%s", diff)
		}
		if diff := cmp.Diff(expected, expectedAgain, asAnswered); diff != "" {
			t.Errorf("the expectation changes on its way through a folder (-read +again)\n%s", diff)
		}
	})
}
