package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// The copies, directories of a module that has nothing else: upstream's plugin with
// its tests, and the integration tests.
const (
	copiesModule = oursPrefix + "conformance"
	pluginCopy   = "dynamicresources"
)

// pluginMark is what the adapters print when our plugin is made for the first time.
const pluginMark = "conformance: DrayDynamicResources is made"

// planCopies works out a module with copies of upstream's tests in which our plugin
// stands in for upstream's. It is built on the dependencies of k8s.io/kubernetes.
func planCopies(root string, dra, kubernetes module) (scratch, error) {
	files := map[string][]byte{}
	if err := addPluginCopy(files, kubernetes.Dir); err != nil {
		return scratch{}, err
	}
	if err := addIntegrationCopy(files, root, kubernetes.Dir); err != nil {
		return scratch{}, err
	}
	goMod, err := copiesGoMod(root, dra, kubernetes)
	if err != nil {
		return scratch{}, fmt.Errorf("write a go.mod for the copies: %w", err)
	}
	files["go.mod"] = goMod
	if files["go.sum"], err = kubernetesGoSum(root, dra, kubernetes); err != nil {
		return scratch{}, fmt.Errorf("write a go.sum for the copies: %w", err)
	}
	return scratch{
		dir:   filepath.Join(root, filepath.FromSlash(scratchRoot), "plugin"),
		from:  kubernetes,
		files: files,
		bare:  true,
	}, nil
}

// copiesGoMod is the go.mod of k8s.io/kubernetes under our name, with the modules
// of ours that the adapters import.
func copiesGoMod(root string, dra, kubernetes module) ([]byte, error) {
	upstream, err := os.ReadFile(filepath.Join(kubernetes.Dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	merged, staged, err := renameKubernetes(upstream, copiesModule, kubernetes)
	if err != nil {
		return nil, err
	}
	for _, sibling := range []string{allocatorDir, schedulerDir} {
		dir := filepath.Join(root, sibling)
		ours, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		if ours, err = dropReplaces(ours, staged); err != nil {
			return nil, fmt.Errorf("%s/go.mod: %w", sibling, err)
		}
		if merged, err = mergeGoMod(merged, ours, dir); err != nil {
			return nil, fmt.Errorf("%s/go.mod: %w", sibling, err)
		}
	}
	return pinStaged(merged, staged, dra.Version)
}

// dropReplaces takes those replacements out of a go.mod of ours that the copies
// have, too: of staging modules and siblings.
func dropReplaces(goMod []byte, staged []string) ([]byte, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, name := range staged {
		known[name] = true
	}
	for _, r := range append([]*modfile.Replace(nil), file.Replace...) {
		if known[r.Old.Path] || strings.HasPrefix(r.Old.Path, oursPrefix) {
			if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	file.Cleanup()
	return file.Format()
}

// addGoFiles adds the Go files of a directory of upstream's under the name of the
// copy. It returns their names.
func addGoFiles(files map[string][]byte, from, to string) ([]string, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return nil, err
		}
		name := path.Join(to, entry.Name())
		files[name] = src
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no Go files", from)
	}
	return names, nil
}

// anchor is a piece of upstream's text that an edit replaces, or puts something in
// front of, wherever it is.
type anchor struct {
	text  string
	times int // how often it is there
	with  string
}

func replaceAnchors(src []byte, anchors []anchor) ([]byte, error) {
	text := string(src)
	for _, a := range anchors {
		if err := expectAnchor(a.text, strings.Count(text, a.text), a.times); err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, a.text, a.with)
	}
	return []byte(text), nil
}
