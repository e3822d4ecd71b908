package publish

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Partitions of NVIDIA GPUs: of each profile one device at each placement. They
// share the engines and the memory slices of the GPU, which is a counter set.

// migGroup is the compatibility group of partitions on GPUs that could host
// virtual GPUs that share by time instead.
const migGroup = "mig"

// engines are the dimensions of a profile, by the names of their capacity and of
// their counter.
var engines = []struct {
	capacity resourceapi.QualifiedName
	counter  string
	of       func(*hardware.MIGResources) int64
}{
	{"multiprocessors", "multiprocessors", func(r *hardware.MIGResources) int64 { return int64(r.Multiprocessors) }},
	{"copyEngines", "copy-engines", func(r *hardware.MIGResources) int64 { return int64(r.CopyEngines) }},
	{"decoders", "decoders", func(r *hardware.MIGResources) int64 { return int64(r.Decoders) }},
	{"encoders", "encoders", func(r *hardware.MIGResources) int64 { return int64(r.Encoders) }},
	{"jpegEngines", "jpeg-engines", func(r *hardware.MIGResources) int64 { return int64(r.JPEGEngines) }},
	{"ofaEngines", "ofa-engines", func(r *hardware.MIGResources) int64 { return int64(r.OFAEngines) }},
	{"memory", "memory", func(r *hardware.MIGResources) int64 { return int64(r.MemoryBytes) }},
}

// addPartitions adds the set, the whole GPU's capacity and every partition.
// exclusive keeps partitions and virtual GPUs that share by time from each other.
func (m *gpuModel) addPartitions(exclusive bool) error {
	profiles := m.gpu.MIG.Profiles
	m.full, m.set = capacities{}, counters{}
	for _, engine := range engines {
		most := int64(0)
		for i := range profiles {
			most = max(most, engine.of(&profiles[i].Resources))
		}
		value := *resource.NewQuantity(most, resource.BinarySI)
		m.full[engine.capacity] = resourceapi.DeviceCapacity{Value: value}
		m.set[engine.counter] = resourceapi.Counter{Value: value}
	}
	for i := range profiles {
		profile := &profiles[i]
		m.profiles = append(m.profiles, profile.Name)
		capacity := profileCapacity(profile)
		for _, placement := range profile.Placements {
			if placement.Start < 0 || placement.Size <= 0 {
				return fieldError(fullName(m.gpu.Minor), "mig.profiles["+profile.Name+"].placements",
					"a placement begins at %d and has %d memory slices", placement.Start, placement.Size)
			}
			for _, slice := range memorySlices(placement) {
				m.set[slice] = count(1)
			}
			part := gpuPart{suffix: migSuffix(profile, placement), profile: i, capacity: capacity, counters: profileCounters(profile, placement)}
			if exclusive {
				part.groups = []string{migGroup}
			}
			m.parts = append(m.parts, part)
		}
	}
	return nil
}

// migMark is between the name of a GPU and what says which partition it is.
const migMark = "-mig-"

// migSuffix is what follows the GPU's name: "-mig-1g5gb-19-0", by profile, its
// hardware ID and the first memory slice.
func migSuffix(profile *hardware.MIGProfile, placement hardware.Placement) string {
	return fmt.Sprintf("%s%s-%d-%d", migMark, label(profile.Name), profile.ID, placement.Start)
}

func profileCapacity(profile *hardware.MIGProfile) capacities {
	c := make(capacities, len(engines))
	for _, engine := range engines {
		c[engine.capacity] = resourceapi.DeviceCapacity{Value: *resource.NewQuantity(engine.of(&profile.Resources), resource.BinarySI)}
	}
	return c
}

func profileCounters(profile *hardware.MIGProfile, placement hardware.Placement) counters {
	c := make(counters, len(engines)+placement.Size)
	for _, engine := range engines {
		c[engine.counter] = resourceapi.Counter{Value: *resource.NewQuantity(engine.of(&profile.Resources), resource.BinarySI)}
	}
	for _, slice := range memorySlices(placement) {
		c[slice] = count(1)
	}
	return c
}

// memorySlices are the counters of the slices that a placement covers.
func memorySlices(placement hardware.Placement) (names []string) {
	for i := range placement.Size {
		names = append(names, "memory-slice-"+strconv.Itoa(placement.Start+i))
	}
	return names
}

// staticPartitions are the partitions that an administrator has made: GPU
// instances with one compute instance that is all of it. Others are not
// published: two compute instances of one GPU instance would have one name.
func (p *Publisher) staticPartitions(gpu *hardware.GPU, common attributes) []resourceapi.Device {
	if gpu.MIG == nil || !gpu.MIG.Enabled {
		return nil
	}
	var devices []resourceapi.Device
	for _, instance := range gpu.MIG.Instances {
		i := slices.IndexFunc(gpu.MIG.Profiles, func(f hardware.MIGProfile) bool { return f.ID == instance.ProfileID })
		if i < 0 || len(instance.ComputeInstances) != 1 {
			continue
		}
		profile, compute := &gpu.MIG.Profiles[i], &instance.ComputeInstances[0]
		if !isWhole(profile, compute) {
			continue
		}
		a := extended(common, 4)
		a["type"] = text("mig")
		a["uuid"] = text(compute.UUID)
		a["parentUUID"] = text(gpu.UUID)
		a["profile"] = text(profile.Name)
		capacity := profileCapacity(profile)
		for slice := range instance.Placement.Size {
			capacity[resourceapi.QualifiedName("memorySlice"+strconv.Itoa(instance.Placement.Start+slice))] = amount(1)
		}
		devices = append(devices, resourceapi.Device{Name: fullName(gpu.Minor) + migSuffix(profile, instance.Placement), Attributes: a, Capacity: capacity})
	}
	slices.SortFunc(devices, func(a, b resourceapi.Device) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return devices
}

// isWhole says whether a compute instance has all compute slices of its GPU
// instance. The hardware IDs of compute profiles count slices from 0; 7 slices
// are 4, 8 are 5, 6 are 6, and one slice with media engines is 7.
func isWhole(profile *hardware.MIGProfile, compute *hardware.ComputeInstanceState) bool {
	switch compute.ProfileID {
	case 0, 1, 2, 3:
		return profile.ComputeSlices == compute.ProfileID+1
	case 4:
		return profile.ComputeSlices == 7
	case 5:
		return profile.ComputeSlices == 8
	case 6:
		return profile.ComputeSlices == 6
	case 7:
		return profile.ComputeSlices == 1
	}
	return false
}

// sameMIG says whether the partitions that can be made are the same.
func sameMIG(a, b *hardware.MIG) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Enabled == b.Enabled && slices.EqualFunc(a.Profiles, b.Profiles, func(x, y hardware.MIGProfile) bool {
		return x.Name == y.Name && x.ID == y.ID && x.Resources == y.Resources && slices.Equal(x.Placements, y.Placements)
	})
}
