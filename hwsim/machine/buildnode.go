package machine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// maxMemoryGiB bounds the memory of a node: a pebibyte.
const maxMemoryGiB = 1 << 20

// maxFunctions bounds the functions of a node, virtual ones included.
const maxFunctions = 8192

// nodeBuilder checks the description of a node and makes the node of it, without
// what sets instances apart: UUIDs, serial numbers, hardware addresses.
//
// It collects functions in the order of the file and numbers what counts by PCI
// address afterwards.
type nodeBuilder struct {
	*problems
	path   string // of the node's fields; empty unless the node is part of a rack's file
	file   *NodeFile
	models *modelSet
	tree   *pciTree
	node   hardware.Node
	found  []*function
	taken  map[string]string // "interface ibp24s0" → path of the field with the name
	mig    map[*MIGTable][]hardware.MIGProfile
}

// function is a function on its way into the node.
type function struct {
	path  string
	file  *FunctionFile
	model any // *GPUModel, *AMDGPUModel, *NICModel or *FPGAModel
	pci   hardware.PCIFunction
	// vf is the description of virtual functions that this is one of, else nil;
	// names are its own there.
	vf                  *VFsFile
	ifname, rdma, bound string
}

func buildNode(p *problems, path string, file *NodeFile, models *modelSet) *template {
	b := &nodeBuilder{
		problems: p, path: path, file: file, models: models, tree: newPCITree(p),
		taken: map[string]string{}, mig: map[*MIGTable][]hardware.MIGProfile{},
	}
	b.architecture()
	b.numaNodes()
	b.within(b.at("memoryGiB"), file.MemoryGiB, 0, maxMemoryGiB)
	b.drivers()
	b.roots()
	b.checkDrivers()
	if len(p.list) > 0 {
		return nil
	}
	slices.SortFunc(b.found, func(x, y *function) int { return x.pci.Address.Compare(y.pci.Address) })
	if b.file.IOMMU {
		for i, f := range b.found {
			f.pci.IOMMUGroup = i
		}
	}
	t := &template{architecture: cmp.Or(file.Architecture, "amd64"), memoryGiB: file.MemoryGiB, clique: b.clique()}
	b.gpus()
	b.amdgpus()
	b.nics()
	b.fpgas(t)
	t.node = b.node
	t.vfs = b.vfPlans()
	t.drivers = b.nativeDrivers()
	return t
}

func (b *nodeBuilder) at(name string) string { return field(b.path, name) }

// unique reports a name that another function has.
func (b *nodeBuilder) unique(path, kind, name string) {
	key := kind + " " + name
	if other, taken := b.taken[key]; taken {
		b.add(path, "%s is also in line %d", key, b.line(other))
		return
	}
	b.taken[key] = path
}

// numaNodes builds the NUMA nodes.
func (b *nodeBuilder) numaNodes() {
	var cpus cpuSet
	nodes := b.file.NUMA
	if len(nodes) > maxNUMANodes {
		b.add(b.at("numa"), "has %d nodes, more than %d", len(nodes), maxNUMANodes)
		return
	}
	for i, n := range nodes {
		at := index(b.at("numa"), i)
		if i > 0 && n.ID <= nodes[i-1].ID {
			b.add(at+".id", "%d comes after %d: list each node once, by ID", n.ID, nodes[i-1].ID)
		}
		b.within(at+".id", n.ID, 0, maxNUMANodes-1)
		b.within(at+".socket", n.Socket, 0, maxNUMANodes-1)
		if err := cpus.add(n.CPUs, i); err != nil {
			b.add(at+".cpus", "%v", err)
		}
		socket := n.Socket
		if n.CPUs == "" {
			if socket != 0 {
				b.add(at+".socket", "is %d, but a node without CPUs is on no socket", socket)
			}
			socket = noSocket
		}
		b.node.NUMANodes = append(b.node.NUMANodes, hardware.NUMANode{
			ID: n.ID, CPUs: n.CPUs, Socket: socket, Distances: b.distances(at+".distances", i),
		})
	}
}

// Distances of ACPI's SLIT: 10 is local, 20 what Linux assumes of others, 255 that
// there is no way.
const (
	localDistance  = 10
	remoteDistance = 20
	maxDistance    = 255
	maxNUMANodes   = 1024
)

func (b *nodeBuilder) architecture() {
	switch b.file.Architecture {
	case "", "amd64", "arm64":
	default:
		b.add(b.at("architecture"), "is %q: it can be amd64 or arm64", b.file.Architecture)
	}
}

// noSocket is that of a NUMA node without CPUs.
const noSocket = -1

func (b *nodeBuilder) distances(path string, i int) []int {
	nodes := b.file.NUMA
	given := nodes[i].Distances
	if len(given) == 0 {
		given = slices.Repeat([]int{remoteDistance}, len(nodes))
		given[i] = localDistance
		return given
	}
	if len(given) != len(nodes) {
		b.add(path, "has %d distances for %d NUMA nodes", len(given), len(nodes))
		return nil
	}
	for j, distance := range given {
		switch at := index(path, j); {
		case i == j && distance != localDistance:
			b.add(at, "is %d; the distance of a node to itself is %d", distance, localDistance)
		case i != j && (distance <= localDistance || distance > maxDistance):
			b.add(at, "is %d; the distance to another node is from %d to %d", distance, localDistance+1, maxDistance)
		}
	}
	return slices.Clone(given)
}

// roots collects the functions below all roots.
func (b *nodeBuilder) roots() {
	for i := range b.file.Roots {
		at, root := index(b.at("roots"), i), &b.file.Roots[i]
		if len(root.Functions) == 0 {
			b.add(at+".functions", "is missing: a root is listed for the functions below it")
		}
		b.checkNUMA(at+".numa", root.NUMA)
		chain := chain{root: root.Root}
		if root.Root == "" {
			if len(root.Bridges) > 0 {
				b.add(at+".bridges", "there cannot be bridges without a root to begin at")
			}
		} else if rootBus, ok := b.tree.root(at+".root", root.Root); ok {
			chain = chain.start(rootBus)
			chain = b.follow(chain, at+".bridges", root.Bridges)
		} else {
			chain.broken = true
		}
		for j := range root.Functions {
			b.function(index(at+".functions", j), chain, root, &root.Functions[j])
		}
	}
	if len(b.found) == 0 && len(b.list) == 0 {
		b.add(b.at("roots"), "has no functions: a node without devices is of no use here")
	}
}

// chain is the way from a root down to a function.
type chain struct {
	root    string
	last    string // root or the last bridge
	lastBus bus
	onRoot  bool
	bridges []hardware.PCIAddress
	broken  bool // after a problem that has been reported
}

func (c chain) start(b bus) chain {
	c.last, c.lastBus, c.onRoot = c.root, b, true
	return c
}

// follow adds bridges to the end of a chain.
func (b *nodeBuilder) follow(c chain, path string, bridges []hardware.PCIAddress) chain {
	c.bridges = slices.Clip(c.bridges)
	for i, address := range bridges {
		if c.broken {
			return c
		}
		c.broken = !b.tree.bridge(index(path, i), c.last, c.lastBus, address, c.onRoot)
		c.last, c.lastBus, c.onRoot = address.String(), busOf(address), false
		c.bridges = append(c.bridges, address)
	}
	return c
}

// function collects a function and its virtual ones.
func (b *nodeBuilder) function(path string, c chain, root *RootFile, file *FunctionFile) {
	if c.root == "" && len(file.Bridges) > 0 {
		b.add(path+".bridges", "there cannot be bridges without a root to begin at")
	}
	if c.root != "" {
		c = b.follow(c, path+".bridges", file.Bridges)
		if !c.broken && b.tree.order(path+".address", c.last, c.lastBus, file.Address, c.onRoot) {
			b.tree.connect(path+".address", c.last, busOf(file.Address))
		}
	}
	b.tree.function(path+".address", file.Address)
	if len(b.found) > maxFunctions {
		return
	}
	model := b.models.model(file.Model)
	if model == nil {
		b.unknownModel(path+".model", file.Model, b.models)
		return
	}
	f := &function{path: path, file: file, model: model, ifname: file.Interface, rdma: file.RDMA, bound: file.Driver}
	f.pci = hardware.PCIFunction{
		Address: file.Address, Root: c.root, Bridges: c.bridges, IOMMUGroup: -1,
		NUMANode: numaOf(root, file),
	}
	b.checkNUMA(path+".numa", file.NUMA)
	b.found = append(b.found, f)
	b.checkFields(f)
	switch m := model.(type) {
	case *GPUModel:
		setModel(&f.pci, &m.PCIModel, 0x030200)
		if m.TotalVFs > 0 {
			f.pci.SRIOV = &hardware.SRIOV{TotalVFs: m.TotalVFs}
		}
	case *AMDGPUModel:
		setModel(&f.pci, &m.PCIModel, 0x120000)
	case *NICModel:
		setModel(&f.pci, &m.PCIModel, nicClass(m.Link))
		b.checkNames(path, f)
		b.virtualFunctions(f, c, m)
	case *FPGAModel:
		setModel(&f.pci, &m.PCIModel, 0x120000)
		if file.Management != nil {
			b.tree.function(path+".management", *file.Management)
		}
		b.checkRegions(path+".regions", file.Regions)
	}
	if f.bound != "" {
		b.checkDriverName(path+".driver", f.bound)
		f.pci.Driver = f.bound
	}
	if len(b.found) > maxFunctions {
		b.add(path, "is one of more than %d functions, virtual ones included", maxFunctions)
	}
}

// numaOf is the NUMA node of a function: its own field, or the root's.
func numaOf(root *RootFile, file *FunctionFile) int {
	node := file.NUMA
	if node == nil {
		node = root.NUMA
	}
	if node == nil {
		return hardware.NoNUMANode
	}
	return *node
}

// checkNUMA reports a node that is not there. Without the field, there is none.
func (b *nodeBuilder) checkNUMA(path string, node *int) {
	if node != nil && *node != hardware.NoNUMANode &&
		!slices.ContainsFunc(b.file.NUMA, func(n NUMAFile) bool { return n.ID == *node }) {
		b.add(path, "there is no NUMA node %d; see numa", *node)
	}
}

func setModel(f *hardware.PCIFunction, m *PCIModel, class uint32) {
	f.IDs = hardware.PCIIDs{
		Vendor: m.IDs.Vendor, Device: m.IDs.Device, VendorName: m.Vendor, DeviceName: m.Device,
	}
	if m.Subsystem != nil {
		f.IDs.SubsystemVendor, f.IDs.SubsystemDevice = m.Subsystem.Vendor, m.Subsystem.Device
	}
	f.Class, f.Driver = class, m.Driver
}

// checkFields reports fields that the kind of device does not have.
func (b *nodeBuilder) checkFields(f *function) {
	kind, allowed := "", ""
	switch f.model.(type) {
	case *GPUModel:
		kind, allowed = "an NVIDIA GPU", "gpu"
	case *AMDGPUModel:
		kind, allowed = "an AMD accelerator", "amd"
	case *NICModel:
		kind, allowed = "a network function", "nic"
	case *FPGAModel:
		kind, allowed = "an FPGA", "fpga"
	}
	file := f.file
	for _, has := range []struct {
		name, of string
		set      bool
	}{
		{"minor", "gpu", file.Minor != nil},
		{"module", "gpu", file.Module != 0},
		{"mig", "gpu", file.MIG != nil},
		{"interface", "nic", file.Interface != ""},
		{"rdma", "nic", file.RDMA != ""},
		{"down", "nic", file.Down},
		{"eswitch", "nic", file.Eswitch != ""},
		{"vfs", "nic", file.VFs != nil},
		{"driver", "nic fpga", file.Driver != ""},
		{"management", "fpga", file.Management != nil},
		{"regions", "fpga", len(file.Regions) > 0},
	} {
		if has.set && !slices.Contains(strings.Fields(has.of), allowed) {
			b.add(field(f.path, has.name), "model %s is %s, which has no such field", file.Model, kind)
		}
	}
}

// each calls a function for the collected ones whose model is an M, by address.
func each[M any](b *nodeBuilder, do func(f *function, model *M)) {
	for _, f := range b.found {
		if model, ok := f.model.(*M); ok {
			do(f, model)
		}
	}
}

// mib is a number of MiB in bytes.
func mib(n int) uint64 { return uint64(n) << 20 }

// fpgas builds the node's FPGA cards.
func (b *nodeBuilder) fpgas(t *template) {
	ports := 0
	each(b, func(f *function, m *FPGAModel) {
		card := hardware.FPGA{
			PCIFunction: f.pci, Management: f.file.Management, Model: m.Product, Shell: m.Shell, MemoryBytes: mib(m.MemoryMiB),
		}
		regions := f.file.Regions
		if len(regions) == 0 {
			regions = m.Regions
		}
		for i, region := range regions {
			port := strings.ReplaceAll(region.Port, "{n}", strconv.Itoa(ports))
			if port != "" {
				b.unique(index(f.path+".regions", i), "port", port)
				ports++
			}
			card.Regions = append(card.Regions, hardware.FPGARegion{
				ID: i, Interface: region.Interface, Function: region.Function, Port: port,
			})
		}
		b.node.FPGAs = append(b.node.FPGAs, card)
		t.serials = append(t.serials, m.SerialPrefix)
	})
}

// amdgpus builds the node's AMD accelerators. Each has as many cards and render
// nodes as it is devices in its present mode.
func (b *nodeBuilder) amdgpus() {
	cards := 0
	each(b, func(f *function, m *AMDGPUModel) {
		gpu := hardware.AMDGPU{
			PCIFunction: f.pci, Card: cards, Render: firstRender + cards,
			ProductName: m.Product, DriverVersion: b.file.AMD.Version,
			MemoryBytes: mib(m.MemoryMiB), ComputeUnits: m.ComputeUnits, SIMDUnits: m.SIMDUnits,
		}
		for _, mode := range m.Modes {
			gpu.Modes = append(gpu.Modes, hardware.AMDPartitionMode(mode))
		}
		present, partitions := b.amdMode(m), 1
		if present != nil {
			gpu.Compute, gpu.Memory, partitions = present.Compute, present.Memory, present.Partitions
		}
		cards += partitions
		slices.SortFunc(gpu.Modes, func(x, y hardware.AMDPartitionMode) int {
			return cmp.Or(cmp.Compare(x.Partitions, y.Partitions), cmp.Compare(x.Compute, y.Compute), cmp.Compare(x.Memory, y.Memory))
		})
		b.node.AMDGPUs = append(b.node.AMDGPUs, gpu)
	})
}

// firstRender is N of the first /dev/dri/renderDN.
const firstRender = 128

// amdMode is the mode that the file sets, or the model's first.
func (b *nodeBuilder) amdMode(m *AMDGPUModel) *AMDMode {
	want := b.file.AMD
	for i := range m.Modes {
		mode := &m.Modes[i]
		if want.Compute == "" && want.Memory == "" || want.Compute == mode.Compute && want.Memory == mode.Memory {
			return mode
		}
	}
	return nil
}
