package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Instance is a machine with an identity.
type Instance struct {
	// Nodes: one of a machine of kind node, those of a rack by place, none of a pool.
	Nodes []Node
	// Pool is nil unless the machine is one.
	Pool *hardware.FabricPool
}

// Node is a node of an Instance.
type Node struct {
	// Name is the identity's, or in a rack what the rack's file makes of it.
	Name string
	// Place in the rack, from 0.
	Place int
	// Clique is "<cluster UUID>.<clique ID>" of the NVLink fabric that the GPUs are
	// in, or empty: what compute domains call it and node labels say.
	Clique string
	// Architecture of the CPUs: "amd64" or "arm64".
	Architecture string
	// MemoryGiB of the node, 0 if its file does not say.
	MemoryGiB int
	// Hardware is the node's devices.
	Hardware *hardware.Node
	// VFs says what virtual functions physical functions can have, those that there
	// are included.
	VFs map[hardware.PCIAddress]*VFPlan
	// Drivers are those that take each function by themselves, whatever it is bound to
	// in the machine's file; virtual functions are not among them.
	Drivers map[hardware.PCIAddress]string
}

// template is a node without what sets instances apart.
type template struct {
	node         hardware.Node
	architecture string
	memoryGiB    int
	clique       int      // of all GPUs, 0 for none
	serials      []string // prefix of the serial number of each FPGA, or empty
	vfs          map[hardware.PCIAddress]*VFPlan
	drivers      map[hardware.PCIAddress]string
}

// Instantiate makes an instance. It takes about as long as hashing the UUIDs, and
// shares with all other instances what is the same in them: NUMA nodes, bridges,
// SR-IOV, the profiles of MIG and the types of virtual GPUs. Who wants to change
// those changes a copy of the node.
func (m *Machine) Instantiate(id Identity) *Instance {
	switch m.file.Kind {
	case RackKind:
		return m.instantiateRack(id)
	case PoolKind:
		return &Instance{Pool: m.instantiatePool(id)}
	}
	return &Instance{Nodes: []Node{m.node.instantiate(id, 0, id, m.node.clique)}}
}

func (m *Machine) instantiateRack(id Identity) *Instance {
	count := m.NodeCount()
	instance := &Instance{Nodes: make([]Node, 0, count)}
	for i := range m.members {
		member := &m.members[i]
		clique := member.file.Clique
		if clique == 0 {
			clique = member.machine.node.clique
		}
		for range member.file.Count {
			place := len(instance.Nodes)
			own := Identity{Name: member.nodeName(id.Name, place, count), Seed: id.Seed}
			instance.Nodes = append(instance.Nodes, member.machine.node.instantiate(own, place, id, clique))
		}
	}
	return instance
}

// nodeName is the name of the node at a place of a rack of count. Places are padded
// to the digits of the last one, at least two, so that names of a rack sort by
// place.
func (m *member) nodeName(rack string, place, count int) string {
	form := m.file.NodeName
	if form == "" {
		form = "{rack}-{place}"
	}
	digits := max(2, len(strconv.Itoa(count-1)))
	number := fmt.Sprintf("%0*d", digits, place)
	return strings.NewReplacer("{rack}", rack, "{place}", number).Replace(form)
}

func (m *Machine) instantiatePool(id Identity) *hardware.FabricPool {
	pool := &hardware.FabricPool{Name: id.Name, Devices: slices.Clone(m.devices)}
	if len(m.file.NodeLabels) > 0 {
		pool.NodeLabels = make(map[string]string, len(m.file.NodeLabels))
		for key, value := range m.file.NodeLabels {
			pool.NodeLabels[key] = strings.ReplaceAll(value, "{pool}", id.Name)
		}
	}
	return pool
}

// instantiate makes the node of an identity. The fabric is that of another one, the
// rack's, if the node is in a rack.
func (t *template) instantiate(id Identity, place int, fabric Identity, clique int) Node {
	node := t.node
	result := Node{Name: id.Name, Place: place, Architecture: t.architecture, MemoryGiB: t.memoryGiB, Hardware: &node, VFs: t.vfs, Drivers: t.drivers}
	node.GPUs = slices.Clone(node.GPUs)
	node.AMDGPUs = slices.Clone(node.AMDGPUs)
	node.NICs = slices.Clone(node.NICs)
	node.FPGAs = slices.Clone(node.FPGAs)
	var fabrics []hardware.GPUFabric
	var cluster string
	if clique > 0 && len(node.GPUs) > 0 {
		fabrics = make([]hardware.GPUFabric, len(node.GPUs))
		cluster = fabric.uuid("", clusterUUID, hardware.PCIAddress{}, 0)
		result.Clique = cluster + "." + strconv.Itoa(clique)
	}
	migs := make([]hardware.MIG, len(node.GPUs))
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		gpu.UUID = id.uuid("GPU-", gpuUUID, gpu.Address, 0)
		if fabrics != nil {
			fabrics[i] = hardware.GPUFabric{ClusterUUID: cluster, CliqueID: clique, State: hardware.FabricCompleted}
			gpu.Fabric = &fabrics[i]
		}
		if gpu.MIG != nil {
			migs[i] = *gpu.MIG
			gpu.MIG = &migs[i]
			identifyMIG(gpu)
		}
	}
	for i := range node.NICs {
		if nic := &node.NICs[i]; nic.Interface != "" {
			nic.MAC = id.mac(nic.Link, nic.Address)
		}
	}
	for i := range node.FPGAs {
		node.FPGAs[i].Serial = id.serial(t.serials[i], node.FPGAs[i].Address)
	}
	return result
}

// identifyMIG gives the GPU's MIG devices UUIDs, in lists of its own.
func identifyMIG(gpu *hardware.GPU) {
	gpu.MIG.Instances = slices.Clone(gpu.MIG.Instances)
	for i := range gpu.MIG.Instances {
		instance := &gpu.MIG.Instances[i]
		instance.ComputeInstances = slices.Clone(instance.ComputeInstances)
		for j := range instance.ComputeInstances {
			compute := &instance.ComputeInstances[j]
			compute.UUID = numbering.MIGUUID(gpu.UUID, instance.ID, compute.ID)
		}
	}
}
