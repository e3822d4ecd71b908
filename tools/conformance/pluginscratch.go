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

// pluginGoFiles is a go.mod for the copy and the sums that go with it.
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
	goSum, err = kubernetesGoSum(root, dra, kubernetes)
	return goMod, goSum, err
}

// kubernetesGoSum has the sums that upstream has for its dependencies and the
// repository for upstream.
func kubernetesGoSum(root string, dra, kubernetes module) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(root, "*", "go.sum"))
	if err != nil {
		return nil, err
	}
	var sums [][]byte
	for _, name := range append(names, filepath.Join(kubernetes.Dir, "go.sum"), filepath.Join(dra.Dir, "go.sum")) {
		sum, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return mergeGoSum(sums...), nil
}

// pluginGoMod is the go.mod of k8s.io/kubernetes under the name of the copied
// module, so that tests of kubernetes run with its own dependencies and godebug
// settings.
func pluginGoMod(upstream, allocator []byte, dra, kubernetes module, allocatorDir string) ([]byte, error) {
	renamed, staged, err := renameKubernetes(upstream, dra.Path, kubernetes)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(staged, dra.Path) {
		return nil, fmt.Errorf("anchor %q: not found", dra.Path+" => ./staging/src/"+dra.Path)
	}
	merged, err := mergeGoMod(renamed, allocator, allocatorDir)
	if err != nil {
		return nil, err
	}
	staged = slices.DeleteFunc(staged, func(path string) bool { return path == dra.Path }) // The copy itself.
	return pinStaged(merged, staged, dra.Version)
}

// renameKubernetes gives the go.mod of k8s.io/kubernetes another name, under which
// it requires k8s.io/kubernetes, and takes the replacements of its staging modules
// out, which it returns.
func renameKubernetes(upstream []byte, path string, kubernetes module) (renamed []byte, staged []string, err error) {
	file, err := modfile.Parse("the go.mod of "+kubernetes.Path, upstream, nil)
	if err != nil {
		return nil, nil, err
	}
	if file.Module == nil || file.Module.Mod.Path != kubernetes.Path {
		return nil, nil, fmt.Errorf("anchor %q: it is not the file's module", kubernetes.Path)
	}
	for _, r := range slices.Clone(file.Replace) {
		if r.Old.Version != "" || r.New.Version != "" || r.New.Path != "./staging/src/"+r.Old.Path {
			return nil, nil, fmt.Errorf("anchor %q: %s is replaced by %s %s", "module => ./staging/src/module", r.Old, r.New.Path, r.New.Version)
		}
		staged = append(staged, r.Old.Path)
		if err := file.DropReplace(r.Old.Path, ""); err != nil {
			return nil, nil, err
		}
	}
	if err := errors.Join(file.AddModuleStmt(path), file.DropRequire(path), file.AddRequire(kubernetes.Path, kubernetes.Version)); err != nil {
		return nil, nil, err
	}
	file.Cleanup()
	renamed, err = file.Format()
	return renamed, staged, err
}

// pinStaged lets staging modules, which kubernetes requires at v0.0.0, be what was
// published of them.
func pinStaged(goMod []byte, staged []string, version string) ([]byte, error) {
	file, err := modfile.Parse("the merged go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	for _, path := range staged {
		if err := file.AddReplace(path, "", path, version); err != nil {
			return nil, err
		}
	}
	file.Cleanup()
	return file.Format()
}
