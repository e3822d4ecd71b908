package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed adapter/*.txt
var adapterFiles embed.FS

// stampFile in the scratch copy holds the key of the inputs that it was
// written from. It is written last, so a copy that was interrupted has none.
const stampFile = ".dray-inputs"

// scratch is a copy of upstream's module, to be.
type scratch struct {
	dir   string
	from  module
	files map[string][]byte // added or replaced, by slash path in the module
	bare  bool              // files is all there is
}

// plan works out the whole content of the copy without writing anything: what
// differs from upstream's module is in files.
func plan(root string, m module, s suite, changes []change, baseline bool) (scratch, error) {
	name := "dra"
	if baseline {
		name = "dra-baseline"
	}
	files, err := plannedFiles(root, m, s, changes, baseline)
	if err != nil {
		return scratch{}, err
	}
	return scratch{dir: filepath.Join(root, filepath.FromSlash(scratchRoot), name), from: m, files: files}, nil
}

func plannedFiles(root string, m module, s suite, changes []change, baseline bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	parts := []func(map[string][]byte) error{
		func(files map[string][]byte) error {
			patched, err := s.patchSuite(changes)
			files[s.main.file] = patched
			return err
		},
		func(files map[string][]byte) error { return addAdapter(files, baseline) },
	}
	if !baseline {
		parts = append(parts,
			func(files map[string][]byte) error { return addOverride(files, m.Dir) },
			func(files map[string][]byte) error {
				return addGoMod(files, m.Dir, filepath.Join(root, allocatorDir))
			})
	}
	for _, part := range parts {
		if err := part(files); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addAdapter adds the test package that runs the suite, on Dray's allocator
// or on upstream's.
func addAdapter(files map[string][]byte, baseline bool) error {
	allocator := "dray_test.go"
	if baseline {
		allocator = "upstream_test.go"
	}
	for _, name := range []string{"suite_test.go", allocator} {
		src, err := adapterFiles.ReadFile("adapter/" + name + ".txt")
		if err != nil {
			return err
		}
		files[path.Join(adapterDir, name)] = src
	}
	return nil
}

func addGoMod(files map[string][]byte, upstreamDir, allocatorDir string) error {
	var contents [4][]byte
	for i, name := range []string{
		filepath.Join(upstreamDir, "go.mod"), filepath.Join(allocatorDir, "go.mod"),
		filepath.Join(upstreamDir, "go.sum"), filepath.Join(allocatorDir, "go.sum"),
	} {
		src, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("write a go.mod for the scratch copy: %w", err)
		}
		contents[i] = src
	}
	merged, err := mergeGoMod(contents[0], contents[1], allocatorDir)
	if err != nil {
		return fmt.Errorf("write a go.mod for the scratch copy: %w", err)
	}
	files["go.mod"] = merged
	files["go.sum"] = mergeGoSum(contents[2], contents[3])
	return nil
}

// key identifies the content of the copy.
func (s scratch) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s@%s %s\n", s.from.Path, s.from.Version, s.from.Sum)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(s.files[name]), s.files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// prepare makes the copy be there: the one from before if it has the same key,
// or else one written from nothing.
func (s scratch) prepare(fresh bool, say func(string, ...any)) error {
	stamp := filepath.Join(s.dir, stampFile)
	if !fresh {
		have, err := os.ReadFile(stamp)
		if err == nil && string(have) == s.key() {
			say("reusing the scratch copy %s", s.dir)
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for an earlier scratch copy: %w", err)
		}
	}
	say("copying %s %s to %s", s.from.Path, s.from.Version, s.dir)
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the earlier scratch copy: %w", err)
	}
	if !s.bare {
		if err := copyTree(s.from.Dir, s.dir); err != nil {
			return fmt.Errorf("copy %s: %w", s.from.Path, err)
		}
	}
	for name, content := range s.files {
		if err := writeFile(filepath.Join(s.dir, filepath.FromSlash(name)), content); err != nil {
			return fmt.Errorf("write the scratch copy: %w", err)
		}
	}
	if err := writeFile(stamp, []byte(s.key())); err != nil {
		return fmt.Errorf("write the scratch copy: %w", err)
	}
	return nil
}

// copyTree copies regular files, as writable ones: the module cache is
// read-only. Upstream's tests are left out, apart from the suite, which is not
// in files of that name; they would only have to be kept compiling.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file", name)
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return writeFile(filepath.Join(to, relative), content)
	})
}

func writeFile(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}
