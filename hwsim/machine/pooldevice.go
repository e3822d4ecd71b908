package machine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// PoolDevice is a device of a pool as the node has it that the fabric attaches it to:
// the only device of the result, on a bus of its own at the address, below a root and
// one bridge; the address is of the bus's first function. What the node numbers (minors, IOMMU groups) is the node's to set. Its
// UUID is the same on every node.
func (m *Machine) PoolDevice(name string, pool Identity, address hardware.PCIAddress) (*hardware.Node, error) {
	model := m.poolModel(name)
	if model == "" {
		return nil, fmt.Errorf("pool %s: device %q: %w", pool.Name, name, ErrNotFound)
	}
	function := FunctionFile{Model: model, Address: address}
	if card, ok := m.models.model(model).(*FPGAModel); ok && card.IDs.Vendor == amdFPGAVendor {
		// Their first function manages the card, and the second is the users'.
		function.Management = &hardware.PCIAddress{Domain: address.Domain, Bus: address.Bus, Device: address.Device}
		function.Address.Function = 1
	}
	file := NodeFile{
		NVIDIA: &NVIDIAFile{Version: "0.0", CUDA: "10.0"}, // of the node, in truth
		AMD:    &AMDFile{Version: "0.0"},
		Roots: []RootFile{{
			Root:      fmt.Sprintf("pci%04x:00", address.Domain),
			Bridges:   []hardware.PCIAddress{{Domain: address.Domain, Device: address.Bus >> 3, Function: address.Bus & 7}},
			Functions: []FunctionFile{function},
		}},
	}
	p := &problems{file: m.file.Name, kind: "machine", places: map[string]place{}}
	t := buildNode(p, "", &file, m.models)
	if err := p.err(); err != nil {
		return nil, fmt.Errorf("pool %s: device %s: %w", pool.Name, name, err)
	}
	id := Identity{Name: pool.Name + "/" + name, Seed: pool.Seed}
	node := t.instantiate(id, 0, id, 0).Hardware
	node.GPUDriver = nil
	return node, nil
}

// poolModel is the model of a pool's device, or empty.
func (m *Machine) poolModel(name string) string {
	for _, file := range m.file.Devices {
		form := file.Name
		if form == "" {
			form = file.Model + "-{n}"
		}
		for n := range file.Count {
			if strings.ReplaceAll(form, "{n}", strconv.Itoa(n)) == name {
				return file.Model
			}
		}
	}
	return ""
}

// amdFPGAVendor is AMD's PCI vendor ID of FPGA cards, which was Xilinx's.
const amdFPGAVendor = 0x10ee
