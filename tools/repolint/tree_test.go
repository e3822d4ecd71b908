package repolint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestLoadReadsTrackedAndNewFilesButNotIgnoredOnes(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		command := exec.Command("git", args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	write(".gitignore", "ignored\n")
	write("ignored", "")
	write("tracked", "content\n")
	write("deleted", "")
	git("add", "tracked", "deleted")
	write("new file", "")
	if err := os.Remove(filepath.Join(dir, "deleted")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tracked", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}

	tree, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := tree.paths(func(string) bool { return true })
	if want := []string{".gitignore", "new file", "tracked"}; !slices.Equal(got, want) {
		t.Errorf("files = %q, want %q", got, want)
	}
	if tree["tracked"] != "content\n" {
		t.Errorf("content = %q", tree["tracked"])
	}
}

func TestLoadNeedsARepository(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a directory that does not exist gives no error")
	}
}

func TestGoFilesAreThoseOfPackages(t *testing.T) {
	tree := Tree{"a/a.go": "", "a/testdata/b.go": "", "_old/c.go": "", ".hidden/d.go": "", "a/e.md": ""}
	if got := tree.goFiles(); !slices.Equal(got, []string{"a/a.go"}) {
		t.Errorf("Go files = %q, want a/a.go alone", got)
	}
}

func TestFindingNamesItsPlace(t *testing.T) {
	if got := (Finding{"a/b.go", 3, "wrong", "because"}).String(); got != "a/b.go:3: wrong: because" {
		t.Errorf("with a line: %s", got)
	}
	if got := (Finding{"a", 0, "wrong", "because"}).String(); got != "a: wrong: because" {
		t.Errorf("without a line: %s", got)
	}
}
