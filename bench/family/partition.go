package family

import (
	"fmt"
	"math/rand/v2"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Families about partitions: devices that take counters from a shared set.

// profile is a kind of partition of a GPU with eight slices of memory.
type profile struct {
	name   string
	slices int   // of memory
	starts []int // where one may begin
}

// profiles are those of a GPU that NVIDIA's MIG partitions: 14 placements, of
// which 298 sets fit beside each other.
var profiles = []profile{
	{"1g", 1, []int{0, 1, 2, 3, 4, 5, 6}},
	{"2g", 2, []int{0, 2, 4}},
	{"3g", 4, []int{0, 4}},
	{"4g", 4, []int{0}},
	{"7g", 8, []int{0}},
}

const (
	memorySlices       = 8
	placementsOfOneGPU = 298
)

func counterSetName(gpu int) string { return fmt.Sprintf("gpu-%02d", gpu) }
func counterName(slice int) string  { return fmt.Sprintf("memory-slice-%d", slice) }
func oneUnit() resourceapi.Counter {
	return resourceapi.Counter{Value: *resource.NewQuantity(1, resource.DecimalSI)}
}
func units(n int) resourceapi.Counter {
	return resourceapi.Counter{Value: *resource.NewQuantity(int64(n), resource.DecimalSI)}
}

func placementName(gpu int, profile string, start int) string {
	return fmt.Sprintf("gpu-%02d-mig-%s-%d", gpu, profile, start)
}

// withGPUs gives the node GPUs with every placement of every profile, and a
// class for each profile.
func (c *Case) withGPUs(gpus int) {
	var devices []resourceapi.Device
	var sets []resourceapi.CounterSet
	for gpu := range gpus {
		set := resourceapi.CounterSet{Name: counterSetName(gpu), Counters: make(map[string]resourceapi.Counter)}
		for slice := range memorySlices {
			set.Counters[counterName(slice)] = oneUnit()
		}
		sets = append(sets, set)
		for _, p := range profiles {
			for _, start := range p.starts {
				devices = append(devices, placement(gpu, p, start))
			}
		}
	}
	c.Scenario.Slices = counterSlice(localPool("local", c.Node.Name, devices), sets...)
	var classes []*resourceapi.DeviceClass
	for _, p := range profiles {
		classes = append(classes, newClass(p.name, fmt.Sprintf(`device.attributes["gpu.example.com"].profile == %q`, p.name)))
	}
	c.withClasses(classes...)
}

func placement(gpu int, p profile, start int) resourceapi.Device {
	counters := make(map[string]resourceapi.Counter)
	for slice := start; slice < start+p.slices; slice++ {
		counters[counterName(slice)] = oneUnit()
	}
	return resourceapi.Device{
		Name: placementName(gpu, p.name, start),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"profile": {StringValue: ptr.To(p.name)},
			"gpu":     {IntValue: ptr.To(int64(gpu))},
		},
		ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: counterSetName(gpu), Counters: counters}},
	}
}

// onePartitionTooMany: seven partitions fit on each GPU, and one more is wanted.
func onePartitionTooMany(s Size) *Case {
	c, gpus := newCase(), s.Of("g")
	c.withGPUs(gpus)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, 7*gpus+1))}
	c.Steps = power(placementsOfOneGPU, gpus)
	return c
}

// mixedPartitions: on every GPU one small partition is in use, in the lower half
// of each first and the upper half of each second one. The claim fits in one way
// only, and takes what is left to the last slice; what comes first in the order
// of devices is wrong for every request.
func mixedPartitions(s Size) *Case {
	c, pairs := newCase(), s.Of("g")/2
	c.withGPUs(2 * pairs)
	for gpu := range 2 * pairs {
		start := 0
		if gpu%2 == 1 {
			start = 5
		}
		c.allocate(fmt.Sprintf("other-%d", gpu), held("local", placementName(gpu, "1g", start)))
	}
	// What is left of a pair: 1g at 1, 2g at 2 and 3g at 4 of the first, 4g at 0
	// and 1g at 4 and 6 of the second.
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c",
		wants("one", "1g", 3*pairs), wants("two", "2g", pairs), wants("three", "3g", pairs), wants("four", "4g", pairs))}
	return c
}

// setPacking: devices take three of 24 counters at random, and k of them shall
// not meet. This one is hard for everybody.
func setPacking(s Size) *Case {
	const counters, each = 24, 3
	c, n, k := newCase(), s.Of("n"), s.Of("k")
	random := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	set := resourceapi.CounterSet{Name: counterSetName(0), Counters: make(map[string]resourceapi.Counter)}
	for i := range counters {
		set.Counters[counterName(i)] = oneUnit()
	}
	devices := newDevices(n)
	for i := range devices {
		consumed := make(map[string]resourceapi.Counter)
		for _, counter := range random.Perm(counters)[:each] {
			consumed[counterName(counter)] = oneUnit()
		}
		devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: set.Name, Counters: consumed}}
	}
	c.withClasses()
	c.Scenario.Slices = counterSlice(localPool("local", c.Node.Name, devices), set)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, k))}
	return c
}

// noCommonGroup: each GPU is used in one of two ways, as compatibility groups
// say, with h devices in each. One device more is wanted than that allows.
func noCommonGroup(s Size) *Case {
	c, gpus, half := newCase(), s.Of("g"), s.Of("h")
	var devices []resourceapi.Device
	var sets []resourceapi.CounterSet
	for gpu := range gpus {
		sets = append(sets, resourceapi.CounterSet{Name: counterSetName(gpu), Counters: map[string]resourceapi.Counter{"slots": units(2 * half)}})
		for i := range 2 * half {
			devices = append(devices, resourceapi.Device{
				Name: fmt.Sprintf("gpu-%02d-%02d", gpu, i),
				ConsumesCounters: []resourceapi.DeviceCounterConsumption{{
					CounterSet:          counterSetName(gpu),
					Counters:            map[string]resourceapi.Counter{"slots": oneUnit()},
					CompatibilityGroups: []string{fmt.Sprintf("way-%d", i%2)},
				}},
			})
		}
	}
	c.withClasses()
	c.Scenario.Features.CompatibilityGroups = true
	c.Scenario.Slices = counterSlice(localPool("local", c.Node.Name, devices), sets...)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, gpus*half+1))}
	c.Steps = power(2<<half-1, gpus)
	return c
}
