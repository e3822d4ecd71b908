package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
)

// folderFlag adds --dir, the folder of one machine.
func folderFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVarP(dir, "dir", "d", "", "the machine's folder `DIR`")
}

// openFolder opens the folder of --dir.
func openFolder(dir string) (*state.Folder, error) {
	if dir == "" {
		return nil, usageError{errors.New("--dir is missing: the folder of the machine")}
	}
	return state.Open(dir)
}

// openOrCreate opens the folders of a machine, and makes those that are missing: one,
// or of a rack one for each node, in a directory of the node's name. Without a machine
// there must be one already.
func openOrCreate(dir string, m *machine.Machine, id machine.Identity) ([]*state.Folder, error) {
	if m == nil {
		f, err := openFolder(dir)
		if errors.Is(err, state.ErrNotFolder) {
			return nil, usageError{fmt.Errorf("%w, or name the machine to make", err)}
		}
		return []*state.Folder{f}, err
	}
	if id.Name == "" {
		id.Name = m.Name()
	}
	if m.Kind() != machine.RackKind {
		f, err := openOrCreateAt(dir, m, id, 0)
		return []*state.Folder{f}, err
	}
	var folders []*state.Folder
	for place, node := range m.Instantiate(id).Nodes {
		f, err := openOrCreateAt(filepath.Join(dir, node.Name), m, id, place)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	return folders, nil
}

func openOrCreateAt(dir string, m *machine.Machine, id machine.Identity, place int) (*state.Folder, error) {
	f, err := state.CreateAt(dir, m, id, place)
	if !errors.Is(err, state.ErrExists) {
		return f, err
	}
	if f, err = state.Open(dir); err != nil {
		return nil, err
	}
	if f.Machine().Name() != m.Name() {
		return nil, fmt.Errorf("%s is the folder of a %s, not of a %s: give another folder", dir, f.Machine().Name(), m.Name())
	}
	return f, nil
}
