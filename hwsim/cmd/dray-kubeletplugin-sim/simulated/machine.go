package simulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/command"
)

// Machine is a command.Machine over hardware folders.
type Machine struct {
	// Step and Clock are for tests: see command.Node and state.WithClock.
	Step  func(what string)
	Clock state.Clock

	dirs []string
	// machine to make, and its identity.
	machine, name string
	seed          uint64
}

// Simulated implements command.Machine.
func (*Machine) Simulated() bool { return true }

// Flags implements command.Machine.
func (m *Machine) Flags(set *pflag.FlagSet) {
	set.StringSliceVar(&m.dirs, "dir", nil, "`DIR` of a simulated machine, or with a folder for each of several; can be repeated")
	set.StringVar(&m.machine, "machine", "", "`NAME` of the machine to make in --dir if there is none (see hwsim machines)")
	set.StringVar(&m.name, "node-name", "", "`NAME` of the node, of a machine that is made; else the machine's")
	set.Uint64Var(&m.seed, "seed", 0, "`NUMBER` that sets the UUIDs of machines of one name apart")
}

// Nodes implements command.Machine.
func (m *Machine) Nodes() ([]command.Node, error) {
	if len(m.dirs) == 0 {
		return nil, errors.New("--dir is missing: the folder of a simulated machine")
	}
	var nodes []command.Node
	for _, dir := range m.dirs {
		folders, err := m.open(dir)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			if slices.ContainsFunc(nodes, func(n command.Node) bool { return n.Name == folder.Name() }) {
				return nil, fmt.Errorf("%s: there is another node of the name %s", folder.Dir(), folder.Name())
			}
			node, err := m.nodeOf(folder)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

func (m *Machine) options() []state.Option {
	if m.Clock == nil {
		return nil
	}
	return []state.Option{state.WithClock(m.Clock)}
}

// open opens the machine of a folder, makes it, or opens those in the folders below.
func (m *Machine) open(dir string) ([]*state.Folder, error) {
	folder, err := state.Open(dir, m.options()...)
	if err == nil {
		return []*state.Folder{folder}, nil
	}
	if !errors.Is(err, state.ErrNotFolder) {
		return nil, err
	}
	if m.machine != "" {
		made, err := machine.Load(m.machine)
		if err != nil {
			return nil, err
		}
		if made.Kind() == machine.RackKind {
			return nil, fmt.Errorf("--machine: %s is a rack: make its folders with hwsim run", m.machine)
		}
		id := machine.Identity{Name: m.name, Seed: m.seed}
		if id.Name == "" {
			id.Name = made.Name()
		}
		folder, err := state.Create(dir, made, id, m.options()...)
		if err != nil {
			return nil, err
		}
		return []*state.Folder{folder}, nil
	}
	entries, _ := os.ReadDir(dir)
	var folders []*state.Folder
	for _, entry := range entries {
		below, openErr := state.Open(filepath.Join(dir, entry.Name()), m.options()...)
		if errors.Is(openErr, state.ErrNotFolder) {
			continue
		}
		if openErr != nil {
			return nil, openErr
		}
		folders = append(folders, below)
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%w, or name it with --machine", err)
	}
	return folders, nil
}

// nodeOf is the node of a folder, whose driver obeys the folder's instructions.
func (m *Machine) nodeOf(folder *state.Folder) (command.Node, error) {
	host := folder.Host()
	if host == nil {
		return command.Node{}, fmt.Errorf("%s is a fabric pool, and a driver needs a node", folder.Dir())
	}
	o := newObedience(folder)
	node := command.Node{Name: folder.Name(), Host: host, GPUs: folder.GPULibrary(), Interfere: o.interference(), Wrap: o.wrap, Step: m.Step}
	if m.Clock != nil {
		node.Clock = m.Clock
	}
	return node, nil
}
