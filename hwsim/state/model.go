package state

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// model is what never changes of a folder's machine. Everything that it hands out
// is shared, and not to be changed.
type model struct {
	identity machine.Identity
	// node is nil for a pool, and pool for anything else.
	node *machine.Node
	pool *hardware.FabricPool
	// base is the node with nothing plugged and without virtual functions.
	base *hardware.Node
}

func newModel(m *machine.Machine, id machine.Identity, place int) (*model, error) {
	instance := m.Instantiate(id)
	if instance.Pool != nil {
		return &model{identity: id, pool: instance.Pool, base: &hardware.Node{}}, nil
	}
	if place < 0 || place >= len(instance.Nodes) {
		return nil, fmt.Errorf("machine %s has no node at place %d; it has %d", m.Name(), place, len(instance.Nodes))
	}
	node := &instance.Nodes[place]
	base := *node.Hardware
	base.GPUs = slices.Clone(base.GPUs)
	for i := range base.GPUs {
		base.GPUs[i].SRIOV = withoutVFs(base.GPUs[i].SRIOV)
	}
	base.NICs = slices.DeleteFunc(slices.Clone(base.NICs), func(n hardware.NIC) bool { return n.IsVF() })
	for i := range base.NICs {
		base.NICs[i].SRIOV = withoutVFs(base.NICs[i].SRIOV)
	}
	return &model{identity: machine.Identity{Name: node.Name, Seed: id.Seed}, node: node, base: &base}, nil
}

func withoutVFs(s *hardware.SRIOV) *hardware.SRIOV {
	if s == nil {
		return nil
	}
	return &hardware.SRIOV{TotalVFs: s.TotalVFs}
}

// name of the node or pool.
func (m *model) name() string {
	if m.pool != nil {
		return m.pool.Name
	}
	return m.node.Name
}

// fresh is the document of a machine as it is delivered, with all that its file says
// is there, at its boot number n.
func (m *model) fresh(now time.Time, n int) *document {
	d := &document{Version: documentVersion, Time: now, Boot: m.boot(now, n), Functions: map[hardware.PCIAddress]*function{}}
	if m.node == nil {
		return d
	}
	for address, f := range functionsOf(m.base) {
		d.Functions[address] = &function{Driver: f.Driver}
	}
	d.GPUs = engine.New(m.base)
	for i := range m.node.Hardware.NICs {
		if nic := &m.node.Hardware.NICs[i]; nic.IsVF() {
			d.Functions[nic.Address] = m.presentVF(nic)
		}
	}
	return d
}

// presentVF is the entry of a virtual function that the machine's file has.
func (m *model) presentVF(nic *hardware.NIC) *function {
	plan := m.node.VFs[*nic.SRIOV.PhysicalFunction]
	v := &virtual{Physical: *nic.SRIOV.PhysicalFunction, Index: nic.SRIOV.Index, Group: nic.IOMMUGroup, Uverbs: -1,
		Interface: plan.Interface(nic.SRIOV.Index), RDMA: plan.RDMA(nic.SRIOV.Index)}
	if nic.RDMA != nil {
		v.Uverbs = nic.RDMA.Uverbs
	} else {
		v.RDMA = "" // it gets a number when a driver takes it, if there is one left
	}
	return &function{Driver: nic.Driver, Down: !nic.Up && nic.Driver == plan.Driver, Virtual: v}
}

func (m *model) boot(now time.Time, n int) Boot {
	return Boot{Number: n, ID: m.identity.BootID(n), Since: now}
}

// withPlugged is the base with the devices that a fabric has attached.
func (m *model) withPlugged(d *document) *hardware.Node {
	if len(d.Plugged) == 0 {
		return m.base
	}
	node := *m.base
	node.GPUs, node.NICs, node.FPGAs = slices.Clone(node.GPUs), slices.Clone(node.NICs), slices.Clone(node.FPGAs)
	for i := range d.Plugged {
		switch p := &d.Plugged[i]; {
		case p.GPU != nil:
			node.GPUs = append(node.GPUs, *p.GPU)
		case p.NIC != nil:
			node.NICs = append(node.NICs, *p.NIC)
		case p.FPGA != nil:
			node.FPGAs = append(node.FPGAs, *p.FPGA)
		}
	}
	sortNode(&node)
	return &node
}

func sortNode(n *hardware.Node) {
	slices.SortFunc(n.GPUs, func(a, b hardware.GPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(n.AMDGPUs, func(a, b hardware.AMDGPU) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(n.NICs, func(a, b hardware.NIC) int { return a.Address.Compare(b.Address) })
	slices.SortFunc(n.FPGAs, func(a, b hardware.FPGA) int { return a.Address.Compare(b.Address) })
}

// functionsOf are the functions of a node's devices, by address.
func functionsOf(n *hardware.Node) map[hardware.PCIAddress]*hardware.PCIFunction {
	functions := map[hardware.PCIAddress]*hardware.PCIFunction{}
	for i := range n.GPUs {
		functions[n.GPUs[i].Address] = &n.GPUs[i].PCIFunction
	}
	for i := range n.AMDGPUs {
		functions[n.AMDGPUs[i].Address] = &n.AMDGPUs[i].PCIFunction
	}
	for i := range n.NICs {
		functions[n.NICs[i].Address] = &n.NICs[i].PCIFunction
	}
	for i := range n.FPGAs {
		functions[n.FPGAs[i].Address] = &n.FPGAs[i].PCIFunction
	}
	return functions
}

// native is the driver that takes a function by itself; empty for none.
func (m *model) native(d *document, address hardware.PCIAddress) string {
	if f := d.Functions[address]; f != nil && f.Virtual != nil {
		if plan := m.node.VFs[f.Virtual.Physical]; plan != nil {
			return plan.Driver
		}
		return ""
	}
	if driver, ok := m.node.Drivers[address]; ok {
		return driver
	}
	for i := range d.Plugged {
		if p := &d.Plugged[i]; p.function().Address == address {
			return p.function().Driver
		}
	}
	return ""
}

// vfsOf are the virtual functions of a physical one, by number.
func (d *document) vfsOf(physical hardware.PCIAddress) []hardware.PCIAddress {
	var vfs []hardware.PCIAddress
	for address, f := range d.Functions {
		if f.Virtual != nil && f.Virtual.Physical == physical {
			vfs = append(vfs, address)
		}
	}
	slices.SortFunc(vfs, func(a, b hardware.PCIAddress) int {
		return d.Functions[a].Virtual.Index - d.Functions[b].Virtual.Index
	})
	return vfs
}

// addresses of all functions, sorted.
func (d *document) addresses() []hardware.PCIAddress {
	return slices.SortedFunc(maps.Keys(d.Functions), hardware.PCIAddress.Compare)
}
