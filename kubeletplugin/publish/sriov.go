package publish

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Virtual functions as the SR-IOV driver publishes them, all of them and not only
// those that its policies choose, and Dray's own model of
// a physical function: a device that claims share, each of which gets one of the
// virtual functions that there are and the bandwidth that it asks for.

const (
	sriov  = "sriovnetwork.k8snetworkplumbingwg.io/"
	multus = "k8s.cni.cncf.io/"
)

// Bandwidth is shared in steps of a megabit per second, from 100 on; a claim that
// says nothing gets a gigabit.
const (
	bandwidthStep    = 1_000_000
	bandwidthLeast   = 100 * bandwidthStep
	bandwidthDefault = 1000 * bandwidthStep
)

func (p *Publisher) virtualFunctions(node *hardware.Node) ([]resourceapi.Device, error) {
	var devices []resourceapi.Device
	var errs []error
	for i := range node.NICs {
		vf := &node.NICs[i]
		if !vf.IsVF() {
			continue
		}
		name := dashed(vf.Address)
		pf := physicalFunction(node, vf)
		if pf == nil {
			errs = append(errs, fieldError(name, "attributes["+sriov+"pfPciAddress]", "the node has no function %s", vf.SRIOV.PhysicalFunction))
			continue
		}
		if pf.Interface == "" {
			continue // as the SR-IOV driver does: it could not configure the function
		}
		a := portAttributes(pf)
		a[sriov+"deviceID"] = text(fmt.Sprintf("%04x", vf.IDs.Device))
		a[sriov+"pciAddress"] = text(vf.Address.String())
		a[sriov+"vfID"] = number(vf.SRIOV.Index)
		a[sriov+"rdmaCapable"] = truth(vf.RDMA != nil)
		a[multus+"deviceID"] = text(vf.Address.String())
		a[dranet+"numaNode"] = number(vf.NUMANode) // -1 for none, as that driver says
		if name := p.options.ResourceNames[pf.Interface]; name != "" {
			a[sriov+"resourceName"] = text(name)
			a[multus+"resourceName"] = text(name)
		}
		p.topology(a, &vf.PCIFunction, node)
		if pf.Root != "" {
			a[attributePCIeRoot] = text(pf.Root)
		}
		devices = append(devices, resourceapi.Device{Name: name, Attributes: p.mark(a)})
	}
	return devices, errors.Join(errs...)
}

// portAttributes are those of a physical function that its virtual ones carry.
func portAttributes(pf *hardware.NIC) attributes {
	eswitch, link := pf.Eswitch, string(pf.Link)
	if eswitch == "" {
		eswitch = "legacy"
	}
	if link == "" {
		link = "unknown"
	}
	return attributes{
		sriov + "PFName":       text(pf.Interface),
		sriov + "pfPciAddress": text(pf.Address.String()),
		sriov + "pfDeviceID":   text(fmt.Sprintf("%04x", pf.IDs.Device)),
		sriov + "vendor":       text(fmt.Sprintf("%04x", pf.IDs.Vendor)),
		sriov + "EswitchMode":  text(eswitch),
		sriov + "linkType":     text(link),
	}
}

func physicalFunction(node *hardware.Node, vf *hardware.NIC) *hardware.NIC {
	for i := range node.NICs {
		if node.NICs[i].Address == *vf.SRIOV.PhysicalFunction {
			return &node.NICs[i]
		}
	}
	return nil
}

// sharedPorts are the physical functions that have virtual ones and a known speed.
func (p *Publisher) sharedPorts(node *hardware.Node) []resourceapi.Device {
	var devices []resourceapi.Device
	for i := range node.NICs {
		pf := &node.NICs[i]
		if pf.IsVF() || pf.SRIOV == nil || len(pf.SRIOV.VFs) == 0 || pf.SpeedMbps <= 0 || pf.Interface == "" {
			continue
		}
		a := portAttributes(pf)
		a[sriov+"rdmaCapable"] = truth(pf.RDMA != nil)
		p.topology(a, &pf.PCIFunction, node)
		one := resource.NewQuantity(1, resource.DecimalSI)
		devices = append(devices, resourceapi.Device{
			Name: "port-" + dashed(pf.Address), Attributes: p.mark(a), AllowMultipleAllocations: &yes,
			Capacity: capacities{
				"virtualFunctions": {
					Value:         *resource.NewQuantity(int64(len(pf.SRIOV.VFs)), resource.DecimalSI),
					RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: one, ValidValues: []resource.Quantity{*one}},
				},
				"bandwidth": bandwidth(int64(pf.SpeedMbps) * bandwidthStep),
			},
		})
	}
	return devices
}

// bandwidth in bit/s. A port that is too slow to be divided goes to one claim.
func bandwidth(most int64) resourceapi.DeviceCapacity {
	quantity := func(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
	c := resourceapi.DeviceCapacity{Value: *quantity(most)}
	if most < bandwidthLeast+bandwidthStep {
		c.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: quantity(most), ValidValues: []resource.Quantity{*quantity(most)}}
		return c
	}
	c.RequestPolicy = &resourceapi.CapacityRequestPolicy{
		Default: quantity(min(bandwidthDefault, most)),
		ValidRange: &resourceapi.CapacityRequestPolicyRange{
			Min: quantity(bandwidthLeast), Max: quantity(most), Step: quantity(bandwidthStep)},
	}
	return c
}
