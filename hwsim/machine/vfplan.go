package machine

import (
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// VFPlan is what the virtual functions of a physical function are once they are
// made. It does not change; instances share it.
type VFPlan struct {
	// IDs and Driver of each. Driver is empty for functions that no driver takes by
	// itself, as a GPU's.
	IDs    hardware.PCIIDs
	Driver string
	// First is the address of number 0, and the others follow Stride functions apart.
	First  hardware.PCIAddress
	Stride int
	// Room is how many have a place on buses that are the physical function's.
	Room int
	// InterfaceForm and RDMAForm are names with {vf} in them, or empty.
	InterfaceForm, RDMAForm string
}

// Address of number n, from 0; false where the buses end or are another's.
func (p *VFPlan) Address(n int) (hardware.PCIAddress, bool) {
	if n < 0 || n >= p.Room {
		return hardware.PCIAddress{}, false
	}
	return p.at(n)
}

func (p *VFPlan) at(n int) (hardware.PCIAddress, bool) {
	return atRoutingID(p.First.Domain, routingID(p.First)+n*p.Stride)
}

// Interface is the name of number n's network interface; empty if the machine's file
// has none for it.
func (p *VFPlan) Interface(n int) string { return expanded(p.InterfaceForm, n) }

// RDMA is the name of number n's RDMA device, likewise.
func (p *VFPlan) RDMA(n int) string { return expanded(p.RDMAForm, n) }

// expanded is expandVF of a form that has been checked, or whose names nobody takes.
func expanded(form string, n int) string {
	name, err := expandVF(form, n)
	if err != nil {
		return ""
	}
	return name
}

// gpuVFOffset is how far NVIDIA's GPUs have their first virtual function behind the
// physical one.
const gpuVFOffset = 4

// vfPlans plans the virtual functions of every physical one. Where a file does not
// say where they are, they are in the first gap on the function's own bus that all
// of them fit into, or on the buses that follow as far as those are free.
func (b *nodeBuilder) vfPlans() map[hardware.PCIAddress]*VFPlan {
	used := map[hardware.PCIAddress]bool{}
	for address := range b.tree.functions {
		used[address] = true
	}
	for address := range b.tree.bridges {
		used[address] = true
	}
	plans := map[hardware.PCIAddress]*VFPlan{}
	var open []*function // those with a place of their choice
	for _, f := range b.found {
		if f.pci.SRIOV == nil || f.pci.IsVF() {
			continue
		}
		plan := &VFPlan{IDs: f.pci.IDs, Stride: 1}
		plans[f.pci.Address] = plan
		if m, ok := f.model.(*NICModel); ok {
			plan.IDs.Vendor, plan.IDs.Device, plan.IDs.DeviceName = m.VF.IDs.Vendor, m.VF.IDs.Device, m.VF.Device
			plan.Driver = m.VF.Driver
		}
		vfs := f.file.VFs
		if vfs != nil {
			plan.InterfaceForm, plan.RDMAForm = vfs.Interface, vfs.RDMA
		}
		if vfs == nil || vfs.First == nil {
			open = append(open, f)
			continue
		}
		plan.First, plan.Stride = *vfs.First, max(1, vfs.Stride)
		plan.Room = b.room(f, plan, used)
		plan.reserve(used)
	}
	for _, f := range open {
		b.findRoom(f, plans[f.pci.Address], used)
	}
	return plans
}

// findRoom chooses the place with the most room.
func (b *nodeBuilder) findRoom(f *function, plan *VFPlan, used map[hardware.PCIAddress]bool) {
	offset := 1
	if _, ok := f.model.(*GPUModel); ok {
		offset = gpuVFOffset
	}
	own, try := f.pci.Address, *plan
	for id := routingID(own) + offset; id <= routingID(own)|0xff && plan.Room < f.pci.SRIOV.TotalVFs; id++ {
		try.First, _ = atRoutingID(own.Domain, id)
		if try.Room = b.room(f, &try, used); try.Room > plan.Room {
			*plan = try
		}
	}
	plan.reserve(used)
}

// reserve keeps the places from other functions.
func (p *VFPlan) reserve(used map[hardware.PCIAddress]bool) {
	for n := range p.Room {
		if address, ok := p.at(n); ok {
			used[address] = true
		}
	}
}

// room is how many virtual functions have a place: one that no other function has,
// on a bus that is not below something else.
func (b *nodeBuilder) room(f *function, plan *VFPlan, used map[hardware.PCIAddress]bool) int {
	for n := range f.pci.SRIOV.TotalVFs {
		address, ok := plan.at(n)
		if !ok || used[address] && !slices.Contains(f.pci.SRIOV.VFs, address) || !b.mayBeOn(f, address) {
			return n
		}
	}
	return f.pci.SRIOV.TotalVFs
}

// mayBeOn says whether a function's virtual ones may be on the bus of an address:
// on its own, or on one that nothing else is on and nothing else leads to.
func (b *nodeBuilder) mayBeOn(f *function, address hardware.PCIAddress) bool {
	own, other := busOf(f.pci.Address), busOf(address)
	if own == other {
		return true
	}
	above, taken := b.tree.above[other]
	return !taken || above.name == b.tree.above[own].name
}

// nativeDrivers are those of the models.
func (b *nodeBuilder) nativeDrivers() map[hardware.PCIAddress]string {
	drivers := map[hardware.PCIAddress]string{}
	for _, f := range b.found {
		if f.vf != nil {
			continue
		}
		switch m := f.model.(type) {
		case *GPUModel:
			drivers[f.pci.Address] = m.Driver
		case *AMDGPUModel:
			drivers[f.pci.Address] = m.Driver
		case *NICModel:
			drivers[f.pci.Address] = m.Driver
		case *FPGAModel:
			drivers[f.pci.Address] = m.Driver
		}
	}
	return drivers
}
