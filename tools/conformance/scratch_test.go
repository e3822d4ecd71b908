package main

import (
	"bytes"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestMergedGoModTakesTheHigherVersionOfEach(t *testing.T) {
	upstream := "module example.com/up\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v1.2.0\n\texample.com/b v1.9.0\n)\n"
	ours := "module example.com/ours\n\ngo 1.26.0\n\nrequire (\n\texample.com/up v0.1.0\n\texample.com/a v1.10.0\n\texample.com/b v1.8.0\n\texample.com/c v0.1.0\n)\n"
	got, err := mergeGoMod([]byte(upstream), []byte(ours), "/repo/ours")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"module example.com/up\n", "example.com/a v1.10.0", "example.com/b v1.9.0", "example.com/c v0.1.0",
		"example.com/ours v0.0.0", "replace example.com/ours => /repo/ours",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "example.com/up v") {
		t.Errorf("the module requires itself:\n%s", got)
	}
}

func TestGoModsOfOursAreMergedOneAfterTheOther(t *testing.T) {
	staged := []string{"k8s.io/api"}
	goMod := []byte(tinyKubernetes)
	goMod, _, err := renameKubernetes(goMod, copiesModule, tinyKube)
	if err != nil {
		t.Fatal(err)
	}
	for name, ours := range map[string]string{"allocator": tinyOurMod, "scheduler": "module github.com/dray-dev/dray/scheduler\n\nrequire github.com/dray-dev/dray/allocator v0.0.0\n\n" +
		"replace k8s.io/api => k8s.io/api v0.37.2\n\nreplace github.com/dray-dev/dray/allocator => ../allocator\n"} {
		plain, err := dropReplaces([]byte(ours), staged)
		if err != nil {
			t.Fatal(err)
		}
		if goMod, err = mergeGoMod(goMod, plain, "/repo/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if goMod, err = pinStaged(goMod, staged, "v0.37.2"); err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for _, r := range file.Replace {
		replaced[r.Old.Path] = r.New.Path
	}
	if want := map[string]string{"k8s.io/api": "k8s.io/api", allocatorPath: "/repo/allocator", oursPrefix + "scheduler": "/repo/scheduler"}; !maps.Equal(replaced, want) {
		t.Errorf("replacements: %v", replaced)
	}
	// Any other replacement of ours would be lost.
	foreign := []byte("module github.com/dray-dev/dray/scheduler\n\nreplace example.com/a => example.com/b v1.0.0\n")
	if foreign, err = dropReplaces(foreign, staged); err != nil {
		t.Fatal(err)
	}
	if _, err := mergeGoMod(goMod, foreign, "/repo/scheduler"); err == nil {
		t.Error("a replacement that the copies do not have was accepted")
	}
}

func TestGoModWithReplaceIsRefused(t *testing.T) {
	plain, replaced := []byte("module example.com/up\n"), []byte("module example.com/ours\nreplace example.com/a => ../a\n")
	if _, err := mergeGoMod(plain, replaced, "/repo/ours"); err == nil {
		t.Error("no error")
	}
}

func TestMergedGoSumIsTheUnion(t *testing.T) {
	got := mergeGoSum([]byte("b v1 h1:x\na v1 h1:y\n"), []byte("a v1 h1:y\nc v1 h1:z"), nil)
	if want := "a v1 h1:y\nb v1 h1:x\nc v1 h1:z\n"; string(got) != want {
		t.Errorf("got %q", got)
	}
}

// A copy is reused while its inputs are the same, and otherwise written from
// nothing: no file of an earlier one survives.
func TestScratchCopyIsReusedOrRewritten(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, content := range map[string]string{"a.go": "a", "sub/b.go": "b", "sub/b_test.go": "test"} {
		if err := writeFile(filepath.Join(from, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(from, "a.go"), 0o444); err != nil {
		t.Fatal(err)
	}
	s := scratch{dir: dir, from: module{Path: "m", Version: "v1", Sum: "h1:1", Dir: from}, files: map[string][]byte{"a.go": []byte("patched"), "new/c.go": []byte("c")}}
	prepare := func(s scratch, fresh bool) {
		t.Helper()
		if err := s.prepare(fresh, func(string, ...any) {}); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, "left-over")
	leave := func() {
		t.Helper()
		if err := writeFile(left, nil); err != nil {
			t.Fatal(err)
		}
	}
	survives := func() bool { _, err := os.Stat(left); return err == nil }

	prepare(s, false)
	if got := tree(t, dir); !slices.Equal(got, []string{".dray-inputs=" + s.key(), "a.go=patched", "new/c.go=c", "sub/b.go=b"}) {
		t.Errorf("copy: %q", got)
	}
	leave()
	if prepare(s, false); !survives() {
		t.Error("the same inputs: the copy was written anew")
	}
	if prepare(s, true); survives() {
		t.Error("asked for a fresh copy: the old one was kept")
	}
	leave()
	if err := os.Remove(filepath.Join(dir, stampFile)); err != nil {
		t.Fatal(err)
	}
	if prepare(s, false); survives() {
		t.Error("a copy that was not finished was kept")
	}
	for _, changed := range []scratch{
		{dir: dir, from: s.from, files: map[string][]byte{"a.go": []byte("patched"), "new/c.go": []byte("C")}},
		{dir: dir, from: module{Path: "m", Version: "v1", Sum: "h1:2", Dir: from}, files: s.files},
	} {
		prepare(s, false)
		leave()
		if prepare(changed, false); survives() {
			t.Errorf("changed inputs: the copy was kept")
		}
	}
}

// tree lists a directory as name=content, sorted.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		relative, _ := filepath.Rel(dir, name)
		files = append(files, filepath.ToSlash(relative)+"="+string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// The compiler does not see the adapter in this module, nor does make lint.
func TestAdapterIsFormattedGo(t *testing.T) {
	for _, baseline := range []bool{false, true} {
		files := map[string][]byte{}
		if err := addAdapter(files, baseline); err != nil {
			t.Fatal(err)
		}
		if len(files) != 2 {
			t.Errorf("baseline %v: %d files", baseline, len(files))
		}
		for _, name := range []string{"zz_dray.go", "plugin_test.go", "extended_test.go", "integration.go"} {
			src, err := adapterFiles.ReadFile("adapter/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			files[name] = src
		}
		for name, src := range files {
			formatted, err := format.Source(src)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !bytes.Equal(formatted, src) {
				t.Errorf("%s: not formatted as gofmt does", name)
			}
		}
	}
}
