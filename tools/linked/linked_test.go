package linked

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// module writes a module of three packages: "far" imports nothing, "near" is
// imported by the root, and the root's test alone imports far through near/deep.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26.0\n",
		"root.go":           "package m\n\nimport _ \"example.com/m/near\"\n",
		"root_test.go":      "package m_test\n\nimport _ \"example.com/m/near/deep\"\n",
		"near/near.go":      "package near\n",
		"near/deep/deep.go": "package deep\n\nimport _ \"example.com/m/far\"\n",
		"far/far.go":        "package far\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestChainFollowsTestsOnlyWhenAsked(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := module(t)
	for _, tests := range []bool{false, true} {
		graph, err := List(dir, tests, ".")
		if err != nil {
			t.Fatal(err)
		}
		if got := graph.Packages(); !slices.Equal(got, []string{"example.com/m"}) {
			t.Errorf("tests=%t: packages = %q, want the root alone", tests, got)
		}
		var want []string
		if tests {
			want = []string{"example.com/m_test [example.com/m.test]", "example.com/m/near/deep", "example.com/m/far"}
		}
		if got := graph.Chain("example.com/m", Below("example.com/m/far")); !slices.Equal(got, want) {
			t.Errorf("tests=%t: chain to far = %q, want %q", tests, got, want)
		}
	}
}

func TestListNamesWhatDoesNotLoad(t *testing.T) {
	t.Setenv("GOWORK", "off")
	if _, err := List(module(t), false, "./missing"); err == nil {
		t.Error("a pattern without a package gives no error")
	}
}

func TestBelowMatchesWholePathElements(t *testing.T) {
	below := Below("example.com/a")
	for path, want := range map[string]bool{"example.com/a": true, "example.com/a/b": true, "example.com/ab": false} {
		if below(path) != want {
			t.Errorf("Below(example.com/a)(%q) = %t", path, !want)
		}
	}
}
