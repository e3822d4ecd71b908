package machine

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

var (
	driverVersionForm = regexp.MustCompile(`^[0-9]{1,5}(\.[0-9]{1,5}){1,3}$`)
	cudaVersionForm   = regexp.MustCompile(`^([1-9][0-9]?)\.([0-9])$`)
)

// maxIMEXChannels is what NVIDIA's driver has at most.
const maxIMEXChannels = 65536

// drivers checks the two GPU drivers and builds NVIDIA's.
func (b *nodeBuilder) drivers() {
	if amd := b.file.AMD; amd != nil && !driverVersionForm.MatchString(amd.Version) {
		b.add(b.at("amd.version"), "%q is not a version: it must look like 6.12.12", amd.Version)
	}
	nvidia := b.file.NVIDIA
	if nvidia == nil {
		return
	}
	at := b.at("nvidia")
	if !driverVersionForm.MatchString(nvidia.Version) {
		b.add(at+".version", "%q is not a version: it must look like 580.126.20", nvidia.Version)
	}
	cuda, ok := cudaVersion(nvidia.CUDA)
	if !ok {
		b.add(at+".cuda", "%q is not a version of CUDA: it must look like 13.0", nvidia.CUDA)
	}
	b.within(at+".imexChannels", nvidia.IMEXChannels, 0, maxIMEXChannels)
	b.within(at+".clique", nvidia.Clique, 0, maxClique)
	b.checkAddressing(at+".addressing", nvidia.Addressing)
	b.node.GPUDriver = &hardware.GPUDriver{Version: nvidia.Version, CUDAVersion: cuda, IMEXChannels: nvidia.IMEXChannels}
}

// maxClique bounds clique IDs, which are 32 bits of NVML's.
const maxClique = 1 << 30

// cudaVersion is a version as NVML encodes it: 13.0 is 13000.
func cudaVersion(text string) (int, bool) {
	m := cudaVersionForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	major, _ := strconv.Atoi(m[1]) // the expression admits nothing else
	minor, _ := strconv.Atoi(m[2])
	return 1000*major + 10*minor, true
}

// clique of the GPUs' fabric, 0 for none.
func (b *nodeBuilder) clique() int {
	if b.file.NVIDIA == nil {
		return 0
	}
	return b.file.NVIDIA.Clique
}

// checkDrivers reports functions whose driver the file does not describe, and
// settings of drivers that nothing can have.
func (b *nodeBuilder) checkDrivers() {
	gpus, vgpuHosts := 0, 0
	each(b, func(f *function, m *GPUModel) {
		if gpus++; gpus == 1 && b.file.NVIDIA == nil {
			b.add(f.path+".model", "%s needs NVIDIA's driver: describe it under nvidia", f.file.Model)
		}
		if m.VGPU != "" {
			vgpuHosts++
		}
		if minor := f.file.Minor; minor != nil {
			b.within(f.path+".minor", *minor, 0, maxFunctions)
			b.unique(f.path+".minor", "minor", strconv.Itoa(*minor))
		}
		if module := f.file.Module; module != 0 {
			b.within(f.path+".module", module, 1, maxFunctions)
			b.unique(f.path+".module", "module", strconv.Itoa(module))
		}
		b.checkMIG(f, m)
	})
	first := true
	each(b, func(f *function, m *AMDGPUModel) {
		switch {
		case b.file.AMD == nil && first:
			b.add(f.path+".model", "%s needs AMD's driver: describe it under amd", f.file.Model)
		case b.file.AMD != nil && b.amdMode(m) == nil && (len(m.Modes) > 0 || b.file.AMD.Compute != "" || b.file.AMD.Memory != ""):
			b.add(b.at("amd"), "model %s has no mode %q with %q; there are %s",
				m.Name, b.file.AMD.Compute, b.file.AMD.Memory, modeNames(m))
		}
		first = false
	})
	if nvidia := b.file.NVIDIA; nvidia != nil && nvidia.VGPU != nil && vgpuHosts == 0 {
		b.add(b.at("nvidia.vgpu"), "is set, but no model here has virtual GPUs")
	}
}

func modeNames(m *AMDGPUModel) string {
	var names []string
	for _, mode := range m.Modes {
		names = append(names, mode.Compute+" with "+mode.Memory)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// checkMIG reports a partitioning that the model cannot have.
func (b *nodeBuilder) checkMIG(f *function, m *GPUModel) {
	mig := f.file.MIG
	if mig == nil {
		return
	}
	at := f.path + ".mig"
	if m.MIG == "" {
		b.add(at, "model %s cannot be partitioned, or its profiles are not known", m.Name)
		return
	}
	if len(mig.Instances) > 0 && !mig.Enabled {
		b.add(at+".instances", "there cannot be instances unless MIG is enabled")
	}
	profiles, count := b.profiles(m), map[string]int{}
	var slicesTaken [maxSlices]int // position of the instance that has the slice, from 1
	for i, instance := range mig.Instances {
		at := index(at+".instances", i)
		n := slices.IndexFunc(profiles, func(p hardware.MIGProfile) bool { return p.Name == instance.Profile })
		if n < 0 {
			b.add(at+".profile", "model %s has no MIG profile %q; there are %s", m.Name, instance.Profile, profileNames(profiles))
			continue
		}
		profile := &profiles[n]
		placement := hardware.Placement{Start: instance.Start, Size: profile.MemorySlices}
		if !slices.Contains(profile.Placements, placement) {
			b.add(at+".start", "%s cannot begin at memory slice %d", profile.Name, instance.Start)
			continue
		}
		if count[profile.Name]++; count[profile.Name] > profile.MaxInstances {
			b.add(at+".profile", "is one of more than the %d instances of %s that fit", profile.MaxInstances, profile.Name)
		}
		for slice := placement.Start; slice < placement.Start+placement.Size; slice++ {
			if other := slicesTaken[slice]; other != 0 {
				b.add(at+".start", "memory slice %d is taken by the instance in line %d", slice,
					b.line(index(f.path+".mig.instances", other-1)))
				break
			}
			slicesTaken[slice] = i + 1
		}
	}
}

func profileNames(profiles []hardware.MIGProfile) string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// profiles are the MIG profiles of a model that has a table, by kind.
func (b *nodeBuilder) profiles(m *GPUModel) []hardware.MIGProfile {
	table := b.models.migTable(m.MIG)
	if built, ok := b.mig[table]; ok {
		return built
	}
	geometry := b.models.geometry(table.Geometry)
	var profiles []hardware.MIGProfile
	for _, row := range table.Profiles {
		size := &geometry.Sizes[slices.IndexFunc(geometry.Sizes, func(s MIGSize) bool { return s.Size == row.Size })]
		kind, _ := sizeKind(row.Size)
		profile := hardware.MIGProfile{
			Name: row.Profile, Kind: kind, ID: size.ID, MaxInstances: size.Max,
			ComputeSlices: size.Compute, MemorySlices: size.Memory,
			Resources: hardware.MIGResources{
				MemoryBytes: mib(row.MemoryMiB), Multiprocessors: row.SMs, CopyEngines: row.Copy,
				Decoders: row.Decoders, Encoders: row.Encoders, JPEGEngines: row.JPEG, OFAEngines: row.OFA,
			},
		}
		for _, start := range size.Starts {
			profile.Placements = append(profile.Placements, hardware.Placement{Start: start, Size: size.Memory})
		}
		slices.SortFunc(profile.Placements, func(x, y hardware.Placement) int { return cmp.Compare(x.Start, y.Start) })
		profiles = append(profiles, profile)
	}
	slices.SortFunc(profiles, func(x, y hardware.MIGProfile) int { return cmp.Compare(x.Kind, y.Kind) })
	b.mig[table] = profiles
	return profiles
}

// gpus builds the node's NVIDIA GPUs. UUIDs are the instance's.
func (b *nodeBuilder) gpus() {
	minors := map[int]bool{}
	each(b, func(f *function, _ *GPUModel) {
		if f.file.Minor != nil {
			minors[*f.file.Minor] = true
		}
	})
	next := 0
	each(b, func(f *function, m *GPUModel) {
		gpu := hardware.GPU{
			PCIFunction: f.pci, ProductName: m.Product, Brand: m.Brand, Architecture: m.Architecture,
			ComputeCapability: m.ComputeCapability, AddressingMode: cmp.Or(m.Addressing, b.file.NVIDIA.Addressing),
			MemoryBytes: mib(m.MemoryMiB), ModuleID: f.file.Module,
			MIG: b.migOf(f, m), VGPU: b.vgpuOf(m),
		}
		if f.file.Minor != nil {
			gpu.Minor = *f.file.Minor
		} else {
			for minors[next] {
				next++
			}
			gpu.Minor = next
			next++
		}
		b.node.GPUs = append(b.node.GPUs, gpu)
	})
}

// migOf is how a GPU is partitioned, without the UUIDs of its MIG devices.
func (b *nodeBuilder) migOf(f *function, m *GPUModel) *hardware.MIG {
	if m.MIG == "" {
		return nil
	}
	enabled := b.file.NVIDIA.MIG
	if f.file.MIG != nil {
		enabled = f.file.MIG.Enabled
	}
	mig := &hardware.MIG{Enabled: enabled, Pending: enabled, Profiles: b.profiles(m)}
	if f.file.MIG == nil {
		return mig
	}
	total := b.models.geometry(b.models.migTable(m.MIG).Geometry).MemorySlices
	for _, instance := range f.file.MIG.Instances {
		n := slices.IndexFunc(mig.Profiles, func(p hardware.MIGProfile) bool { return p.Name == instance.Profile })
		profile := &mig.Profiles[n]
		at := hardware.Placement{Start: instance.Start, Size: profile.MemorySlices}
		state := hardware.GPUInstanceState{ID: numbering.GPUInstanceID(total, at), ProfileID: profile.ID, Placement: at}
		if whole, ok := numbering.ComputeProfileID(profile.ComputeSlices); ok {
			state.ComputeInstances = []hardware.ComputeInstanceState{{ProfileID: whole}}
		}
		mig.Instances = append(mig.Instances, state)
	}
	slices.SortFunc(mig.Instances, func(x, y hardware.GPUInstanceState) int { return cmp.Compare(x.ID, y.ID) })
	return mig
}

// vgpuOf is what a GPU can be as a host of virtual ones, or nil.
func (b *nodeBuilder) vgpuOf(m *GPUModel) *hardware.VGPU {
	host := b.file.NVIDIA.VGPU
	if host == nil || m.VGPU == "" {
		return nil
	}
	table := b.models.vgpuTable(m.VGPU)
	vgpu := &hardware.VGPU{MixedSize: host.MixedSize && table.MixedSize}
	profiles := []hardware.MIGProfile(nil)
	if m.MIG != "" {
		profiles = b.profiles(m)
	}
	for _, row := range table.Types {
		kind := hardware.VGPUType{
			ID: row.ID, Name: row.Name, FramebufferBytes: mib(row.MemoryMiB),
			MaxInstances: row.Max, MaxMixed: row.MaxMixed, MIGProfileID: -1,
		}
		if row.Profile != "" {
			n := slices.IndexFunc(profiles, func(p hardware.MIGProfile) bool { return p.Name == row.Profile })
			kind.MIGProfileID = profiles[n].ID
		}
		vgpu.Types = append(vgpu.Types, kind)
	}
	slices.SortFunc(vgpu.Types, func(x, y hardware.VGPUType) int { return cmp.Compare(x.ID, y.ID) })
	return vgpu
}
