package inventory

import (
	"fmt"
	"sort"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Pool is an index.Pool together with the API objects behind its numbers.
// Nodes that reach the same slices share it.
type Pool struct {
	index.Pool
	driver, pool draapi.UniqueString
	// serial is different for each pool of the process.
	serial uint64
	// slices hold the pool's devices, in order; starts[i] is the number of the
	// first device of slices[i], and a last entry is the number of devices.
	slices []*Slice
	starts []int
	// withheld are the slices that the node reaches of a pool that is not usable.
	withheld []*Slice
	// bound: the pool is tried after all others, because the node has to wait
	// for some of its devices.
	bound bool
	// members tells which allocations count against the pool's counters; nil
	// where it has none.
	members *members

	// Selectors remembers which devices each CEL selector matches.
	Selectors selector.Memo
	columns   columns
	// capacities is nil until somebody asks for it.
	capacities atomic.Pointer[Capacities]
	// held is what Usage.heldOf worked out last.
	held atomic.Pointer[heldUsage]
}

// String is the pool's name in messages: driver/pool.
func (p *Pool) String() string { return p.Driver + "/" + p.Name }

// locate returns the slice that holds a device, and its index in it.
func (p *Pool) locate(device int) (*Slice, int) {
	i := 0
	if len(p.slices) > 1 {
		i = sort.Search(len(p.slices), func(i int) bool { return p.starts[i+1] > device })
	}
	return p.slices[i], device - p.starts[i]
}

// Device returns the API object of a device and the slice that it is from;
// neither may be modified.
func (p *Pool) Device(device int) (*resourceapi.Device, *resourceapi.ResourceSlice) {
	s, i := p.locate(device)
	return &s.API.Spec.Devices[i], s.API
}

// DeviceID returns the name by which allocated state knows a device.
func (p *Pool) DeviceID(device int) schedulerapi.DeviceID {
	s, i := p.locate(device)
	return schedulerapi.DeviceID{Driver: p.driver, Pool: p.pool, Device: s.names[i]}
}

// Len, DriverName and At present the devices to package selector.
func (p *Pool) Len() int           { return p.Devices }
func (p *Pool) DriverName() string { return p.Driver }
func (p *Pool) At(device int) *resourceapi.Device {
	api, _ := p.Device(device)
	return api
}

// build makes the pool for nodes that reach exactly the given slices. Whether
// it is complete follows upstream's GatherPools (pools_experimental.go): either
// the node reaches as many slices as the pool has, or there are as many
// anywhere. Only slices that count are checked against each other.
func (g *group) build(gv *groupVariant, reached []*Slice, v Variant) *Pool {
	p := &Pool{driver: g.driver, pool: g.pool, serial: serials.Add(1)}
	p.Driver, p.Name = g.key.driver, g.key.pool
	if g.disagreement != "" {
		return p.unusable(reached, index.Invalid, g.disagreement)
	}
	counted := gv.all
	if int64(len(reached)) == g.count {
		if len(reached) != len(gv.all) {
			counted = reached
		}
	} else if int64(len(gv.all)) != g.count {
		return p.unusable(reached, index.Incomplete, fmt.Sprintf("%d of %d slices are published", len(gv.all), g.count))
	}
	p.slices = without(reached, func(s *Slice) bool { return v.Partitionable && s.definesCounters })
	if name, duplicate := p.duplicateName(); duplicate {
		return p.unusable(reached, index.Invalid, fmt.Sprintf("duplicate device name %s", name))
	}
	if v.Partitionable {
		m, err := gv.members.get(g, counted, len(counted) == len(gv.all))
		if err != nil {
			return p.unusable(reached, index.Invalid, err.Error())
		}
		p.members = m
	}
	p.number()
	return p
}

func (p *Pool) unusable(reached []*Slice, status index.Status, reason string) *Pool {
	return &Pool{
		Pool:   index.Pool{Driver: p.Driver, Name: p.Name, Status: status, Reason: reason},
		driver: p.driver, pool: p.pool, serial: p.serial, withheld: reached,
	}
}

// serials numbers pools, views of nodes and states of what is held.
var serials atomic.Uint64

func (p *Pool) duplicateName() (string, bool) {
	if len(p.slices) == 1 {
		s := p.slices[0]
		if s.repeated == 0 {
			return "", false
		}
		return s.names[s.repeated].String(), true
	}
	var names []draapi.UniqueString
	for _, s := range p.slices {
		names = append(names, s.names...)
	}
	i, found := firstRepeated(names)
	if !found {
		return "", false
	}
	return names[i].String(), true
}

// number gives each device its number and fills the sets.
func (p *Pool) number() {
	p.starts = make([]int, len(p.slices)+1)
	for i, s := range p.slices {
		p.starts[i+1] = p.starts[i] + len(s.names)
	}
	p.Devices = p.starts[len(p.slices)]
	sets := [...]*bitset.Set{
		&p.MultiAllocatable, &p.ConsumesCounters, &p.Binding, &p.SkipsNodeOperations,
		&p.Tainted, &p.PerDevice, &p.Metered,
	}
	bitset.Split(bitset.Words(p.Devices), sets[:]...)
	if p.members != nil {
		p.Counters = &p.members.Counters
		p.MemberOf = make([]int, 0, p.Devices)
	}
	for i, s := range p.slices {
		p.numberSlice(s, p.starts[i])
		if p.members != nil {
			start := p.members.startOf[s]
			for j := range s.names {
				p.MemberOf = append(p.MemberOf, start+j)
			}
		}
	}
	bitset.Pack(sets[:]...)
}

func (p *Pool) numberSlice(s *Slice, start int) {
	for i := range s.API.Spec.Devices {
		device, number := &s.API.Spec.Devices[i], start+i
		if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
			p.MultiAllocatable.Add(number)
		}
		if len(device.ConsumesCounters) > 0 {
			p.ConsumesCounters.Add(number)
		}
		if len(device.BindingConditions) > 0 {
			p.Binding.Add(number)
		}
		// Upstream sorts by whether the list is there, even if it is empty.
		if device.BindingConditions != nil {
			p.bound = true
		}
		if len(s.API.Spec.SkipNodeOperations) > 0 {
			p.SkipsNodeOperations.Add(number)
		}
		if s.perDevice != nil {
			p.PerDevice.Add(number)
		}
		for _, capacity := range device.Capacity {
			if capacity.RequestPolicy != nil || capacity.Value.Sign() < 0 {
				p.Metered.Add(number)
			}
		}
		for j := range device.Taints {
			if blocks(device.Taints[j].Effect) {
				p.Tainted.Add(number)
			}
		}
	}
}

// blocks says whether a taint keeps claims away that do not tolerate it. The
// effect None and effects of a newer API do not.
func blocks(effect resourceapi.DeviceTaintEffect) bool {
	return effect == resourceapi.DeviceTaintEffectNoSchedule || effect == resourceapi.DeviceTaintEffectNoExecute
}
