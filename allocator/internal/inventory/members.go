package inventory

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// members are the devices of a pool, on whatever node, with what they draw from
// the pool's counters. All pools of a group that count the same slices share
// them, so that counters are checked and added up once for each change of the
// group and not once for each node.
type members struct {
	index.Counters
	driver, pool draapi.UniqueString
	slices       []*Slice
	// defining are the slices with the counter sets.
	defining []*Slice
	// startOf is the number of a slice's first member.
	startOf map[*Slice]int
	// drawing lists the members that draw from any counter.
	drawing []member
	// held is what Usage.heldCounters worked out last.
	held atomic.Pointer[heldCountersUsage]
}

type member struct {
	number int
	id     schedulerapi.DeviceID
}

// memberCache holds the members that count all slices of a group variant.
type memberCache struct {
	once    sync.Once
	members *members
	err     error
}

// errUnfinished stays only if a panic ends newMembers: the pool is invalid then.
var errUnfinished = errors.New("its counters could not be read")

func (c *memberCache) get(g *group, counted []*Slice, all bool) (*members, error) {
	if !all {
		return newMembers(g, counted)
	}
	c.once.Do(func() {
		c.err = errUnfinished
		c.members, c.err = newMembers(g, counted)
	})
	return c.members, c.err
}

// newMembers checks the counters of the given slices and puts them into
// vectors. The result is nil where the slices define and use none.
func newMembers(g *group, counted []*Slice) (*members, error) {
	if !slices.ContainsFunc(counted, func(s *Slice) bool { return s.definesCounters || s.drawsCounters }) {
		return nil, nil
	}
	m := &members{driver: g.driver, pool: g.pool, startOf: make(map[*Slice]int)}
	sets := make(map[string]counterSet)
	var available []index.Exact
	for _, s := range counted {
		for i := range s.API.Spec.SharedCounters {
			set := &s.API.Spec.SharedCounters[i]
			if _, found := sets[set.Name]; found {
				return nil, fmt.Errorf("duplicate counter set name %s", set.Name)
			}
			numbers, err := m.addSet(set, &available)
			if err != nil {
				return nil, err
			}
			sets[set.Name] = counterSet{number: len(m.Sets) - 1, counters: numbers}
		}
		if s.definesCounters {
			m.defining = append(m.defining, s)
		} else {
			m.slices = append(m.slices, s)
		}
	}
	var drawn []index.Exact
	groups := make(map[string]uint32)
	m.Starts, m.GroupStarts = []int{0}, []int{0}
	for _, s := range m.slices {
		m.startOf[s] = m.Members
		for i := range s.API.Spec.Devices {
			device := &s.API.Spec.Devices[i]
			if err := m.addMember(device, sets, groups, &drawn); err != nil {
				return nil, err
			}
			if len(device.ConsumesCounters) > 0 {
				m.drawing = append(m.drawing, member{number: m.Members, id: schedulerapi.DeviceID{Driver: g.driver, Pool: g.pool, Device: s.names[i]}})
			}
			m.Members++
		}
	}
	if len(m.drawing) == 0 {
		return nil, nil
	}
	vectors := index.NewAmounts(available, drawn)
	m.Available, m.Drawn = vectors[0], vectors[1]
	return m, nil
}

type counterSet struct {
	number   int
	counters map[string]int
}

func (m *members) addSet(set *resourceapi.CounterSet, available *[]index.Exact) (map[string]int, error) {
	numbers := make(map[string]int, len(set.Counters))
	first := len(m.Names)
	for _, name := range sortedKeys(set.Counters) {
		value, err := Exact(set.Counters[name].Value)
		if err != nil {
			return nil, fmt.Errorf("counter %s in counter set %s: %w", name, set.Name, err)
		}
		numbers[name] = len(m.Names)
		m.Names = append(m.Names, name)
		*available = append(*available, value)
	}
	m.Sets = append(m.Sets, index.CounterSet{Name: set.Name, First: first, Len: len(m.Names) - first})
	return numbers, nil
}

func (m *members) addMember(device *resourceapi.Device, sets map[string]counterSet, groups map[string]uint32, drawn *[]index.Exact) error {
	seen := make(map[string]bool, len(device.ConsumesCounters))
	for i := range device.ConsumesCounters {
		consumption := &device.ConsumesCounters[i]
		set, found := sets[consumption.CounterSet]
		if !found {
			return fmt.Errorf("counter set %s not found", consumption.CounterSet)
		}
		// The API server refuses this (one entry a counter set), and a member has
		// at most one use of each counter here.
		if seen[consumption.CounterSet] {
			return fmt.Errorf("device %s consumes counter set %s in two entries", device.Name, consumption.CounterSet)
		}
		seen[consumption.CounterSet] = true
		for _, name := range sortedKeys(consumption.Counters) {
			counter, found := set.counters[name]
			if !found {
				return fmt.Errorf("counter %s not found in counter set %s", name, consumption.CounterSet)
			}
			value, err := Exact(consumption.Counters[name].Value)
			if err != nil {
				return fmt.Errorf("device %s, counter %s in counter set %s: %w", device.Name, name, consumption.CounterSet, err)
			}
			m.Uses = append(m.Uses, index.Use{Counter: counter})
			quantity := consumption.Counters[name].Value
			m.Refunds = m.Refunds || quantity.Sign() < 0
			*drawn = append(*drawn, value)
		}
		use := index.GroupUse{Set: set.number}
		for _, name := range consumption.CompatibilityGroups {
			number, found := groups[name]
			if !found {
				number = uint32(len(groups))
				groups[name] = number
			}
			use.Groups = append(use.Groups, number)
		}
		m.GroupUses = append(m.GroupUses, use)
	}
	m.Starts = append(m.Starts, len(m.Uses))
	m.GroupStarts = append(m.GroupStarts, len(m.GroupUses))
	return nil
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
