package publish

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// NVIDIA GPUs as NVIDIA's driver publishes them: the whole GPU gpu-<minor>, and
// its partitions. GPUs are in the order of their PCI addresses and devices of a
// GPU in that of their names, so that the whole GPU comes before its partitions.
// Attributes have no domain: it is the driver's. Where partitions are published
// dynamically each GPU has slices of its own, else all are together.

// gpuModel is what devices of GPUs that are alike have in common. It is worked
// out once and shared by all of them.
type gpuModel struct {
	gpu *hardware.GPU // the first of this model; later ones are compared with it
	// versions as published.
	computeCapability, driver, cuda string
	// full is the whole GPU's capacity, set the counters, nil if nothing shares
	// the GPU. The whole GPU consumes all of them.
	full capacities
	set  counters
	// parts in the order of their names, the partitions and virtual GPUs.
	parts []gpuPart
	// profiles are the profiles of the partitions: their attributes are alike.
	profiles []string
	byMinor  map[int]*gpuNames
}

// gpuPart is a partition or a virtual GPU that could be made of a GPU.
type gpuPart struct {
	suffix   string // of the name: "-mig-1g5gb-19-0"
	profile  int    // index in profiles, or -1 for a virtual GPU
	vgpu     *hardware.VGPUType
	capacity capacities
	counters counters
	groups   []string
}

// gpuNames are names that depend on the GPU's number only.
type gpuNames struct {
	full, set string
	parts     []string
	// consumes of the parts, and last of the whole GPU.
	consumes [][]resourceapi.DeviceCounterConsumption
}

// gpuModelKey finds models without comparing their lists.
type gpuModelKey struct {
	product, brand, architecture, capability, addressing, driver string
	cuda                                                         int
	memory                                                       uint64
	partitioned                                                  bool
}

func (p *Publisher) nvidiaGPUs(node *hardware.Node) ([]group, error) {
	if len(node.GPUs) > 0 && node.GPUDriver == nil {
		return nil, fieldError(fullName(node.GPUs[0].Minor), "attributes[driverVersion]", "the node has GPUs and no GPU driver")
	}
	var groups []group
	var errs []error
	apart := slices.ContainsFunc(node.GPUs, func(g hardware.GPU) bool { return p.isShared(&g) })
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		model, err := p.model(gpu, node.GPUDriver)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g := group{}
		if model.set != nil {
			g.sets = []resourceapi.CounterSet{{Name: model.names(gpu.Minor).set, Counters: model.set}}
		}
		g.devices = p.gpuDevices(model, gpu, node)
		if apart || len(groups) == 0 {
			groups = append(groups, g)
		} else {
			groups[0].devices = append(groups[0].devices, g.devices...)
		}
	}
	return groups, errors.Join(errs...)
}

func (p *Publisher) gpuDevices(model *gpuModel, gpu *hardware.GPU, node *hardware.Node) []resourceapi.Device {
	names := model.names(gpu.Minor)
	common := p.gpuAttributes(model, gpu, node)
	devices := make([]resourceapi.Device, 0, 1+len(model.parts))
	if p.advertisesFull(gpu) {
		full := extended(common, 2)
		full["type"] = text("gpu")
		full["uuid"] = text(gpu.UUID)
		device := resourceapi.Device{Name: names.full, Attributes: full, Capacity: model.full}
		if model.set != nil {
			device.ConsumesCounters = names.consumes[len(model.parts)]
		}
		devices = append(devices, device)
	}
	if p.options.MIG == MIGStatic {
		return append(devices, p.staticPartitions(gpu, common)...)
	}
	if len(model.parts) == 0 {
		return devices
	}
	common["parentUUID"] = text(gpu.UUID)
	byProfile := make([]attributes, len(model.profiles))
	for i, profile := range model.profiles {
		byProfile[i] = extended(common, 2)
		byProfile[i]["type"] = text("mig")
		byProfile[i]["profile"] = text(profile)
	}
	vgpu := vgpuAttributes{common: common}
	for i := range model.parts {
		part := &model.parts[i]
		device := resourceapi.Device{Name: names.parts[i], Capacity: part.capacity, ConsumesCounters: names.consumes[i]}
		if part.vgpu != nil {
			device.Attributes = vgpu.of(part.vgpu)
		} else {
			device.Attributes = byProfile[part.profile]
		}
		devices = append(devices, device)
	}
	return devices
}

// gpuAttributes are those that a GPU's devices share.
func (p *Publisher) gpuAttributes(model *gpuModel, gpu *hardware.GPU, node *hardware.Node) attributes {
	first := model.gpu // its strings, so that equal values are one
	a := make(attributes, 16)
	for _, said := range []struct {
		name resourceapi.QualifiedName
		text *string
	}{
		{"productName", &first.ProductName}, {"brand", &first.Brand}, {"architecture", &first.Architecture}, {"addressingMode", &first.AddressingMode},
	} {
		if *said.text != "" { // the library may not have told it
			a[said.name] = resourceapi.DeviceAttribute{StringValue: said.text}
		}
	}
	if model.computeCapability != "" {
		a["cudaComputeCapability"] = resourceapi.DeviceAttribute{VersionValue: &model.computeCapability}
	}
	a["driverVersion"] = resourceapi.DeviceAttribute{VersionValue: &model.driver}
	a["cudaDriverVersion"] = resourceapi.DeviceAttribute{VersionValue: &model.cuda}
	p.topology(a, &gpu.PCIFunction, node)
	return p.mark(a)
}

// extended is a copy with room for more.
func extended(a attributes, more int) attributes {
	b := make(attributes, len(a)+more)
	for name, value := range a {
		b[name] = value
	}
	return b
}

// advertisesFull says whether the whole GPU can be had. On Ampere the MIG mode
// changes only when the GPU is reset; later models change it as needed, which only
// dynamic partitioning does.
func (p *Publisher) advertisesFull(gpu *hardware.GPU) bool {
	if gpu.MIG == nil || !gpu.MIG.Enabled {
		return true
	}
	return p.options.MIG == MIGDynamic && !gpu.MIGModeNeedsReset()
}

// isPartitioned says whether every partition that could be made of the GPU is
// published.
func (p *Publisher) isPartitioned(gpu *hardware.GPU) bool {
	return p.options.MIG == MIGDynamic && gpu.MIG != nil && len(gpu.MIG.Profiles) > 0 && (gpu.MIG.Enabled || !gpu.MIGModeNeedsReset())
}

// isShared says whether the GPU has a counter set.
func (p *Publisher) isShared(gpu *hardware.GPU) bool {
	return p.isPartitioned(gpu) || p.hostsVGPUs(gpu)
}

// model finds or makes the GPU's model.
func (p *Publisher) model(gpu *hardware.GPU, driver *hardware.GPUDriver) (*gpuModel, error) {
	key := gpuModelKey{gpu.ProductName, gpu.Brand, gpu.Architecture, gpu.ComputeCapability, gpu.AddressingMode,
		driver.Version, driver.CUDAVersion, gpu.MemoryBytes, p.isPartitioned(gpu)}
	for _, m := range p.models[key] {
		if sameMIG(m.gpu.MIG, gpu.MIG) && sameVGPU(m.gpu.VGPU, gpu.VGPU) {
			return m, nil
		}
	}
	m, err := p.newModel(gpu, driver)
	if err == nil {
		p.models[key] = append(p.models[key], m)
	}
	return m, err
}

func (p *Publisher) newModel(gpu *hardware.GPU, driver *hardware.GPUDriver) (*gpuModel, error) {
	m := &gpuModel{gpu: copyOfModel(gpu), byMinor: map[int]*gpuNames{}, full: capacities{}}
	if gpu.MemoryBytes > 0 {
		m.full["memory"] = bytes(gpu.MemoryBytes)
	}
	for _, v := range []struct {
		field, version string
		into           *string
	}{
		{"cudaComputeCapability", gpu.ComputeCapability, &m.computeCapability},
		{"driverVersion", driver.Version, &m.driver},
		{"cudaDriverVersion", fmt.Sprintf("%d.%d", driver.CUDAVersion/1000, driver.CUDAVersion%1000/10), &m.cuda},
	} {
		if v.version == "" && v.into == &m.computeCapability {
			continue // the library has not told it
		}
		var err error
		if *v.into, err = version(v.version); err != nil {
			return nil, fieldError(fullName(gpu.Minor), "attributes["+v.field+"]", "%w", err)
		}
	}
	if p.isPartitioned(gpu) {
		if err := m.addPartitions(p.hostsVGPUs(gpu)); err != nil {
			return nil, err
		}
	}
	if p.hostsVGPUs(gpu) {
		if err := m.addVGPUs(p.isPartitioned(gpu), p.advertisesFull(gpu), p.limits.setCounters); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(m.parts, func(a, b gpuPart) int {
		switch {
		case a.suffix < b.suffix:
			return -1
		case a.suffix > b.suffix:
			return 1
		}
		return 0
	})
	return m, nil
}

// copyOfModel is a copy that later changes of the GPU's lists do not reach.
func copyOfModel(gpu *hardware.GPU) *hardware.GPU {
	c := *gpu
	for _, s := range []*string{&c.ProductName, &c.Brand, &c.Architecture, &c.AddressingMode} {
		*s = strings.ToValidUTF8(*s, replacement)
	}
	if gpu.MIG != nil {
		mig := *gpu.MIG
		mig.Profiles = slices.Clone(mig.Profiles)
		for i := range mig.Profiles {
			mig.Profiles[i].Placements = slices.Clone(mig.Profiles[i].Placements)
		}
		c.MIG = &mig
	}
	if gpu.VGPU != nil {
		vgpu := *gpu.VGPU
		vgpu.Types = slices.Clone(vgpu.Types)
		c.VGPU = &vgpu
	}
	return &c
}

const fullNamePrefix = "gpu-"

func fullName(minor int) string { return fullNamePrefix + strconv.Itoa(minor) }

// names returns the names of the devices of the GPU with a minor number.
func (m *gpuModel) names(minor int) *gpuNames {
	if n := m.byMinor[minor]; n != nil {
		return n
	}
	n := &gpuNames{full: fullName(minor)}
	n.set = n.full + "-counter-set"
	for i := range m.parts {
		part := &m.parts[i]
		n.parts = append(n.parts, n.full+part.suffix)
		n.consumes = append(n.consumes, []resourceapi.DeviceCounterConsumption{
			{CounterSet: n.set, Counters: part.counters, CompatibilityGroups: part.groups}})
	}
	if m.set != nil {
		n.consumes = append(n.consumes, []resourceapi.DeviceCounterConsumption{{CounterSet: n.set, Counters: m.set}})
	}
	m.byMinor[minor] = n
	return n
}
