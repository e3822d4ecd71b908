package publish

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Virtual GPUs. The model is Dray's own: no driver publishes them. It has the
// hardware's rules as compatibility groups and counters of the GPU's counter set:
//
//   - Partitions and virtual GPUs backed by one are of group mig; a GPU is either
//     partitioned or shared by time.
//   - On a host of equal sizes, virtual GPUs that share by time and have s MiB are of
//     group ts-<s>: the first one fixes the size. Of a type there are as many devices as
//     fit on the GPU. They share the counter vgpu-framebuffer, which has a number
//     that all their maxima divide.
//   - On a host of mixed sizes they are all of group ts-mixed. A type of which m can be
//     there lies at one of m slots, and slots of different sizes overlap. So a device is
//     a type at a slot, and consumes the counters vgpu-slot-<n> of what it covers.
//   - The whole GPU consumes everything and needs no group.

// mixedGroup is the group of virtual GPUs on a host of mixed sizes.
const mixedGroup = "ts-mixed"

// framebufferCounter is what virtual GPUs of equal size have parts of.
const framebufferCounter = "vgpu-framebuffer"

func (p *Publisher) hostsVGPUs(gpu *hardware.GPU) bool {
	return p.options.VGPU && gpu.VGPU != nil && len(gpu.VGPU.Types) > 0
}

// addVGPUs adds virtual GPUs backed by partitions if the GPU is partitioned, and
// those that share by time if it need not be in MIG mode. A counter set can have
// maxCounters.
func (m *gpuModel) addVGPUs(partitioned, timeShared bool, maxCounters int) error {
	set := counters{}
	for name, counter := range m.set {
		set[name] = counter
	}
	types := m.gpu.VGPU.Types
	if partitioned {
		for i := range types {
			if types[i].MIGProfileID >= 0 {
				m.addBacked(&types[i])
			}
		}
	}
	if timeShared {
		whole, err := m.commonDenominator()
		if err != nil {
			return err
		}
		if m.gpu.VGPU.MixedSize {
			m.addMixed(set, whole, maxCounters)
		} else {
			m.addEqual(set, whole)
		}
	}
	if len(set) > 0 {
		m.set = set
	}
	return nil
}

// mostVGPUs is how many of a type that shares by time fit, 0 for one that cannot be
// on a host of mixed sizes.
func mostVGPUs(host *hardware.VGPU, t *hardware.VGPUType) int {
	if host.MixedSize {
		return t.MaxMixed
	}
	return t.MaxInstances
}

// backing is the profile that backs a type, nil for none of the GPU's.
func backing(mig *hardware.MIG, t *hardware.VGPUType) *hardware.MIGProfile {
	if mig == nil {
		return nil
	}
	i := slices.IndexFunc(mig.Profiles, func(f hardware.MIGProfile) bool { return f.ID == t.MIGProfileID })
	if i < 0 {
		return nil
	}
	return &mig.Profiles[i]
}

// commonDenominator is a number of parts of the GPU by which the part of every type
// that shares by time is a whole number of them.
func (m *gpuModel) commonDenominator() (int64, error) {
	whole := int64(1) // no more than 40 bits
	for i := range m.gpu.VGPU.Types {
		t := &m.gpu.VGPU.Types[i]
		n := int64(mostVGPUs(m.gpu.VGPU, t))
		if t.MIGProfileID >= 0 || n == 0 && m.gpu.VGPU.MixedSize {
			continue
		}
		if n <= 0 || whole > 1<<40/n {
			return 0, fieldError(fullName(m.gpu.Minor), "vgpu.types["+t.Name+"].maxInstances", "%d is not a number of virtual GPUs that fit", n)
		}
		whole = leastCommonMultiple(whole, n)
	}
	return whole, nil
}

// addEqual adds virtual GPUs of a host of equal sizes.
func (m *gpuModel) addEqual(set counters, whole int64) {
	for i := range m.gpu.VGPU.Types {
		t := &m.gpu.VGPU.Types[i]
		if t.MIGProfileID >= 0 {
			continue
		}
		set[framebufferCounter] = resourceapi.Counter{Value: *resource.NewQuantity(whole, resource.DecimalSI)}
		part := gpuPart{profile: -1, vgpu: t, groups: []string{fmt.Sprintf("ts-%d", t.FramebufferBytes>>20)},
			capacity: capacities{"memory": bytes(t.FramebufferBytes)},
			counters: counters{framebufferCounter: share(whole / int64(t.MaxInstances))}}
		for n := range t.MaxInstances {
			part.suffix = vgpuSuffix(t, n)
			m.parts = append(m.parts, part)
		}
	}
}

// addMixed adds virtual GPUs of a host of mixed sizes. The slots of all types cut
// the GPU into pieces, of which each is a counter. Where that are more than the set
// has room for, types are left out, those of which the most can be there first.
func (m *gpuModel) addMixed(set counters, whole int64, maxCounters int) {
	var types []*hardware.VGPUType
	for i := range m.gpu.VGPU.Types {
		if t := &m.gpu.VGPU.Types[i]; t.MIGProfileID < 0 && t.MaxMixed > 0 {
			types = append(types, t)
		}
	}
	slices.SortStableFunc(types, func(a, b *hardware.VGPUType) int { return a.MaxMixed - b.MaxMixed })
	room := maxCounters - len(set)
	cuts := []int64{0, whole} // where pieces begin, and the end of the last
	var fit []*hardware.VGPUType
	for _, t := range types {
		if t.MaxMixed > room {
			continue
		}
		more := slices.Clone(cuts)
		for n := range int64(t.MaxMixed) {
			more = append(more, n*whole/int64(t.MaxMixed))
		}
		slices.Sort(more)
		if more = slices.Compact(more); len(more)-1 <= room {
			cuts, fit = more, append(fit, t)
		}
	}
	for _, t := range fit {
		part := gpuPart{profile: -1, vgpu: t, groups: []string{mixedGroup}, capacity: capacities{"memory": bytes(t.FramebufferBytes)}}
		size := whole / int64(t.MaxMixed)
		for n := range t.MaxMixed {
			part.suffix, part.counters = vgpuSuffix(t, n), counters{}
			for piece, begin := range cuts[:len(cuts)-1] {
				if begin >= int64(n)*size && begin < int64(n+1)*size {
					name := fmt.Sprintf("vgpu-slot-%d", piece)
					part.counters[name], set[name] = count(1), count(1)
				}
			}
			m.parts = append(m.parts, part)
		}
	}
}

// vgpuSuffix is what follows the GPU's name: "-vgpu-nvidia-a100-10c-2", by type and
// number. The number is the slot on a host of mixed sizes, and the first memory slice
// of a virtual GPU that a partition backs.
func vgpuSuffix(t *hardware.VGPUType, n int) string {
	return fmt.Sprintf("%s%s-%d", vgpuMark, label(t.Name), n)
}

// vgpuMark is between the name of a GPU and what says which virtual GPU it is.
const vgpuMark = "-vgpu-"

// share is a part of the framebuffer counter.
func share(n int64) resourceapi.Counter {
	return resourceapi.Counter{Value: *resource.NewQuantity(n, resource.BinarySI)}
}

// addBacked adds a virtual GPU at each placement of the profile that backs it.
func (m *gpuModel) addBacked(t *hardware.VGPUType) {
	profile := backing(m.gpu.MIG, t)
	if profile == nil {
		return
	}
	for _, placement := range profile.Placements {
		m.parts = append(m.parts, gpuPart{suffix: vgpuSuffix(t, placement.Start), profile: -1, vgpu: t,
			capacity: capacities{"memory": bytes(t.FramebufferBytes)}, counters: profileCounters(profile, placement), groups: []string{migGroup}})
	}
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
