package surface

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// busAddress names a bridge or a function for the kernel's files.
type busAddress = hardware.PCIAddress

const busDir = "sys/bus/pci"

// vmbus is where functions hang that have no root complex: a virtual bus of the
// hypervisor.
const vmbus = "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00"

// dirOf is the directory of a function.
func dirOf(f *hardware.PCIFunction) string {
	elements := []string{"sys/devices", f.Root}
	if f.Root == "" {
		a := f.Address
		elements = []string{vmbus, fmt.Sprintf("%08x-%04x-%04x-0000-000000000000", a.Domain, a.Bus, uint16(a.Device)<<3|uint16(a.Function)),
			fmt.Sprintf("pci%04x:%02x", a.Domain, a.Bus)}
		if len(f.Bridges) > 0 { // the bus of all that is behind the bridge
			b := f.Bridges[0]
			elements = []string{vmbus, fmt.Sprintf("%08x-%04x-0000-0000-000000000000", b.Domain, b.Bus), fmt.Sprintf("pci%04x:%02x", b.Domain, b.Bus)}
		}
	}
	for _, bridge := range f.Bridges {
		elements = append(elements, bridge.String())
	}
	return path.Join(append(elements, f.Address.String())...)
}

// functions writes all functions of the node, the bridges to them, and the
// virtual functions that are no devices of the node.
func (s *surface) functions() {
	listed := map[busAddress]bool{}
	var all []*hardware.PCIFunction
	for i := range s.node.GPUs {
		all = append(all, &s.node.GPUs[i].PCIFunction)
	}
	for i := range s.node.AMDGPUs {
		all = append(all, &s.node.AMDGPUs[i].PCIFunction)
	}
	for i := range s.node.NICs {
		all = append(all, &s.node.NICs[i].PCIFunction)
	}
	for i := range s.node.FPGAs {
		all = append(all, &s.node.FPGAs[i].PCIFunction)
	}
	byAddress := map[busAddress]*hardware.PCIFunction{}
	for _, f := range all {
		listed[f.Address] = true
		byAddress[f.Address] = f
	}
	for _, f := range all {
		s.function(f)
		s.bridges(f)
		if f.SRIOV == nil || f.IsVF() {
			continue
		}
		for index, vf := range f.SRIOV.VFs {
			other := byAddress[vf]
			if !listed[vf] {
				other = s.virtualFunctionOf(f, index)
				s.function(other)
			}
			s.link(path.Join(dirOf(f), fmt.Sprintf("virtfn%d", index)), dirOf(other))
			s.link(path.Join(dirOf(other), "physfn"), dirOf(f))
		}
	}
}

// virtualFunctionOf makes up a virtual function that the node says no more of
// than its address, as of a GPU's. Drivers leave those unbound until they are
// used.
func (s *surface) virtualFunctionOf(pf *hardware.PCIFunction, index int) *hardware.PCIFunction {
	vf := *pf
	vf.Address = pf.SRIOV.VFs[index]
	vf.Driver = ""
	vf.IOMMUGroup = -1
	vf.SRIOV = &hardware.SRIOV{PhysicalFunction: &pf.Address, Index: index}
	if s.running != nil {
		state := s.running.State[vf.Address]
		vf.Driver, vf.IOMMUGroup = state.Driver, state.IOMMUGroup
	}
	return &vf
}

// function writes what the kernel says of every function.
func (s *surface) function(f *hardware.PCIFunction) {
	dir := dirOf(f)
	s.link(path.Join(busDir, "devices", f.Address.String()), dir)
	s.line(path.Join(dir, "vendor"), "0x%04x", f.IDs.Vendor)
	s.line(path.Join(dir, "device"), "0x%04x", f.IDs.Device)
	s.line(path.Join(dir, "subsystem_vendor"), "0x%04x", f.IDs.SubsystemVendor)
	s.line(path.Join(dir, "subsystem_device"), "0x%04x", f.IDs.SubsystemDevice)
	s.line(path.Join(dir, "class"), "0x%06x", f.Class)
	s.line(path.Join(dir, "numa_node"), "%d", f.NUMANode)
	s.raw(path.Join(dir, "resource"), resources(f))
	s.raw(path.Join(dir, "config"), configSpace(f))
	if f.Driver != "" {
		driver := path.Join(busDir, "drivers", f.Driver)
		s.link(path.Join(dir, "driver"), driver)
		s.link(path.Join(driver, f.Address.String()), dir)
		s.driver(f.Driver)
	}
	s.settable(f)
	if f.IOMMUGroup >= 0 {
		group := fmt.Sprintf("sys/kernel/iommu_groups/%d", f.IOMMUGroup)
		s.link(path.Join(dir, "iommu_group"), group)
		s.link(path.Join(group, "devices", f.Address.String()), dir)
	}
	if f.Driver == "vfio-pci" && f.IOMMUGroup >= 0 {
		s.device(fmt.Sprintf("vfio/%d", f.IOMMUGroup), node(majorVFIO, f.IOMMUGroup))
		s.device("vfio/vfio", node(majorMisc, minorVFIO))
	}
	if f.SRIOV != nil && !f.IsVF() {
		s.line(path.Join(dir, "sriov_totalvfs"), "%d", f.SRIOV.TotalVFs)
		s.line(path.Join(dir, "sriov_numvfs"), "%d", len(f.SRIOV.VFs))
		autoprobe := 1
		if s.running != nil && s.running.State[f.Address].NoAutoprobe {
			autoprobe = 0
		}
		s.line(path.Join(dir, "sriov_drivers_autoprobe"), "%d", autoprobe)
	}
}

// bridgeClass is a PCI to PCI bridge.
const bridgeClass = 0x060400

// bridges writes the bridges above a function. The node knows their addresses
// only; they are given the IDs of a common PCIe switch.
func (s *surface) bridges(f *hardware.PCIFunction) {
	for i, address := range f.Bridges {
		s.function(&hardware.PCIFunction{
			Address: address, Root: f.Root, Bridges: f.Bridges[:i], Class: bridgeClass,
			IDs:      hardware.PCIIDs{Vendor: 0x1000, Device: 0xc010},
			NUMANode: hardware.NoNUMANode, Driver: "pcieport", IOMMUGroup: -1,
		})
	}
}

const (
	resourceLines = 13       // six BARs, the ROM, six of SR-IOV
	memoryFlags   = 0x14220c // a prefetchable 64-bit memory BAR
	barSize       = 16 << 20
)

// resources is the file "resource": the function's first BAR at an address of
// its own, and nothing behind the others.
func resources(f *hardware.PCIFunction) string {
	const none = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
	a := f.Address
	start := uint64(1)<<46 | uint64(a.Domain)<<40 | uint64(a.Bus)<<32 | uint64(a.Device)<<27 | uint64(a.Function)<<24
	return fmt.Sprintf("0x%016x 0x%016x 0x%016x\n", start, start+barSize-1, memoryFlags) + strings.Repeat(none, resourceLines-1)
}

// configSpace is the first 256 bytes of the configuration space: the header, and
// a list of capabilities with the one of PCI Express.
func configSpace(f *hardware.PCIFunction) string {
	const (
		capabilityList = 0x10
		firstPointer   = 0x34
		pciExpress     = 0x10
		pciExpressAt   = 0x40
	)
	b := make([]byte, 256)
	put := binary.LittleEndian.PutUint16
	put(b[0x00:], f.IDs.Vendor)
	put(b[0x02:], f.IDs.Device)
	put(b[0x06:], capabilityList)
	b[0x09], b[0x0a], b[0x0b] = byte(f.Class), byte(f.Class>>8), byte(f.Class>>16)
	put(b[0x2c:], f.IDs.SubsystemVendor)
	put(b[0x2e:], f.IDs.SubsystemDevice)
	b[firstPointer] = pciExpressAt
	b[pciExpressAt] = pciExpress
	if f.Class == bridgeClass {
		b[0x0e] = 1 // the header of a bridge
	}
	return string(b)
}
