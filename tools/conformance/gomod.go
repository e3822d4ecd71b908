package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// mergeGoMod returns upstream's go.mod, extended so that the module can import
// the allocator at allocatorDir: with the allocator's own requirements, each
// in the higher of the two versions. Both lists are complete, so the result is
// too, and the go command has nothing to look up.
func mergeGoMod(upstream, allocator []byte, allocatorDir string) ([]byte, error) {
	into, err := modfile.Parse("upstream's go.mod", upstream, nil)
	if err != nil {
		return nil, err
	}
	from, err := modfile.Parse("the allocator's go.mod", allocator, nil)
	if err != nil {
		return nil, err
	}
	if into.Module == nil || from.Module == nil {
		return nil, errors.New("a go.mod without a module directive cannot be merged")
	}
	// What was merged into it before is replaced by a directory.
	isForeign := func(r *modfile.Replace) bool { return !strings.HasPrefix(r.Old.Path, oursPrefix) }
	if slices.ContainsFunc(into.Replace, isForeign) || len(from.Replace) > 0 {
		return nil, fmt.Errorf("a go.mod with replace directives cannot be merged: upstream's has %d, the allocator's %d", len(into.Replace), len(from.Replace))
	}
	have := map[string]string{}
	for _, r := range into.Require {
		if semver.Compare(have[r.Mod.Path], r.Mod.Version) < 0 { // A file may require a module twice.
			have[r.Mod.Path] = r.Mod.Version
		}
	}
	for _, r := range from.Require {
		if r.Mod.Path == into.Module.Mod.Path || semver.Compare(have[r.Mod.Path], r.Mod.Version) >= 0 {
			continue
		}
		if err := into.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
			return nil, err
		}
		have[r.Mod.Path] = r.Mod.Version
	}
	if err := into.AddRequire(from.Module.Mod.Path, "v0.0.0"); err != nil {
		return nil, err
	}
	if err := into.AddReplace(from.Module.Mod.Path, "", allocatorDir, ""); err != nil {
		return nil, err
	}
	into.Cleanup()
	merged, err := into.Format()
	if err != nil {
		return nil, err
	}
	// The parser takes ")" for a path, and prints it where it means something else.
	if _, err := modfile.Parse("the merged go.mod", merged, nil); err != nil {
		return nil, err
	}
	return merged, nil
}

// mergeGoSum is the sorted union of the lines.
func mergeGoSum(sums ...[]byte) []byte {
	var lines []string
	for _, sum := range sums {
		for line := range strings.Lines(string(sum)) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	var out bytes.Buffer
	for _, line := range slices.Compact(lines) {
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}
