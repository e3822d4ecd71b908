package publish

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Virtual GPUs. The model is Dray's own: no driver publishes them. It has the
// hardware's rules as compatibility groups of the GPU's counter set:
//
//   - Partitions and virtual GPUs backed by one are of group mig; a GPU is either
//     partitioned or shared by time.
//   - Virtual GPUs that share by time and have s MiB are of group ts-<s>: on a host
//     of equal sizes the first one fixes the size.
//   - On a host of mixed sizes those that may be mixed are of ts-mixed as well. The
//     first two of different sizes leave only that group.
//   - The whole GPU consumes everything and needs no group.
//
// Of a type there are as many devices as fit on the GPU. Types of equal size also
// share the counter vgpu-framebuffer, which has a number that all their maxima
// divide. A type that has two maxima is counted by the stricter one.

// mixedGroup is the group of virtual GPUs of different sizes.
const mixedGroup = "ts-mixed"

// framebufferCounter is what virtual GPUs that share by time have parts of.
const framebufferCounter = "vgpu-framebuffer"

func (p *Publisher) hostsVGPUs(gpu *hardware.GPU) bool {
	return p.options.VGPU && gpu.VGPU != nil && len(gpu.VGPU.Types) > 0
}

// addVGPUs adds virtual GPUs backed by partitions if the GPU is partitioned, and
// those that share by time if it need not be in MIG mode.
func (m *gpuModel) addVGPUs(partitioned, timeShared bool) error {
	set := counters{}
	for name, counter := range m.set {
		set[name] = counter
	}
	types := m.gpu.VGPU.Types
	slots := int64(1) // more than 32 bits have
	for i := range types {
		t := &types[i]
		if t.MIGProfileID < 0 && timeShared {
			n := int64(m.most(t))
			if n <= 0 || slots > 1<<40/n {
				return fieldError(fullName(m.gpu.Minor), "vgpu.types["+t.Name+"].maxInstances", "%d is not a number of virtual GPUs that fit", n)
			}
			slots = leastCommonMultiple(slots, n)
		}
	}
	added := false
	for i := range types {
		switch t := &types[i]; {
		case t.MIGProfileID >= 0:
			if partitioned {
				m.addBacked(t)
			}
		case timeShared:
			added = true
			part := gpuPart{profile: -1, vgpu: t, groups: m.groupsOf(t), capacity: capacities{"memory": bytes(t.FramebufferBytes)},
				counters: counters{framebufferCounter: share(slots / int64(m.most(t)))}}
			for n := range m.most(t) {
				part.suffix = fmt.Sprintf("-vgpu-%s-%d", label(t.Name), n)
				m.parts = append(m.parts, part)
			}
		}
	}
	if added {
		set[framebufferCounter] = resourceapi.Counter{Value: *resource.NewQuantity(slots, resource.DecimalSI)}
	}
	if len(set) > 0 {
		m.set = set
	}
	return nil
}

// share is a part of the framebuffer counter.
func share(n int64) resourceapi.Counter {
	return resourceapi.Counter{Value: *resource.NewQuantity(n, resource.BinarySI)}
}

// addBacked adds a virtual GPU at each placement of the profile that backs it.
func (m *gpuModel) addBacked(t *hardware.VGPUType) {
	i := slices.IndexFunc(m.gpu.MIG.Profiles, func(f hardware.MIGProfile) bool { return f.ID == t.MIGProfileID })
	if i < 0 {
		return
	}
	profile := &m.gpu.MIG.Profiles[i]
	for _, placement := range profile.Placements {
		m.parts = append(m.parts, gpuPart{suffix: fmt.Sprintf("-vgpu-%s-%d", label(t.Name), placement.Start), profile: -1, vgpu: t,
			capacity: capacities{"memory": bytes(t.FramebufferBytes)}, counters: profileCounters(profile, placement), groups: []string{migGroup}})
	}
}

// most is how many of the type fit, by the stricter rule.
func (m *gpuModel) most(t *hardware.VGPUType) int {
	if m.gpu.VGPU.MixedSize && t.MaxMixed > 0 {
		return min(t.MaxInstances, t.MaxMixed)
	}
	return t.MaxInstances
}

func (m *gpuModel) groupsOf(t *hardware.VGPUType) []string {
	groups := []string{fmt.Sprintf("ts-%d", t.FramebufferBytes>>20)}
	if m.gpu.VGPU.MixedSize && t.MaxMixed > 0 {
		groups = append(groups, mixedGroup)
	}
	return groups
}

// vgpuAttributes makes the attributes of a GPU's virtual GPUs, one map a type.
type vgpuAttributes struct {
	common attributes
	byType map[*hardware.VGPUType]attributes
}

func (v *vgpuAttributes) of(t *hardware.VGPUType) attributes {
	if a := v.byType[t]; a != nil {
		return a
	}
	a := extended(v.common, 3)
	a["type"] = text("vgpu")
	a["profile"] = text(t.Name)
	sharing := "time"
	if t.MIGProfileID >= 0 {
		sharing = "mig"
	}
	a["vgpuSharing"] = text(sharing)
	if v.byType == nil {
		v.byType = map[*hardware.VGPUType]attributes{}
	}
	v.byType[t] = a
	return a
}

func sameVGPU(a, b *hardware.VGPU) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.MixedSize == b.MixedSize && slices.Equal(a.Types, b.Types)
}

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
