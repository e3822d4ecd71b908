package machine

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Machine is a machine file that has been read, checked and joined with its
// models. It is not changed, and any goroutine may use it.
type Machine struct {
	file    File
	models  *modelSet
	node    *template               // of kind node
	members []member                // of kind rack
	devices []hardware.FabricDevice // of kind pool
}

// member is a number of equal nodes of a rack.
type member struct {
	file    MemberFile
	machine *Machine
}

//go:embed machines/*.yaml
var machineFiles embed.FS

// embedded has a function for each embedded machine that reads it once.
var embedded struct {
	once sync.Once
	load map[string]func() (*Machine, error)
}

func embeddedMachines() map[string]func() (*Machine, error) {
	embedded.once.Do(func() {
		entries, err := machineFiles.ReadDir("machines")
		if err != nil {
			panic(err) // the directory is part of the binary
		}
		embedded.load = make(map[string]func() (*Machine, error), len(entries))
		for _, entry := range entries {
			path := "machines/" + entry.Name()
			embedded.load[strings.TrimSuffix(entry.Name(), ".yaml")] = sync.OnceValues(func() (*Machine, error) {
				text, err := machineFiles.ReadFile(path)
				if err != nil {
					return nil, err
				}
				return Parse(path, text)
			})
		}
	})
	return embedded.load
}

// Names of the embedded machines, sorted.
func Names() []string {
	var names []string
	for name := range embeddedMachines() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Load returns an embedded machine. The error matches ErrNotFound if there is none
// of the name.
func Load(name string) (*Machine, error) {
	load, ok := embeddedMachines()[name]
	if !ok {
		if like := closest(name, Names()); like != "" && name != "" {
			return nil, fmt.Errorf("machine %q: %w; do you mean %q?", name, ErrNotFound, like)
		}
		return nil, fmt.Errorf("machine %q: %w; there are %s", name, ErrNotFound, strings.Join(Names(), ", "))
	}
	return load()
}

// ReadFile reads a user's machine file. What is wrong in it is a *FileError.
func ReadFile(name string) (*Machine, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("machine file: %w", err)
	}
	return Parse(name, text)
}

// Name of the machine.
func (m *Machine) Name() string { return m.file.Name }

// Kind of the machine.
func (m *Machine) Kind() Kind { return m.file.Kind }

// NodeCount is how many nodes an instance has.
func (m *Machine) NodeCount() int {
	switch m.file.Kind {
	case RackKind:
		count := 0
		for i := range m.members {
			count += m.members[i].file.Count
		}
		return count
	case PoolKind:
		return 0
	}
	return 1
}
