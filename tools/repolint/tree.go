package repolint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree holds the files of a repository: slash-separated path from the root to
// content. A Tree is not changed by any check.
type Tree map[string]string

// Load reads the repository whose root is dir: the files that git tracks, and
// those that it neither tracks nor ignores, so that a rule speaks before the
// commit. Symbolic links and files deleted from the work tree are left out.
func Load(dir string) (Tree, error) {
	// The command line is one of the places where git accepts safe.directory; a
	// continuous integration machine often checks out as somebody else.
	list := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z",
		"--cached", "--others", "--exclude-standard")
	list.Dir = dir
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s with git: %w", dir, err)
	}
	tree := Tree{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the repository: %w", err)
		}
		tree[name] = string(content)
	}
	return tree, nil
}

// paths returns, sorted, the paths for which keep is true.
func (t Tree) paths(keep func(string) bool) []string {
	var paths []string
	for name := range t {
		if keep(name) {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	return paths
}

// hasDir says whether some file lies in or below the directory.
func (t Tree) hasDir(dir string) bool {
	if dir == "." {
		return true
	}
	for name := range t {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// modules returns, sorted, the directories that hold a go.mod, without test
// data.
func (t Tree) modules() []string {
	files := t.paths(func(name string) bool { return path.Base(name) == "go.mod" && !outsideBuild(name) })
	for i, name := range files {
		files[i] = path.Dir(name)
	}
	return files
}

// goFiles returns, sorted, the Go files that belong to packages: like the go
// command it passes over testdata and names that begin with a dot or an
// underscore. Build constraints are not looked at: a rule holds on every
// platform.
func (t Tree) goFiles() []string {
	return t.paths(func(name string) bool { return path.Ext(name) == ".go" && !outsideBuild(name) })
}

// outsideBuild says whether the go command ignores a file because of its path.
func outsideBuild(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if element == "testdata" || element == "vendor" || element[0] == '.' || element[0] == '_' {
			return true
		}
	}
	return false
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// Finding is one violation of a rule.
type Finding struct {
	Path    string // file or directory, from the root
	Line    int    // 0 when the whole file or directory is meant
	Problem string // what is wrong
	Why     string // the reason for the rule, or what to do
}

// String gives the finding on one line, in the form that editors can follow.
func (f Finding) String() string {
	place := f.Path
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return fmt.Sprintf("%s: %s: %s", place, f.Problem, f.Why)
}

// lineAt is the number of the line that holds the byte at offset.
func lineAt(content string, offset int) int {
	return 1 + strings.Count(content[:min(offset, len(content))], "\n")
}
