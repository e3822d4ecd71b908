package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// vfioDriver gives a function to user space.
const vfioDriver = "vfio-pci"

// shown is a machine at one moment: what a driver finds, and the files.
type shown struct {
	node  *hardware.Node // nil for a pool
	files *surface.Files // nil for a pool
}

// fixed is a clock that stands still: the machine is looked at at one moment.
type fixed struct{ now time.Time }

func (c fixed) Now() time.Time { return c.now }

// show makes the machine of a valid document at the document's time.
func (m *model) show(d *document) (*shown, error) {
	if m.node == nil {
		return &shown{}, nil
	}
	gpus, err := engine.Open(m.withPlugged(d), d.GPUs, fixed{d.Time})
	if err != nil {
		return nil, err
	}
	node := *gpus.Node() // a copy with lists of its own, made below
	running := &surface.Running{BootID: d.Boot.ID, IMEXChannels: d.IMEXChannels, Drivers: m.loadedDrivers(),
		State: make(map[hardware.PCIAddress]surface.FunctionState, len(d.Functions))}
	b := &builder{model: m, doc: d, gpus: gpus, running: running}
	node.GPUs = b.showGPUs(node.GPUs)
	node.AMDGPUs = b.showAMDGPUs(node.AMDGPUs)
	node.NICs = b.showNICs(node.NICs)
	node.FPGAs = b.showFPGAs(node.FPGAs)
	sortNode(&node)
	for address, f := range d.Functions {
		state := running.State[address]
		state.Override, state.NoAutoprobe = f.Override, f.NoAutoprobe
		running.State[address] = state
	}
	if err := node.Validate(); err != nil {
		return nil, err
	}
	files, err := surface.Build(&node, running)
	if err != nil {
		return nil, err
	}
	return &shown{&node, files}, nil
}

// loadedDrivers are the drivers of the machine's functions, and vfio-pci.
func (m *model) loadedDrivers() []string {
	drivers := map[string]bool{vfioDriver: true}
	for _, driver := range m.node.Drivers {
		drivers[driver] = driver != ""
	}
	for _, plan := range m.node.VFs {
		drivers[plan.Driver] = plan.Driver != ""
	}
	maps.DeleteFunc(drivers, func(_ string, loaded bool) bool { return !loaded })
	return slices.Sorted(maps.Keys(drivers))
}

// builder makes the node of a document from the base.
type builder struct {
	*model
	doc     *document
	gpus    *engine.Engine
	running *surface.Running
}

// place puts what changes of a physical function into it, and says whether its own
// driver has it.
func (b *builder) place(f *hardware.PCIFunction) (native bool) {
	entry := b.doc.Functions[f.Address]
	f.Driver = entry.Driver
	if f.SRIOV != nil {
		f.SRIOV = &hardware.SRIOV{TotalVFs: f.SRIOV.TotalVFs, VFs: b.doc.vfsOf(f.Address)}
	}
	return f.Driver != "" && f.Driver == b.native(b.doc, f.Address)
}

// showGPUs leaves out those that NVIDIA's driver does not have: they are functions
// of the bus only.
func (b *builder) showGPUs(gpus []hardware.GPU) []hardware.GPU {
	result := make([]hardware.GPU, 0, len(gpus))
	for _, gpu := range gpus {
		native := b.place(&gpu.PCIFunction)
		if native {
			result = append(result, gpu)
		} else {
			b.running.Functions = append(b.running.Functions, gpu.PCIFunction)
		}
		b.gpuVFs(&gpu, native)
	}
	return result
}

// gpuVFs says what the virtual functions of a GPU have.
func (b *builder) gpuVFs(gpu *hardware.GPU, native bool) {
	if gpu.SRIOV == nil {
		return
	}
	for index, address := range gpu.SRIOV.VFs {
		entry := b.doc.Functions[address]
		state := surface.FunctionState{Driver: entry.Driver, IOMMUGroup: entry.Virtual.Group}
		if native && gpu.VGPU != nil {
			state.VGPU = b.vgpuFiles(gpu, index)
		}
		b.running.State[address] = state
	}
}

// vgpuFiles are those of a virtual function of a GPU that hosts virtual GPUs.
func (b *builder) vgpuFiles(gpu *hardware.GPU, vf int) *surface.VGPUFiles {
	files := &surface.VGPUFiles{Current: currentVGPU(b.doc.GPUs, gpu.Address, vf)}
	ids, err := b.gpus.CreatableVGPUTypes(gpu.Address)
	if err != nil || files.Current != 0 {
		return files // of a broken GPU, or a function that is one already, nothing can be made
	}
	for _, t := range gpu.VGPU.Types {
		if slices.Contains(ids, t.ID) {
			files.Creatable = append(files.Creatable, t)
		}
	}
	return files
}

// currentVGPU is the type of the virtual GPU that a virtual function is, or 0.
func currentVGPU(gpus *engine.State, address hardware.PCIAddress, vf int) int {
	for i := range gpus.GPUs {
		if g := &gpus.GPUs[i]; g.Address == address && g.VGPU != nil {
			for _, active := range g.VGPU.Active {
				if active.VF == vf {
					return active.Type
				}
			}
		}
	}
	return 0
}

func (b *builder) showAMDGPUs(gpus []hardware.AMDGPU) []hardware.AMDGPU {
	result := make([]hardware.AMDGPU, 0, len(gpus))
	for _, gpu := range gpus {
		if b.place(&gpu.PCIFunction) {
			result = append(result, gpu)
		} else {
			b.running.Functions = append(b.running.Functions, gpu.PCIFunction)
		}
	}
	return result
}

func (b *builder) showFPGAs(cards []hardware.FPGA) []hardware.FPGA {
	result := make([]hardware.FPGA, 0, len(cards))
	for _, card := range cards {
		if !b.place(&card.PCIFunction) {
			b.running.Functions = append(b.running.Functions, card.PCIFunction)
			continue
		}
		card.Regions = slices.Clone(card.Regions)
		for _, loaded := range b.doc.Bitstreams {
			if loaded.Card == card.Address {
				card.Regions[loaded.Region].Function = loaded.Function
			}
		}
		result = append(result, card)
	}
	return result
}

// showNICs adds the virtual functions. A function without its own driver has no
// interface and no RDMA device.
func (b *builder) showNICs(nics []hardware.NIC) []hardware.NIC {
	result := make([]hardware.NIC, 0, len(nics))
	for _, nic := range nics {
		whole := nic
		native := b.place(&nic.PCIFunction)
		entry := b.doc.Functions[nic.Address]
		nic.MTU = cmp.Or(entry.MTU, nic.MTU)
		nic.Eswitch = cmp.Or(entry.Eswitch, nic.Eswitch)
		nic.Up = nic.Up && !entry.Down
		if !native {
			bare(&nic)
		}
		result = append(result, nic)
		if nic.SRIOV != nil {
			for _, address := range nic.SRIOV.VFs {
				result = append(result, b.virtualNIC(&whole, nic.SRIOV.VFs, address))
			}
		}
	}
	return result
}

// bare is a NIC that only the bus knows. Its kind of link is then the class's.
func bare(nic *hardware.NIC) {
	nic.Interface, nic.MAC, nic.MTU, nic.Up, nic.SpeedMbps, nic.RDMA, nic.Eswitch = "", "", 0, false, 0, nil, ""
	nic.Link = hardware.LinkEthernet
	if nic.Class>>8 == 0x0207 {
		nic.Link = hardware.LinkInfiniBand
	}
}

// virtualNIC makes a virtual function of a physical one.
func (b *builder) virtualNIC(physical *hardware.NIC, vfs []hardware.PCIAddress, address hardware.PCIAddress) hardware.NIC {
	entry, plan := b.doc.Functions[address], b.node.VFs[physical.Address]
	v := entry.Virtual
	nic := hardware.NIC{PCIFunction: physical.PCIFunction, Link: physical.Link}
	nic.Address, nic.IDs, nic.Driver, nic.IOMMUGroup = address, plan.IDs, entry.Driver, v.Group
	nic.SRIOV = &hardware.SRIOV{PhysicalFunction: &physical.Address, Index: v.Index}
	if entry.Driver == "" || entry.Driver != plan.Driver {
		bare(&nic)
		return nic
	}
	if v.Interface != "" {
		nic.Interface, nic.MTU = v.Interface, cmp.Or(entry.MTU, physical.MTU)
		nic.MAC = b.identity.MAC(nic.Link, address)
	}
	if v.RDMA != "" && v.Uverbs >= 0 {
		nic.RDMA = &hardware.RDMA{Device: v.RDMA, Uverbs: v.Uverbs}
	}
	if nic.Interface == "" && nic.RDMA == nil {
		bare(&nic)
		return nic
	}
	nic.Up, nic.SpeedMbps = !entry.Down, physical.SpeedMbps
	return nic
}
