package machine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Bounds of what a model can say, far above what exists.
const (
	maxMemoryMiB = 64 << 20 // 64 TiB
	maxVFs       = 4096
	maxCount     = 4096 // equal things in a list: members, devices, partitions
	maxSlices    = 24   // memory slices of a GPU
)

var (
	capabilityForm = regexp.MustCompile(`^[0-9]{1,2}\.[0-9]{1,2}$`)
	profileForm    = regexp.MustCompile(`^[1-9][0-9]?g\.[1-9][0-9]{0,3}gb([+-][a-z]+(\.[a-z]+)*)?$`)
	hexIDForm      = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// check reports models and tables that contradict themselves or refer to tables
// that are not there. The set has them already.
func (s *modelSet) check(p *problems, path string, m *Models) {
	for i := range m.MIGGeometries {
		p.checkGeometry(index(field(path, "migGeometries"), i), &m.MIGGeometries[i])
	}
	for i := range m.MIGTables {
		s.checkMIGTable(p, index(field(path, "migTables"), i), &m.MIGTables[i])
	}
	for i := range m.VGPUTables {
		p.checkVGPUTable(index(field(path, "vgpuTables"), i), &m.VGPUTables[i])
	}
	for i := range m.GPUs {
		s.checkGPU(p, index(field(path, "gpus"), i), &m.GPUs[i])
	}
	for i := range m.AMDGPUs {
		p.checkAMDGPU(index(field(path, "amdgpus"), i), &m.AMDGPUs[i])
	}
	for i := range m.NICs {
		p.checkNIC(index(field(path, "nics"), i), &m.NICs[i])
	}
	for i := range m.FPGAs {
		at, f := index(field(path, "fpgas"), i), &m.FPGAs[i]
		p.checkPCIModel(at, &f.PCIModel)
		p.within(at+".memoryMiB", f.MemoryMiB, 0, maxMemoryMiB)
		p.checkRegions(at+".regions", f.Regions)
	}
}

// within reports a number outside of [low, high].
func (p *problems) within(path string, n, low, high int) {
	if n < low || n > high {
		p.add(path, "is %d, which is not between %d and %d", n, low, high)
	}
}

func (p *problems) required(path, text string) {
	if text == "" {
		p.add(path, "is missing")
	}
}

func (p *problems) checkPCIModel(path string, m *PCIModel) {
	p.checkEvidence(path+".evidence", m.Evidence)
	p.required(path+".product", m.Product)
	if m.IDs == (IDPair{}) {
		p.add(path+".ids", "is missing: vendor and device, such as 10de:2330")
	}
	p.checkDriverName(path+".driver", m.Driver)
}

// checkDriverName reports what cannot be the name of a kernel driver. Empty is none.
func (p *problems) checkDriverName(path, name string) {
	if name != "" && (len(name) > maxName || !deviceNameForm.MatchString(name)) {
		p.add(path, "%q is not the name of a kernel driver", name)
	}
}

func (p *problems) checkGeometry(path string, g *MIGGeometry) {
	p.checkEvidence(path+".evidence", g.Evidence)
	p.within(path+".memorySlices", g.MemorySlices, 1, maxSlices)
	if len(g.Sizes) == 0 {
		p.add(path+".sizes", "is missing: a geometry has sizes of instances")
	}
	sizes, ids := map[string]bool{}, map[int]bool{}
	for i, size := range g.Sizes {
		at := index(path+".sizes", i)
		if _, ok := sizeKind(size.Size); !ok {
			p.add(at+".size", "%q is not a size of instance; there are %q", size.Size, sizeKinds)
		}
		if sizes[size.Size] {
			p.add(at+".size", "%q is there twice", size.Size)
		}
		if ids[size.ID] {
			p.add(at+".id", "%d is there twice", size.ID)
		}
		sizes[size.Size], ids[size.ID] = true, true
		p.within(at+".id", size.ID, 0, 255)
		p.within(at+".compute", size.Compute, 1, maxSlices)
		p.within(at+".memory", size.Memory, 1, g.MemorySlices)
		if len(size.Starts) == 0 {
			p.add(at+".starts", "is missing: the memory slices at which an instance can begin")
		}
		p.within(at+".max", size.Max, 1, max(1, len(size.Starts)))
		for j, start := range size.Starts {
			// A start that is a multiple of the size keeps GPU instance IDs unique; all
			// families are cut that way.
			if start < 0 || start+size.Memory > g.MemorySlices || size.Memory > 0 && start%size.Memory != 0 {
				p.add(index(at+".starts", j), "%d is not the start of %d of %d memory slices",
					start, size.Memory, g.MemorySlices)
			}
			if slices.Contains(size.Starts[:j], start) {
				p.add(index(at+".starts", j), "%d is there twice", start)
			}
		}
	}
}

func (s *modelSet) checkMIGTable(p *problems, path string, t *MIGTable) {
	p.checkEvidence(path+".evidence", t.Evidence)
	geometry := s.geometry(t.Geometry)
	if geometry == nil {
		p.add(path+".geometry", "there is no geometry %q", t.Geometry)
		return
	}
	if len(t.Profiles) == 0 {
		p.add(path+".profiles", "is missing")
	}
	names, sizes := map[string]bool{}, map[string]bool{}
	for i := range t.Profiles {
		at, row := index(path+".profiles", i), &t.Profiles[i]
		if !profileForm.MatchString(row.Profile) {
			p.add(at+".profile", "%q is not a MIG profile: it must look like 1g.10gb or 1g.10gb+me", row.Profile)
		}
		if names[row.Profile] {
			p.add(at+".profile", "%q is there twice", row.Profile)
		}
		if sizes[row.Size] {
			p.add(at+".size", "%q is there twice", row.Size)
		}
		names[row.Profile], sizes[row.Size] = true, true
		if !slices.ContainsFunc(geometry.Sizes, func(size MIGSize) bool { return size.Size == row.Size }) {
			p.add(at+".size", "geometry %s has no size %q", geometry.Name, row.Size)
		}
		p.within(at+".memoryMiB", row.MemoryMiB, 1, maxMemoryMiB)
		p.within(at+".sms", row.SMs, 1, 1<<16)
		for _, engine := range []struct {
			name string
			n    int
		}{{"copy", row.Copy}, {"decoders", row.Decoders}, {"encoders", row.Encoders}, {"jpeg", row.JPEG}, {"ofa", row.OFA}} {
			p.within(at+"."+engine.name, engine.n, 0, 1<<16)
		}
		if row.Confidence != "" && !slices.Contains(Confidences[:], row.Confidence) {
			p.add(at+".confidence", "%q is not one of S, D, K, ?", row.Confidence)
		}
	}
}

func (p *problems) checkVGPUTable(path string, t *VGPUTable) {
	p.checkEvidence(path+".evidence", t.Evidence)
	if len(t.Types) == 0 {
		p.add(path+".types", "is missing")
	}
	ids, names := map[int]bool{}, map[string]bool{}
	for i, row := range t.Types {
		at := index(path+".types", i)
		p.required(at+".name", row.Name)
		if ids[row.ID] {
			p.add(at+".id", "%d is there twice", row.ID)
		}
		if names[row.Name] {
			p.add(at+".name", "%q is there twice", row.Name)
		}
		ids[row.ID], names[row.Name] = true, true
		p.within(at+".id", row.ID, 1, 1<<20)
		p.within(at+".memoryMiB", row.MemoryMiB, 1, maxMemoryMiB)
		p.within(at+".max", row.Max, 1, maxCount)
		p.within(at+".maxMixed", row.MaxMixed, 0, row.Max)
	}
}

func (s *modelSet) checkGPU(p *problems, path string, g *GPUModel) {
	p.checkPCIModel(path, &g.PCIModel)
	p.required(path+".brand", g.Brand)
	p.required(path+".architecture", g.Architecture)
	if !capabilityForm.MatchString(g.ComputeCapability) {
		p.add(path+".computeCapability", "%q is not a compute capability: it must look like 9.0", g.ComputeCapability)
	}
	p.checkAddressing(path+".addressing", g.Addressing)
	p.within(path+".memoryMiB", g.MemoryMiB, 1, maxMemoryMiB)
	p.within(path+".totalVFs", g.TotalVFs, 0, maxVFs)
	if g.MIG != "" {
		if table := s.migTable(g.MIG); table == nil {
			p.add(path+".mig", "there is no MIG table %q", g.MIG)
		} else {
			for _, row := range table.Profiles {
				if row.MemoryMiB > g.MemoryMiB {
					p.add(path+".mig", "profile %s of table %s has %d MiB, more than the GPU's %d",
						row.Profile, table.Name, row.MemoryMiB, g.MemoryMiB)
				}
			}
		}
	}
	if g.VGPU != "" {
		s.checkVGPUOf(p, path+".vgpu", g)
	}
}

// checkVGPUOf reports types that are backed by profiles which the GPU lacks.
func (s *modelSet) checkVGPUOf(p *problems, path string, g *GPUModel) {
	table := s.vgpuTable(g.VGPU)
	if table == nil {
		p.add(path, "there is no table of virtual GPUs %q", g.VGPU)
		return
	}
	mig := s.migTable(g.MIG)
	for _, row := range table.Types {
		if row.Profile == "" {
			continue
		}
		if mig == nil || !slices.ContainsFunc(mig.Profiles, func(r MIGProfile) bool { return r.Profile == row.Profile }) {
			p.add(path, "type %q is backed by profile %q, which the GPU does not have", row.Name, row.Profile)
		}
	}
}

func (p *problems) checkAddressing(path, mode string) {
	if !slices.Contains([]string{"", "HMM", "ATS", "None"}, mode) {
		p.add(path, "%q is not an addressing mode: HMM, ATS or None", mode)
	}
}

func (p *problems) checkAMDGPU(path string, g *AMDGPUModel) {
	p.checkPCIModel(path, &g.PCIModel)
	p.within(path+".memoryMiB", g.MemoryMiB, 1, maxMemoryMiB)
	p.within(path+".computeUnits", g.ComputeUnits, 1, 1<<16)
	p.within(path+".simdUnits", g.SIMDUnits, 0, 1<<20)
	seen := map[AMDMode]bool{}
	for i, mode := range g.Modes {
		at := index(path+".modes", i)
		p.required(at+".compute", mode.Compute)
		p.required(at+".memory", mode.Memory)
		p.within(at+".partitions", mode.Partitions, 1, 64)
		key := AMDMode{Compute: mode.Compute, Memory: mode.Memory}
		if seen[key] {
			p.add(at, "%s with %s is there twice", mode.Compute, mode.Memory)
		}
		seen[key] = true
	}
}

func (p *problems) checkNIC(path string, n *NICModel) {
	p.checkPCIModel(path, &n.PCIModel)
	if n.Link != hardware.LinkEthernet && n.Link != hardware.LinkInfiniBand {
		p.add(path+".link", "%q is neither ethernet nor infiniband", n.Link)
	}
	p.within(path+".speedMbps", n.SpeedMbps, 0, 1<<30)
	p.within(path+".mtu", n.MTU, 1, 1<<16)
	if n.VF != nil {
		p.within(path+".vf.max", n.VF.Max, 1, maxVFs)
		p.checkDriverName(path+".vf.driver", n.VF.Driver)
		if n.VF.IDs == (IDPair{}) {
			p.add(path+".vf.ids", "is missing: vendor and device, such as 15b3:101e")
		}
	}
}

func (p *problems) checkRegions(path string, regions []RegionFile) {
	if len(regions) > maxCount {
		p.add(path, "has %d regions, more than %d", len(regions), maxCount)
	}
	for i, region := range regions {
		at := index(path, i)
		if !hexIDForm.MatchString(region.Interface) {
			p.add(at+".interface", "%q is not an interface ID: 32 lower-case hexadecimal digits", region.Interface)
		}
		if region.Function != "" && !hexIDForm.MatchString(region.Function) {
			p.add(at+".function", "%q is not the ID of a function: 32 lower-case hexadecimal digits", region.Function)
		}
		if name := strings.ReplaceAll(region.Port, "{n}", "0"); name != "" && (len(name) > maxName || !deviceNameForm.MatchString(name)) {
			p.add(at+".port", "%q is not the name of a port: it must look like dfl-port.0 or dfl-port.{n}", region.Port)
		}
		if region.Port == "" && region.Function != "" {
			p.add(at+".port", "is missing: a function that is loaded is reached through a port")
		}
	}
}
