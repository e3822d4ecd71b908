package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

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

// lookAt opens the folder of --dir for a look: also one that may not be written to.
func lookAt(dir string) (*state.Folder, *state.View, error) {
	f, err := openFolder(dir)
	var view *state.View
	if err == nil {
		view, err = f.View()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		if f, err = state.OpenReadOnly(dir); err == nil {
			view, err = f.View()
		}
	}
	return f, view, err
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
	given := id
	if id.Name == "" {
		id.Name = m.Name()
	}
	if m.Kind() != machine.RackKind {
		f, err := openOrCreateAt(dir, m, given, id, 0)
		return []*state.Folder{f}, err
	}
	nodes := m.Instantiate(id).Nodes
	for i := range nodes { // they are names of folders
		if err := checkName(id.Name, nodes[i].Name); err != nil {
			return nil, err
		}
	}
	var folders []*state.Folder
	for place := range nodes {
		f, err := openOrCreateAt(filepath.Join(dir, nodes[place].Name), m, given, id, place)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	return folders, nil
}

// checkName says why a node cannot have the name that it gets from --name.
func checkName(given, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return usageError{fmt.Errorf("--name is %q, and would name the node %q: %s", given, name, problems[0])}
	}
	return nil
}

// openOrCreateAt opens the folder at dir, which must be of the machine and have the
// name and seed that were given, or makes it.
func openOrCreateAt(dir string, m *machine.Machine, given, id machine.Identity, place int) (*state.Folder, error) {
	f, err := state.CreateAt(dir, m, id, place)
	if !errors.Is(err, state.ErrExists) {
		return f, err
	}
	if f, err = state.Open(dir); err != nil {
		return nil, err
	}
	was, err := f.Machine().Resolved().JSON()
	if err != nil {
		return nil, err
	}
	is, err := m.Resolved().JSON()
	if err != nil {
		return nil, err
	}
	switch old := f.Identity(); {
	case f.Machine().Name() != m.Name():
		return nil, fmt.Errorf("%s is the folder of a %s, not of a %s: give another folder", dir, f.Machine().Name(), m.Name())
	case !bytes.Equal(was, is):
		return nil, fmt.Errorf("%s is the folder of a %s whose file was another one: give another folder, or leave the machine's name out to open it as it is", dir, m.Name())
	case given.Name != "" && given.Name != old.Name, given.Seed != 0 && given.Seed != old.Seed:
		return nil, fmt.Errorf("%s is the folder of %s with seed %d: give another folder, or leave --name and --seed out", dir, old.Name, old.Seed)
	}
	return f, nil
}
