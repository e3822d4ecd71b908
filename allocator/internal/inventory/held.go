package inventory

import (
	"hash/maphash"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// Held is what allocations hold of the cluster's devices at one moment. It never
// changes. Package documentation of Holdings says how it comes to be.
type Held struct {
	parts [numParts]map[poolID]*heldPool
	// devices and consuming are the sums of those of the pools.
	devices, consuming int
}

// poolID is a pool as allocated state knows it.
type poolID struct{ driver, pool draapi.UniqueString }

func (id poolID) part() int { return int(maphash.Comparable(partSeed, id) % numParts) }

func (h *Held) pool(id poolID) *heldPool { return h.parts[id.part()][id] }

// heldPool is what is held of one pool's devices. Equal versions say equal content;
// a pool of which nothing is held is nil and has the version 0.
type heldPool struct {
	version uint64
	// chunks divide the devices by a hash of their names, so that a change of one
	// device does not cost a copy of all; their number is a power of two.
	chunks []heldDevices
	// devices is the number of all, consuming of those with consumed.
	devices, consuming int
}

type heldDevices map[draapi.UniqueString]deviceUse

// chunkDevices is how many devices are in a chunk on average, at most.
const chunkDevices = 64

// deviceUse is what is held of one device.
type deviceUse struct {
	// whole: somebody has the device for itself.
	whole bool
	// shares are ordered by ID.
	shares []shareUse
	// consumed is what the shares take of the device's capacity; nil if none says
	// what it takes.
	consumed schedulerapi.ConsumedCapacity
}

type shareUse struct {
	id draapi.UniqueString
	// consumed is nil if the allocation says nothing.
	consumed consumptionOfShare
}

type consumptionOfShare = map[resourceapi.QualifiedName]resource.Quantity

func (p *heldPool) number() uint64 {
	if p == nil {
		return 0
	}
	return p.version
}

func (p *heldPool) chunk(device draapi.UniqueString) int {
	if len(p.chunks) == 1 {
		return 0
	}
	return int(maphash.Comparable(partSeed, device) & uint64(len(p.chunks)-1))
}

func (p *heldPool) use(device draapi.UniqueString) deviceUse {
	if p == nil {
		return deviceUse{}
	}
	return p.chunks[p.chunk(device)][device]
}

// Versions appends, for each pool of a node, the version of what is held of it. Two
// snapshots, of whatever Holdings, that give a node the same versions say the same
// about all devices of its pools.
func (h *Held) Versions(to []uint64, n *Node) []uint64 {
	for _, p := range n.Pools {
		to = append(to, h.pool(poolID{p.driver, p.pool}).number())
	}
	return to
}

// SameVersions says whether Versions would append the list.
func (h *Held) SameVersions(list []uint64, n *Node) bool {
	if len(list) != len(n.Pools) {
		return false
	}
	for i, p := range n.Pools {
		if h.pool(poolID{p.driver, p.pool}).number() != list[i] {
			return false
		}
	}
	return true
}

// State returns all of it in the form that upstream's allocator takes. The caller
// owns the result.
func (h *Held) State() schedulerapi.AllocatedState {
	state := schedulerapi.AllocatedState{
		AllocatedDevices:         make(sets.Set[schedulerapi.DeviceID], h.devices),
		AllocatedSharedDeviceIDs: sets.New[schedulerapi.SharedDeviceID](),
		AggregatedCapacity:       make(schedulerapi.ConsumedCapacityCollection, h.consuming),
	}
	for _, part := range h.parts {
		for id, pool := range part {
			for _, devices := range pool.chunks {
				for name, use := range devices {
					device := schedulerapi.DeviceID{Driver: id.driver, Pool: id.pool, Device: name}
					if use.whole {
						state.AllocatedDevices.Insert(device)
					}
					for _, share := range use.shares {
						state.AllocatedSharedDeviceIDs.Insert(schedulerapi.SharedDeviceID{
							Driver: id.driver, Pool: id.pool, Device: name, ShareID: share.id})
					}
					if use.consumed != nil {
						state.AggregatedCapacity[device] = use.consumed.Clone()
					}
				}
			}
		}
	}
	return state
}
