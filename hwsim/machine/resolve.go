package machine

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Resolved is the file of the machine with everything that it refers to in it: its
// models with their tables, and the machines of a rack's members. Parsed again, it
// gives the same machine. The caller must not change what it points to.
func (m *Machine) Resolved() *File {
	file := m.file
	u := used{set: m.models, into: &Models{}, seen: map[any]bool{}}
	for _, root := range file.Roots {
		for _, function := range root.Functions {
			u.model(function.Model)
		}
	}
	for _, device := range file.Devices {
		u.model(device.Model)
	}
	file.Models = u.into
	if file.Kind == RackKind {
		file.Models = nil
		file.Machines = nil
		for _, member := range m.members {
			if !u.seen[member.machine] {
				u.seen[member.machine] = true
				file.Machines = append(file.Machines, *member.machine.Resolved())
			}
		}
	}
	return &file
}

// used collects models and tables, each once, in the order of their first use.
type used struct {
	set  *modelSet
	into *Models
	seen map[any]bool // pointers to what has been collected
}

// first says whether something is met for the first time.
func (u *used) first(p any) bool {
	if u.seen[p] {
		return false
	}
	u.seen[p] = true
	return true
}

func (u *used) model(name string) {
	model := u.set.model(name)
	if !u.first(model) {
		return
	}
	switch m := model.(type) {
	case *GPUModel:
		u.into.GPUs = append(u.into.GPUs, *m)
		if table := u.set.migTable(m.MIG); table != nil && u.first(table) {
			u.into.MIGTables = append(u.into.MIGTables, *table)
			if geometry := u.set.geometry(table.Geometry); u.first(geometry) {
				u.into.MIGGeometries = append(u.into.MIGGeometries, *geometry)
			}
		}
		if table := u.set.vgpuTable(m.VGPU); table != nil && u.first(table) {
			u.into.VGPUTables = append(u.into.VGPUTables, *table)
		}
	case *AMDGPUModel:
		u.into.AMDGPUs = append(u.into.AMDGPUs, *m)
	case *NICModel:
		u.into.NICs = append(u.into.NICs, *m)
	case *FPGAModel:
		u.into.FPGAs = append(u.into.FPGAs, *m)
	}
}

// Kinds says of what kind each model is, by its name: "GPU", "AMD GPU", "NIC" or
// "FPGA".
func (m *Models) Kinds() map[string]string {
	kinds := map[string]string{}
	for i := range m.GPUs {
		kinds[m.GPUs[i].Name] = "GPU"
	}
	for i := range m.AMDGPUs {
		kinds[m.AMDGPUs[i].Name] = "AMD GPU"
	}
	for i := range m.NICs {
		kinds[m.NICs[i].Name] = "NIC"
	}
	for i := range m.FPGAs {
		kinds[m.FPGAs[i].Name] = "FPGA"
	}
	return kinds
}

// HostsVGPUs says whether the virtual GPUs of the models matter: whether the node's
// driver hosts them.
func (f *File) HostsVGPUs() bool { return f.NVIDIA != nil && f.NVIDIA.VGPU != nil }

// AllEvidence is the evidence of the file, and of its models and machines if it is
// resolved, as far as its figures are in use. A row with a mark of its own counts as
// an entry.
func (f *File) AllEvidence() []Evidence {
	all := append([]Evidence(nil), f.Evidence...)
	for i := range f.Machines {
		all = append(all, f.Machines[i].AllEvidence()...)
	}
	m := f.Models
	if m == nil {
		return all
	}
	for i := range m.GPUs {
		all = append(all, m.GPUs[i].Evidence...)
	}
	for i := range m.AMDGPUs {
		all = append(all, m.AMDGPUs[i].Evidence...)
	}
	for i := range m.NICs {
		all = append(all, m.NICs[i].Evidence...)
	}
	for i := range m.FPGAs {
		all = append(all, m.FPGAs[i].Evidence...)
	}
	for i := range m.MIGGeometries {
		all = append(all, m.MIGGeometries[i].Evidence...)
	}
	for i := range m.MIGTables {
		all = append(all, m.MIGTables[i].Evidence...)
		for _, row := range m.MIGTables[i].Profiles {
			if row.Confidence != "" {
				all = append(all, Evidence{Of: row.Profile, Confidence: row.Confidence})
			}
		}
	}
	if f.HostsVGPUs() {
		for i := range m.VGPUTables {
			all = append(all, m.VGPUTables[i].Evidence...)
		}
	}
	return all
}

// YAML is the file as YAML, its fields in the order of the type.
func (f *File) YAML() ([]byte, error) {
	text, err := yaml.MarshalWithOptions(f, quoteConfidence)
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", f.Name, err)
	}
	return text, nil
}

// quoteConfidence keeps "?" from being a plain scalar, which other YAML parsers take
// for the beginning of a key.
var quoteConfidence = yaml.CustomMarshaler(func(c Confidence) ([]byte, error) {
	return []byte(strconv.Quote(string(c))), nil
})

// JSON is the same as JSON.
func (f *File) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", f.Name, err)
	}
	return append(text, '\n'), nil
}
