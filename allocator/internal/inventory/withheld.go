package inventory

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/index"
)

// Withheld are devices that are published for a node and that no claim can
// have, because of the state that their pool is in. Only explanations look at
// them. It presents the devices to package selector.
type Withheld struct {
	Driver, Pool string
	// Status is Incomplete or Invalid; Usable for devices of an obsolete generation.
	Status index.Status
	// Reason says what is wrong with the pool.
	Reason  string
	devices []*resourceapi.Device
}

// Obsolete says whether the devices are of a generation that a newer one has replaced.
func (w *Withheld) Obsolete() bool { return w.Status == index.Usable }

// Len, DriverName and At present the devices to package selector.
func (w *Withheld) Len() int                          { return len(w.devices) }
func (w *Withheld) DriverName() string                { return w.Driver }
func (w *Withheld) At(device int) *resourceapi.Device { return w.devices[device] }
func (w *Withheld) add(list []*Slice, node *corev1.Node) {
	for _, s := range list {
		for i := range s.API.Spec.Devices {
			if s.perDevice != nil {
				if matches, err := s.perDevice[i].matches(node); err != nil || !matches {
					continue
				}
			}
			w.devices = append(w.devices, &s.API.Spec.Devices[i])
		}
	}
}

// Remnants are the pools of a snapshot of which an older generation is still
// published. To find them costs a look at every pool, so that a snapshot does it
// once.
type Remnants []*group

// Remnants returns the pools with slices of older generations, by driver and name.
func (s *Snapshot) Remnants() Remnants {
	s.findRemnants.Do(func() { s.remnants = s.lookForRemnants() })
	return s.remnants
}

func (s *Snapshot) lookForRemnants() Remnants {
	var found []*group
	note := func(groups []*group) {
		for _, g := range groups {
			if len(g.obsolete) > 0 {
				found = append(found, g)
			}
		}
	}
	note(s.shared.groups)
	for _, part := range s.local {
		for _, views := range part {
			note(views.groups)
		}
	}
	slices.SortFunc(found, compareGroups)
	return slices.Compact(found)
}

// Reaches says whether the node reaches a slice of the newest generation of a pool.
func (n *Node) Reaches(driver, pool string) bool {
	return slices.ContainsFunc(n.Pools, func(p *Pool) bool { return p.Driver == driver && p.Name == pool })
}

// Withheld returns the devices that are published for the node and cannot be
// had: first those of pools that are not usable, in the order of n.Pools, then
// those of obsolete generations.
func (n *Node) Withheld(node *corev1.Node, remnants Remnants) []*Withheld {
	var list []*Withheld
	for _, pool := range n.Pools {
		if pool.Status != index.Usable {
			w := &Withheld{Driver: pool.Driver, Pool: pool.Name, Status: pool.Status, Reason: pool.Reason}
			w.add(pool.withheld, node)
			list = append(list, w)
		}
	}
	for _, g := range remnants {
		var reached []*Slice
		for _, s := range g.obsolete {
			if reaches, err := s.reaches(node); err == nil && reaches {
				reached = append(reached, s)
			}
		}
		if len(reached) > 0 {
			w := &Withheld{Driver: g.key.driver, Pool: g.key.pool, Reason: fmt.Sprintf(
				"an older generation (%d, the newest is %d) is left on the node",
				reached[0].API.Spec.Pool.Generation, g.slices[0].API.Spec.Pool.Generation)}
			w.add(reached, node)
			list = append(list, w)
		}
	}
	return list
}
