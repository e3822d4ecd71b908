package hardware

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// gpu checks invariants 6 to 8.
func (c *checker) gpu(g *GPU) {
	d := device{"gpu", &g.PCIFunction}
	if c.node.GPUDriver == nil {
		c.blame(d, "", "the node has no GPU driver: set GPUDriver")
	}
	if g.Minor < 0 {
		c.blame(d, "Minor", "is %d", g.Minor)
	}
	if !strings.HasPrefix(g.UUID, "GPU-") {
		c.blame(d, "UUID", "%q must begin with GPU-", g.UUID)
	}
	c.take(d, "Minor", fmt.Sprintf("minor %d", g.Minor))
	c.take(d, "UUID", "UUID "+g.UUID)
	if g.MIG != nil {
		c.mig(d, g.MIG)
	}
	if g.VGPU == nil {
		return
	}
	for i, vgpu := range g.VGPU.Types {
		field := fmt.Sprintf("VGPU.Types[%d]", i)
		if i > 0 && vgpu.ID <= g.VGPU.Types[i-1].ID {
			c.blame(d, field, "type %d (%s) must come in the order of IDs, once", vgpu.ID, vgpu.Name)
		}
		if vgpu.MIGProfileID != -1 && (g.MIG == nil || g.MIG.profile(vgpu.MIGProfileID) == nil) {
			c.blame(d, field, "%s has the MIG profile %d behind it, which the GPU lacks", vgpu.Name, vgpu.MIGProfileID)
		}
	}
}

// profile by its hardware ID, or nil.
func (m *MIG) profile(id int) *MIGProfile {
	i := slices.IndexFunc(m.Profiles, func(p MIGProfile) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &m.Profiles[i]
}

// mig checks invariant 7.
func (c *checker) mig(d device, m *MIG) {
	ids := map[int]string{}
	for i, p := range m.Profiles {
		field := fmt.Sprintf("MIG.Profiles[%d]", i)
		if p.Kind < 0 || p.Kind >= GPUInstanceProfileKinds || i > 0 && p.Kind <= m.Profiles[i-1].Kind {
			c.blame(d, field, "kind %d of %s must be one of NVML's, in their order", p.Kind, p.Name)
		}
		if other, ok := ids[p.ID]; ok {
			c.blame(d, field, "ID %d of %s is that of %s as well", p.ID, p.Name, other)
		}
		ids[p.ID] = p.Name
		for _, placement := range p.Placements {
			if placement.Start < 0 || placement.Size < 1 || placement.Size > maxMemorySlices || placement.Start > maxMemorySlices {
				c.blame(d, field, "%s cannot be placed at %d with size %d", p.Name, placement.Start, placement.Size)
			}
		}
	}
	if !m.Enabled && len(m.Instances) > 0 {
		c.blame(d, "MIG.Instances", "there are %d while MIG is not enabled", len(m.Instances))
	}
	covered := map[int]int{} // memory slice to the ID of its instance
	for i, instance := range m.Instances {
		field := fmt.Sprintf("MIG.Instances[%d]", i)
		if instance.ID < 0 || i > 0 && instance.ID <= m.Instances[i-1].ID {
			c.blame(d, field, "ID %d must come in the order of IDs, once", instance.ID)
		}
		c.migInstance(d, field, m, instance, covered)
	}
}

// maxMemorySlices is more than any GPU has.
const maxMemorySlices = 64

func (c *checker) migInstance(d device, field string, m *MIG, instance GPUInstanceState, covered map[int]int) {
	p := m.profile(instance.ProfileID)
	if p == nil {
		c.blame(d, field, "instance %d has profile %d, which the GPU lacks", instance.ID, instance.ProfileID)
		return
	}
	if !slices.Contains(p.Placements, instance.Placement) {
		c.blame(d, field, "instance %d (%s) cannot be at %d with size %d", instance.ID, p.Name,
			instance.Placement.Start, instance.Placement.Size)
		return
	}
	for slice := instance.Placement.Start; slice < instance.Placement.Start+instance.Placement.Size; slice++ {
		if other, ok := covered[slice]; ok {
			c.blame(d, field, "instance %d (%s) covers memory slice %d, as instance %d does", instance.ID, p.Name, slice, other)
			break
		}
		covered[slice] = instance.ID
	}
	for i, compute := range instance.ComputeInstances {
		if compute.ID < 0 || i > 0 && compute.ID <= instance.ComputeInstances[i-1].ID {
			c.blame(d, field, "compute instance %d must come in the order of IDs, once", compute.ID)
		}
		if !strings.HasPrefix(compute.UUID, "MIG-") {
			c.blame(d, field, "UUID %q of compute instance %d must begin with MIG-", compute.UUID, compute.ID)
		}
		c.take(d, field, "UUID "+compute.UUID)
	}
}

// amdGPU checks invariant 9.
func (c *checker) amdGPU(g *AMDGPU) {
	d := device{"amd gpu", &g.PCIFunction}
	c.take(d, "Card", fmt.Sprintf("card %d", g.Card))
	c.take(d, "Render", fmt.Sprintf("render node %d", g.Render))
	if g.Card < 0 || g.Render < 0 {
		c.blame(d, "Card", "card %d and render node %d: neither can be negative", g.Card, g.Render)
	}
	for i, mode := range g.Modes {
		if mode.Compute == "" || mode.Memory == "" || mode.Partitions < 1 {
			c.blame(d, fmt.Sprintf("Modes[%d]", i), "%q, %q gives %d partitions", mode.Compute, mode.Memory, mode.Partitions)
		}
	}
}

// nic checks invariant 10.
func (c *checker) nic(n *NIC) {
	d := device{"nic", &n.PCIFunction}
	if n.Interface != "" {
		c.take(d, "Interface", "interface "+n.Interface)
		if !name.MatchString(n.Interface) || len(n.Interface) > 15 {
			c.blame(d, "Interface", "%q is not the name of an interface: those have 1 to 15 characters", n.Interface)
		}
	}
	if n.Link != LinkEthernet && n.Link != LinkInfiniBand {
		c.blame(d, "Link", "%q must be %s or %s", n.Link, LinkEthernet, LinkInfiniBand)
	}
	if n.MTU < 0 || n.SpeedMbps < 0 {
		c.blame(d, "MTU", "MTU %d and speed %d: neither can be negative", n.MTU, n.SpeedMbps)
	}
	if n.RDMA == nil {
		return
	}
	c.take(d, "RDMA.Device", "RDMA device "+n.RDMA.Device)
	c.take(d, "RDMA.Uverbs", fmt.Sprintf("uverbs%d", n.RDMA.Uverbs))
	if !name.MatchString(n.RDMA.Device) || n.RDMA.Uverbs < 0 {
		c.blame(d, "RDMA", "device %q and uverbs%d are not names of an RDMA device", n.RDMA.Device, n.RDMA.Uverbs)
	}
}

// hex32 is how the kernel prints the IDs of regions and of functions.
var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// fpga checks invariant 11, and the management function for invariant 1.
func (c *checker) fpga(f *FPGA) {
	d := device{"fpga", &f.PCIFunction}
	if f.Management != nil {
		c.take(d, "Management", "address "+f.Management.String())
	}
	for i, region := range f.Regions {
		field := fmt.Sprintf("Regions[%d]", i)
		if region.ID != i {
			c.blame(d, field, "ID %d must be %d: the kernel numbers regions from 0", region.ID, i)
		}
		if !hex32.MatchString(region.Interface) {
			c.blame(d, field, "Interface %q must be 32 lower-case hex digits", region.Interface)
		}
		if region.Function != "" && !hex32.MatchString(region.Function) {
			c.blame(d, field, "Function %q must be 32 lower-case hex digits, or empty", region.Function)
		}
		switch {
		case region.Port != "":
			c.take(d, field, "port "+region.Port)
			if !name.MatchString(region.Port) {
				c.blame(d, field, "Port %q is not the name of a port", region.Port)
			}
		case region.Function != "":
			c.blame(d, field, "Function %s is loaded, and there is no port to reach it", region.Function)
		}
	}
}
