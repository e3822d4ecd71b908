package surface

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Write makes dir the surface of a node. The directory may be missing, empty, or
// a surface, which is replaced; of anything else it says that it is in the way.
// After an error dir is as it was and nothing is left beside it.
//
// The surface is complete at once: it is written beside dir and renamed. While it
// takes the place of another, there is a moment without either.
func Write(dir string, node *hardware.Node) error {
	staged, err := Stage(dir, node)
	if err != nil {
		return err
	}
	defer staged.Discard()
	return staged.Commit()
}

// Staged is a surface that is complete and not yet in its place.
type Staged struct{ dir, work string }

// Stage does what Write does but for the last step, so that several surfaces can be
// put in their places together or not at all. Discard must be called in the end.
func Stage(dir string, node *hardware.Node) (*Staged, error) {
	if err := node.Validate(); err != nil {
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	free, err := empty(dir)
	if err != nil {
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	if !free {
		if err := checkMarker(dir); err != nil {
			return nil, fmt.Errorf("%w; it is not empty and will not be overwritten: give another directory", err)
		}
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // what a link leads to is replaced, not the link
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	staged := &Staged{dir, work}
	err = build(node).write(staged.made())
	if err == nil {
		err = check(staged.made(), node)
	}
	if err != nil {
		staged.Discard()
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	return staged, nil
}

func (s *Staged) made() string { return filepath.Join(s.work, "new") }

// Commit puts the surface in its place. After an error what was there is there
// again.
func (s *Staged) Commit() error {
	if err := replace(s.made(), s.dir, filepath.Join(s.work, "old")); err != nil {
		return fmt.Errorf("surface of a node: %w", err)
	}
	return nil
}

// Discard removes what Stage made and Commit did not use, and the surface that
// Commit replaced.
func (s *Staged) Discard() { os.RemoveAll(s.work) }

// replace renames made to dir; what was there goes to old.
func replace(made, dir, old string) error {
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	replaced := err == nil
	if err := os.Rename(made, dir); err != nil {
		if replaced {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return err
	}
	return nil
}

// check reads the node back.
func check(dir string, node *hardware.Node) error {
	host, err := Open(dir)
	if err != nil {
		return err
	}
	got, err := hardware.Discover(host, gpulib.New(node))
	if err != nil {
		return fmt.Errorf("it cannot be read back: %w", err)
	}
	if at, wrote, read := difference(node, got); at != nil {
		return fmt.Errorf("%s: %s cannot be expressed by a machine's files: it reads back as %s", at, wrote, read)
	}
	return nil
}

// build makes the files of a valid node.
func build(node *hardware.Node) *tree {
	t := newTree()
	t.raw(marker, version)
	s := &surface{tree: t, node: node}
	s.system()
	s.functions()
	s.nvidia()
	s.amdGPUs()
	for i := range node.NICs {
		s.nic(&node.NICs[i])
	}
	s.fpgas()
	s.procDevices()
	return t
}

// surface is a tree under construction.
type surface struct {
	*tree
	node *hardware.Node
}
