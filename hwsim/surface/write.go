package surface

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Write makes dir the surface of a node. The directory may be missing, empty, or
// a surface, which is replaced; of anything else it says that it is in the way.
// After an error dir is as it was and nothing is left beside it.
//
// The surface is complete at once: it is written beside dir, and takes the place
// of another in one step. On systems that cannot do that, with RENAME_EXCHANGE of
// Linux, there is a moment without either. A writer that is killed leaves a folder
// .NAME.hwsim-NUMBER beside dir; the next Write to dir removes it, and puts the
// surface back that was there if the writer was killed in that moment.
func Write(dir string, node *hardware.Node) error {
	staged, err := Stage(dir, node)
	if err != nil {
		return err
	}
	defer staged.Discard()
	return staged.Commit()
}

// Staged is a surface that is complete and not yet in its place.
type Staged struct {
	dir  string
	work *workFolder
}

// Stage does what Write does but for the last step, so that several surfaces can be
// put in their places together or not at all. Discard must be called in the end.
func Stage(dir string, node *hardware.Node) (*Staged, error) {
	staged, err := stage(dir, node)
	if err != nil {
		return nil, fmt.Errorf("surface of a node: %w", err)
	}
	return staged, nil
}

func stage(dir string, node *hardware.Node) (*Staged, error) {
	if err := node.Validate(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // what a link leads to is replaced, not the link
	}
	if err := removeLeftovers(dir); err != nil {
		return nil, err
	}
	free, err := empty(dir)
	if err != nil {
		return nil, advise(dir, err)
	}
	if !free {
		if err := checkMarker(dir); err != nil {
			return nil, fmt.Errorf("%w; it is not empty and will not be overwritten: give another directory", err)
		}
	}
	work, err := newWork(dir)
	if err != nil {
		return nil, advise(dir, err)
	}
	staged := &Staged{dir, work}
	err = build(node).write(work.made())
	if err == nil {
		err = check(work.made(), node)
	}
	if err != nil {
		staged.Discard()
		return nil, err
	}
	return staged, nil
}

// Commit puts the surface in its place. After an error what was there is there
// again.
func (s *Staged) Commit() error {
	if err := replace(s.work, s.dir, exchange); err != nil {
		return fmt.Errorf("surface of a node: %w", advise(s.dir, err))
	}
	return nil
}

// Discard removes what Stage made and Commit did not use, and the surface that
// Commit replaced.
func (s *Staged) Discard() { s.work.remove() }

// replace puts what was made at dir. What was there is in the work folder then.
func replace(work *workFolder, dir string, exchange func(a, b string) error) error {
	for {
		err := exchange(work.made(), dir)
		if err != nil && cannotExchange(err) {
			return replaceInTwoSteps(work, dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// There is nothing to exchange, unless another writer is quicker.
		if err := os.Rename(work.made(), dir); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func replaceInTwoSteps(work *workFolder, dir string) error {
	err := os.Rename(dir, work.old())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	replaced := err == nil
	if err := os.Rename(work.made(), dir); err != nil {
		if replaced {
			err = errors.Join(err, os.Rename(work.old(), dir))
		}
		return err
	}
	return nil
}

// advise adds to errors of the directory and the one above it what to do.
func advise(dir string, err error) error {
	parent := filepath.Dir(dir)
	switch {
	case isMountPoint(err):
		return fmt.Errorf("%s is a mount point or in use, and cannot be replaced: give a directory below it: %w", dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return fmt.Errorf("%s cannot be made in %s: give a directory in one that you may write to: %w", dir, parent, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be made in %s, which is missing: make that first: %w", dir, parent, err)
	}
	return err
}

// errReadOnly is of a file system.
const errReadOnly = syscall.EROFS

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
func build(node *hardware.Node) *tree { return buildRunning(node, nil) }

// buildRunning makes those of one that runs, unless running is nil.
func buildRunning(node *hardware.Node, running *Running) *tree {
	t := newTree()
	t.raw(marker, version)
	s := &surface{tree: t, node: node, running: running}
	if running != nil {
		s.runningMachine()
	}
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
	node    *hardware.Node
	running *Running // nil for a machine that only is
}
