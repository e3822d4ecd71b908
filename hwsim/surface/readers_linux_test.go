package surface_test

import (
	"path/filepath"

	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/google/go-cmp/cmp"
	"k8s.io/dynamic-resource-allocation/deviceattribute"
)

func init() { otherReaders = append(otherReaders, checkDeviceAttributes, checkNVPCI) }

// functionsOf the node, of all kinds.
func functionsOf(node *hardware.Node) []*hardware.PCIFunction {
	var all []*hardware.PCIFunction
	for i := range node.GPUs {
		all = append(all, &node.GPUs[i].PCIFunction)
	}
	for i := range node.AMDGPUs {
		all = append(all, &node.AMDGPUs[i].PCIFunction)
	}
	for i := range node.NICs {
		all = append(all, &node.NICs[i].PCIFunction)
	}
	for i := range node.FPGAs {
		all = append(all, &node.FPGAs[i].PCIFunction)
	}
	return all
}

// checkDeviceAttributes compares what Kubernetes' helpers read with the node.
func checkDeviceAttributes(t reporter, dir string, node *hardware.Node) {
	t.Helper()
	sysfs := deviceattribute.WithFSFromRoot(filepath.Join(dir, "sys"))
	for _, f := range functionsOf(node) {
		address := f.Address.String()
		root, err := deviceattribute.GetPCIeRootAttributeByPCIBusID(address, sysfs)
		switch {
		case f.Root == "" && err == nil:
			t.Fatalf("%s has no root, and Kubernetes reads %s", address, *root.Value.StringValue)
		case f.Root != "" && (err != nil || *root.Value.StringValue != f.Root):
			t.Fatalf("%s has root %s, and Kubernetes reads %v, %v", address, f.Root, root.Value.StringValue, err)
		}
		scalar, err := deviceattribute.GetNUMANodeAttributeByPCIBusID(address, deviceattribute.ScalarAttribute, sysfs)
		if f.NUMANode == hardware.NoNUMANode {
			if err == nil {
				t.Fatalf("%s is on no NUMA node, and Kubernetes reads %d", address, *scalar.Value.IntValue)
			}
			continue
		}
		if err != nil || *scalar.Value.IntValue != int64(f.NUMANode) {
			t.Fatalf("%s is on NUMA node %d, and Kubernetes reads %v, %v", address, f.NUMANode, scalar.Value.IntValue, err)
		}
		if !byPosition(node.NUMANodes) {
			continue
		}
		list, err := deviceattribute.GetNUMANodeAttributeByPCIBusID(address, deviceattribute.ListAttribute, sysfs)
		if err != nil {
			t.Fatalf("%s: list of NUMA nodes: %v", address, err)
		}
		if diff := cmp.Diff(nearNodes(node, f.NUMANode), list.Value.IntValues); diff != "" {
			t.Fatalf("%s: list of NUMA nodes (-node +Kubernetes):\n%s", address, diff)
		}
	}
}

// nearNodes is the list form by its definition: the node, then those at the
// least distance that are not known to be of another socket.
func nearNodes(node *hardware.Node, id int) []int64 {
	near, own := []int64{int64(id)}, node.NUMANodes[id]
	least := 256
	for to, distance := range own.Distances {
		if to != id {
			least = min(least, distance)
		}
	}
	for to, distance := range own.Distances {
		socket := node.NUMANodes[to].Socket
		if to != id && distance == least && (socket == own.Socket || socket == hardware.NoSocket || own.Socket == hardware.NoSocket) {
			near = append(near, int64(to))
		}
	}
	return near
}

// byPosition says whether the IDs of the nodes are 0, 1, 2…: Kubernetes takes an
// ID for a position in the list of distances.
func byPosition(nodes []hardware.NUMANode) bool { return nodes[len(nodes)-1].ID == len(nodes)-1 }

// checkNVPCI compares what NVIDIA's library reads of its functions with the node.
func checkNVPCI(t reporter, dir string, node *hardware.Node) {
	t.Helper()
	devices, err := nvpci.New(nvpci.WithPCIDevicesRoot(filepath.Join(dir, "sys/bus/pci/devices")), nvpci.WithLogger(silent{})).GetAllDevices()
	if err != nil {
		t.Fatalf("nvpci: %v", err)
	}
	read := map[string]*nvpci.NvidiaPCIDevice{}
	gpus := 0
	for _, device := range devices {
		read[device.Address] = device
		if device.IsGPU() && !device.SriovInfo.IsVF() {
			gpus++
		}
	}
	if gpus != len(node.GPUs) {
		t.Fatalf("nvpci reads %d GPUs of %d", gpus, len(node.GPUs))
	}
	for _, f := range functionsOf(node) {
		if f.IDs.Vendor != nvpci.PCINvidiaVendorID && f.IDs.Vendor != nvpci.PCIMellanoxVendorID {
			continue
		}
		device := read[f.Address.String()]
		if device == nil {
			t.Fatalf("nvpci does not read %s", f.Address)
		}
		if diff := cmp.Diff(asRead(f), seenBy(t, device)); diff != "" {
			t.Fatalf("%s (-node +nvpci):\n%s", f.Address, diff)
		}
	}
}

// silent drops warnings that nvpci's PCI database lacks a device.
type silent struct{}

func (silent) Warningf(string, ...any) {}

// attributes are what nvpci and the node both have of a function.
type attributes struct {
	Vendor, Device, SubsystemVendor, SubsystemDevice uint16
	Class                                            uint32
	NUMANode, IOMMUGroup                             int
	Driver, Physical                                 string
	TotalVFs, VFs                                    int
	ConfigVendor, ConfigDevice                       uint16
}

func asRead(f *hardware.PCIFunction) attributes {
	a := attributes{
		Vendor: f.IDs.Vendor, Device: f.IDs.Device, SubsystemVendor: f.IDs.SubsystemVendor, SubsystemDevice: f.IDs.SubsystemDevice,
		Class: f.Class, NUMANode: f.NUMANode, IOMMUGroup: f.IOMMUGroup, Driver: f.Driver,
		ConfigVendor: f.IDs.Vendor, ConfigDevice: f.IDs.Device,
	}
	if f.IsVF() {
		a.Physical = f.SRIOV.PhysicalFunction.String()
	} else if f.SRIOV != nil {
		a.TotalVFs, a.VFs = f.SRIOV.TotalVFs, len(f.SRIOV.VFs)
	}
	return a
}

func seenBy(t reporter, d *nvpci.NvidiaPCIDevice) attributes {
	t.Helper()
	a := attributes{
		Vendor: d.Vendor, Device: d.Device, SubsystemVendor: d.SubsystemVendor, SubsystemDevice: d.SubsystemDevice,
		Class: d.Class, NUMANode: d.NumaNode, IOMMUGroup: d.IommuGroup, Driver: d.Driver,
	}
	if d.SriovInfo.IsVF() {
		a.Physical = d.SriovInfo.VirtualFunction.PhysicalFunction.Address
	} else if d.SriovInfo.IsPF() {
		a.TotalVFs, a.VFs = int(d.SriovInfo.PhysicalFunction.TotalVFs), int(d.SriovInfo.PhysicalFunction.NumVFs)
	}
	config, err := d.Config.Read()
	if err != nil {
		t.Fatalf("nvpci: configuration space of %s: %v", d.Address, err)
	}
	a.ConfigVendor, a.ConfigDevice = config.GetVendorID(), config.GetDeviceID()
	capabilities, err := config.GetPCICapabilities()
	if err != nil || capabilities.Standard[0x10] == nil {
		t.Fatalf("nvpci: %s has no PCI Express capability: %v", d.Address, err)
	}
	if len(d.Resources) != 1 || d.Resources[0].End-d.Resources[0].Start+1 != 16<<20 {
		t.Fatalf("nvpci: %s has resources %v", d.Address, d.Resources)
	}
	return a
}
