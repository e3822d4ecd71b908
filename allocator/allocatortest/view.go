package allocatortest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
)

// PoolView is what one node sees of a resource pool. It is a plain reading of
// the slices, for measuring scenarios and for predicates; no test result hangs
// on it alone.
type PoolView struct {
	Driver, Name string
	Generation   int64                        // the newest one anywhere in the cluster
	All          []*resourceapi.ResourceSlice // of the newest generation, counted for completeness
	Uncounted    []*resourceapi.ResourceSlice // of the newest generation, not counted because of compatibility groups
	Reaching     []*resourceapi.ResourceSlice // those of All that reach the node and are not ignored
	Obsolete     []*resourceapi.ResourceSlice // of older generations
}

// View lists the pools of the cluster as seen from a node, sorted.
func View(s *Scenario, node *corev1.Node) []*PoolView {
	type poolID struct{ driver, name string }
	pools := make(map[poolID]*PoolView)
	for _, slice := range s.Slices {
		id := poolID{slice.Spec.Driver, slice.Spec.Pool.Name}
		pool := pools[id]
		if pool == nil {
			pool = &PoolView{Driver: id.driver, Name: id.name, Generation: slice.Spec.Pool.Generation}
			pools[id] = pool
		}
		pool.Generation = max(pool.Generation, slice.Spec.Pool.Generation)
	}
	for _, slice := range s.Slices {
		pool := pools[poolID{slice.Spec.Driver, slice.Spec.Pool.Name}]
		switch {
		case slice.Spec.Pool.Generation < pool.Generation:
			pool.Obsolete = append(pool.Obsolete, slice)
		case !s.Features.CompatibilityGroups && usesGroups(slice):
			pool.Uncounted = append(pool.Uncounted, slice)
		default:
			pool.All = append(pool.All, slice)
			if !Ignores(&s.Features, slice) && SliceReaches(slice, node) {
				pool.Reaching = append(pool.Reaching, slice)
			}
		}
	}
	sorted := make([]*PoolView, 0, len(pools))
	for _, pool := range pools {
		sorted = append(sorted, pool)
	}
	slices.SortFunc(sorted, func(a, b *PoolView) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// Ignores says whether a slice does not reach any node because it needs a
// feature that is off.
func Ignores(f *allocator.Features, slice *resourceapi.ResourceSlice) bool {
	if !f.PartitionableDevices && (slice.Spec.PerDeviceNodeSelection != nil || len(slice.Spec.SharedCounters) > 0) {
		return true
	}
	return !f.CompatibilityGroups && usesGroups(slice)
}

func usesGroups(slice *resourceapi.ResourceSlice) bool {
	for i := range slice.Spec.Devices {
		for _, consumption := range slice.Spec.Devices[i].ConsumesCounters {
			if len(consumption.CompatibilityGroups) > 0 {
				return true
			}
		}
	}
	return false
}

// SliceReaches says whether a slice, or at least one of its devices where each
// has its own node selection, is there for the node.
func SliceReaches(slice *resourceapi.ResourceSlice, node *corev1.Node) bool {
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		return slices.ContainsFunc(slice.Spec.Devices, func(device resourceapi.Device) bool {
			return reaches(node, device.NodeName, device.AllNodes, device.NodeSelector)
		})
	}
	return reaches(node, slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector)
}

// DeviceReaches says whether a device of a slice that reaches the node does so
// too.
func DeviceReaches(slice *resourceapi.ResourceSlice, device *resourceapi.Device, node *corev1.Node) bool {
	return !ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) || reaches(node, device.NodeName, device.AllNodes, device.NodeSelector)
}

// reaches is false for a node selector that does not parse.
func reaches(node *corev1.Node, name *string, all *bool, selector *corev1.NodeSelector) bool {
	switch {
	case ptr.Deref(name, "") != "":
		return *name == node.Name
	case ptr.Deref(all, false):
		return true
	case selector != nil:
		parsed, err := nodeaffinity.NewNodeSelector(selector)
		return err == nil && parsed.Match(node)
	}
	return false
}

// CountsDisagree says whether slices of the newest generation announce
// different slice counts.
func (p *PoolView) CountsDisagree() bool {
	newest := slices.Concat(p.All, p.Uncounted)
	for _, slice := range newest {
		if slice.Spec.Pool.ResourceSliceCount != newest[0].Spec.Pool.ResourceSliceCount {
			return true
		}
	}
	return false
}

// Incomplete says whether the number of slices is not the announced one.
func (p *PoolView) Incomplete() bool {
	return len(p.All) > 0 && int64(len(p.All)) != p.All[0].Spec.Pool.ResourceSliceCount
}

// Invalid says whether devices of the pool have no unique names on the node,
// or consume counters that do not exist.
func (p *PoolView) Invalid(f *allocator.Features) bool {
	names := make(map[string]bool)
	for _, slice := range p.Reaching {
		for i := range slice.Spec.Devices {
			if names[slice.Spec.Devices[i].Name] {
				return true
			}
			names[slice.Spec.Devices[i].Name] = true
		}
	}
	if !f.PartitionableDevices {
		return false
	}
	sets := make(map[string]map[string]resourceapi.Counter)
	for _, slice := range p.All {
		for _, set := range slice.Spec.SharedCounters {
			if sets[set.Name] != nil {
				return true
			}
			sets[set.Name] = set.Counters
		}
	}
	for _, slice := range p.All {
		for i := range slice.Spec.Devices {
			for _, consumption := range slice.Spec.Devices[i].ConsumesCounters {
				for counter := range consumption.Counters {
					if _, found := sets[consumption.CounterSet][counter]; !found {
						return true
					}
				}
			}
		}
	}
	return false
}

// HasBadNodeSelector says whether a node selector of the slice or one of its
// devices does not parse.
func HasBadNodeSelector(slice *resourceapi.ResourceSlice) bool {
	bad := func(selector *corev1.NodeSelector) bool {
		if selector == nil {
			return false
		}
		_, err := nodeaffinity.NewNodeSelector(selector)
		return err != nil
	}
	return bad(slice.Spec.NodeSelector) || slices.ContainsFunc(slice.Spec.Devices, func(device resourceapi.Device) bool {
		return bad(device.NodeSelector)
	})
}

// ClassDriver returns the only driver whose devices a class of this package
// may select, or an empty string if there is no such restriction.
func ClassDriver(class *resourceapi.DeviceClass) string {
	for _, selector := range class.Spec.Selectors {
		for driver := range classOf {
			if selector.CEL != nil && selector.CEL.Expression == selectDriver(driver) {
				return driver
			}
		}
	}
	return ""
}
