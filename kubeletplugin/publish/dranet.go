package publish

import (
	"cmp"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Network functions as dranet publishes them: every one is a device without
// capacities, and all that is known of it is an attribute of dranet's domain,
// whatever the driver's name.

const dranet = "dra.net/"

func (p *Publisher) nics(node *hardware.Node) ([]group, error) {
	var devices []resourceapi.Device
	var err error
	switch p.options.NICs {
	case NICVirtualFunctions:
		devices, err = p.virtualFunctions(node)
	case NICSharedBandwidth:
		devices = p.sharedPorts(node)
	default:
		for i := range node.NICs {
			devices = append(devices, p.networkFunction(&node.NICs[i], node))
		}
	}
	if len(devices) == 0 {
		return nil, err
	}
	return []group{{devices: devices}}, err
}

func (p *Publisher) networkFunction(nic *hardware.NIC, node *hardware.Node) resourceapi.Device {
	// A function without a subsystem has the ID 0 in sysfs, and dranet publishes
	// what is there.
	a := attributes{
		dranet + "pciAddress":   text(nic.Address.String()),
		dranet + "pciVendor":    description(cmp.Or(nic.IDs.VendorName, "unknown")),
		dranet + "pciDevice":    description(cmp.Or(nic.IDs.DeviceName, "unknown")),
		dranet + "pciSubsystem": text(fmt.Sprintf("%04x", nic.IDs.SubsystemDevice)),
		dranet + "rdma":         truth(nic.RDMA != nil),
	}
	if nic.NUMANode >= 0 {
		a[dranet+"numaNode"] = number(nic.NUMANode)
	}
	if nic.RDMA != nil {
		a[dranet+"rdmaDevice"] = text(nic.RDMA.Device)
	}
	if nic.Interface != "" {
		addInterface(a, nic)
	}
	p.rootAndNUMANode(a, &nic.PCIFunction, node)
	return resourceapi.Device{Name: "pci-" + dashed(nic.Address), Attributes: p.mark(a)}
}

// addInterface adds what is known of functions with a network interface only.
func addInterface(a attributes, nic *hardware.NIC) {
	a[dranet+"ifName"] = text(nic.Interface)
	a[dranet+"mac"] = text(nic.MAC)
	a[dranet+"mtu"] = number(nic.MTU)
	a[dranet+"alias"] = text("")
	a[dranet+"ebpf"] = truth(false)
	a[dranet+"virtual"] = truth(false)
	encapsulation, kind := "ether", "device"
	if nic.Link == hardware.LinkInfiniBand {
		encapsulation, kind = "infiniband", "ipoib"
	}
	a[dranet+"encapsulation"] = text(encapsulation)
	a[dranet+"type"] = text(kind)
	state := "down"
	if nic.Up {
		state = "up"
	}
	a[dranet+"state"] = text(state)
	physical := nic.SRIOV != nil && !nic.IsVF() && nic.SRIOV.TotalVFs > 0
	a[dranet+"sriov"] = truth(physical)
	if physical {
		a[dranet+"sriovVfs"] = number(len(nic.SRIOV.VFs))
	}
	if nic.IsVF() {
		a[dranet+"isSriovVf"] = truth(true)
	}
}
