package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// planPlugin works out a copy of upstream's module whose NewAllocator can be
// overridden, and which can import both Dray's allocator and k8s.io/kubernetes.
func planPlugin(root string, dra, kubernetes module) (scratch, error) {
	files := map[string][]byte{}
	if err := addOverride(files, dra.Dir); err != nil {
		return scratch{}, err
	}
	var err error
	if files["go.mod"], files["go.sum"], err = pluginGoFiles(root, dra, kubernetes); err != nil {
		return scratch{}, fmt.Errorf("write a go.mod for the scratch copy: %w", err)
	}
	return scratch{
		dir:   filepath.Join(root, filepath.FromSlash(scratchRoot), "dra-plugin"),
		from:  dra,
		files: files,
	}, nil
}

// pluginGoFiles reads what pluginGoMod and mergeGoSum need. The sums are those
// that upstream has for its dependencies and the repository for upstream.
func pluginGoFiles(root string, dra, kubernetes module) (goMod, goSum []byte, err error) {
	upstream, err := os.ReadFile(filepath.Join(kubernetes.Dir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	ours, err := os.ReadFile(filepath.Join(root, allocatorDir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	if goMod, err = pluginGoMod(upstream, ours, dra, kubernetes, filepath.Join(root, allocatorDir)); err != nil {
		return nil, nil, err
	}
	names, err := filepath.Glob(filepath.Join(root, "*", "go.sum"))
	if err != nil {
		return nil, nil, err
	}
	var sums [][]byte
	for _, name := range append(names, filepath.Join(kubernetes.Dir, "go.sum"), filepath.Join(dra.Dir, "go.sum")) {
		sum, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		sums = append(sums, sum)
	}
	return goMod, mergeGoSum(sums...), nil
}

// pluginGoMod is the go.mod of k8s.io/kubernetes under the name of the copied
// module, so that tests of kubernetes run with its own dependencies and godebug
// settings. Its staging directories become their published versions.
func pluginGoMod(upstream, allocator []byte, dra, kubernetes module, allocatorDir string) ([]byte, error) {
	file, err := modfile.Parse("the go.mod of "+kubernetes.Path, upstream, nil)
	if err != nil {
		return nil, err
	}
	if file.Module == nil || file.Module.Mod.Path != kubernetes.Path {
		return nil, fmt.Errorf("anchor %q: it is not the file's module", kubernetes.Path)
	}
	var staged []string
	for _, r := range slices.Clone(file.Replace) {
		if r.Old.Version != "" || r.New.Version != "" || r.New.Path != "./staging/src/"+r.Old.Path {
			return nil, fmt.Errorf("anchor %q: %s is replaced by %s %s", "module => ./staging/src/module", r.Old, r.New.Path, r.New.Version)
		}
		staged = append(staged, r.Old.Path)
		if err := file.DropReplace(r.Old.Path, ""); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(staged, dra.Path) {
		return nil, fmt.Errorf("anchor %q: not found", dra.Path+" => ./staging/src/"+dra.Path)
	}
	if err := errors.Join(file.AddModuleStmt(dra.Path), file.DropRequire(dra.Path), file.AddRequire(kubernetes.Path, kubernetes.Version)); err != nil {
		return nil, err
	}
	file.Cleanup()
	renamed, err := file.Format()
	if err != nil {
		return nil, err
	}
	merged, err := mergeGoMod(renamed, allocator, allocatorDir)
	if err != nil {
		return nil, err
	}
	if file, err = modfile.Parse("the merged go.mod", merged, nil); err != nil {
		return nil, err
	}
	for _, path := range staged {
		if path == dra.Path {
			continue // The copy itself.
		}
		if err := file.AddReplace(path, "", path, dra.Version); err != nil {
			return nil, err
		}
	}
	file.Cleanup()
	return file.Format()
}
