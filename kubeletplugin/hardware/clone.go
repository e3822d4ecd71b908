package hardware

import "slices"

// Clone returns a copy that shares nothing with n. A nil Node has a nil copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	return &Node{
		NUMANodes: cloneEach(n.NUMANodes, func(node *NUMANode) { node.Distances = slices.Clone(node.Distances) }),
		GPUDriver: clonePointer(n.GPUDriver),
		GPUs:      cloneEach(n.GPUs, (*GPU).detach),
		AMDGPUs: cloneEach(n.AMDGPUs, func(gpu *AMDGPU) {
			gpu.PCIFunction.detach()
			gpu.Modes = slices.Clone(gpu.Modes)
		}),
		NICs: cloneEach(n.NICs, func(nic *NIC) {
			nic.PCIFunction.detach()
			nic.RDMA = clonePointer(nic.RDMA)
		}),
		FPGAs: cloneEach(n.FPGAs, func(card *FPGA) {
			card.PCIFunction.detach()
			card.Management = clonePointer(card.Management)
			card.Regions = slices.Clone(card.Regions)
		}),
	}
}

// detach replaces what the struct refers to by copies.
func (f *PCIFunction) detach() {
	f.Bridges = slices.Clone(f.Bridges)
	if f.SRIOV = clonePointer(f.SRIOV); f.SRIOV != nil {
		f.SRIOV.VFs = slices.Clone(f.SRIOV.VFs)
		f.SRIOV.PhysicalFunction = clonePointer(f.SRIOV.PhysicalFunction)
	}
}

func (g *GPU) detach() {
	g.PCIFunction.detach()
	g.Fabric = clonePointer(g.Fabric)
	if g.MIG = clonePointer(g.MIG); g.MIG != nil {
		g.MIG.Profiles = cloneEach(g.MIG.Profiles, func(profile *MIGProfile) {
			profile.Placements = slices.Clone(profile.Placements)
		})
		g.MIG.Instances = cloneEach(g.MIG.Instances, func(instance *GPUInstanceState) {
			instance.ComputeInstances = slices.Clone(instance.ComputeInstances)
		})
	}
	if g.VGPU = clonePointer(g.VGPU); g.VGPU != nil {
		g.VGPU.Types = slices.Clone(g.VGPU.Types)
	}
	g.Unread = slices.Clone(g.Unread)
}

func cloneEach[E any](list []E, detach func(*E)) []E {
	list = slices.Clone(list)
	for i := range list {
		detach(&list[i])
	}
	return list
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}
