package allocatortest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// spoilPools turns sound pools into the ones that a cluster shows while a
// driver publishes, restarts or errs.
func (b *builder) spoilPools() {
	if len(b.pools) == 0 {
		return
	}
	if b.wants(Generations) {
		for range 1 + below(b.T, 2) {
			b.leaveObsoleteSlices(pick(b.T, b.pools))
		}
	}
	if b.wants(IncompletePool) {
		b.makeIncomplete(pick(b.T, b.pools))
	}
	if b.wants(InvalidPool) {
		b.makeInvalid(pick(b.T, b.pools))
	}
	if b.wants(BadNodeSelector) {
		b.breakNodeSelector(pick(b.T, b.pools))
	}
}

// leaveObsoleteSlices adds slices of an older generation. On a node that the
// newer generation does not reach they may look complete.
func (b *builder) leaveObsoleteSlices(p *poolPlan) {
	old := p.slices[below(b.T, len(p.slices))].DeepCopy()
	old.Name = fmt.Sprintf("%s-old-%d", old.Name, len(b.s.Slices))
	old.Spec.Pool.Generation = int64(between(b.T, 1, 2))
	old.Spec.Pool.ResourceSliceCount = int64(between(b.T, 1, len(p.slices)))
	for i := range old.Spec.Devices {
		if b.chance(50) {
			old.Spec.Devices[i].Name += "-old"
		}
	}
	if p.reach != reachPerDevice && b.chance(60) {
		old.Spec.NodeName, old.Spec.NodeSelector, old.Spec.AllNodes = ptr.To(pick(b.T, b.s.Nodes).Name), nil, nil
	}
	b.s.Slices = append(b.s.Slices, old)
}

func (b *builder) makeIncomplete(p *poolPlan) {
	switch below(b.T, 7) {
	default:
		// One slice is still to come.
		for _, slice := range p.slices {
			slice.Spec.Pool.ResourceSliceCount++
		}
	case 4:
		// Two counts in one generation.
		slice := pick(b.T, p.slices)
		slice.Spec.Pool.ResourceSliceCount += int64(between(b.T, -1, 1))
		if slice.Spec.Pool.ResourceSliceCount < 1 {
			slice.Spec.Pool.ResourceSliceCount = 2
		}
	case 5:
		// More slices than announced.
		if len(p.slices) > 1 {
			for _, slice := range p.slices {
				slice.Spec.Pool.ResourceSliceCount--
			}
		}
	case 6:
		// Its nodes are said in a way that is not known.
		slice := pick(b.T, p.slices)
		slice.Spec.NodeName, slice.Spec.NodeSelector, slice.Spec.AllNodes, slice.Spec.PerDeviceNodeSelection = nil, nil, nil, nil
	}
}

func (b *builder) makeInvalid(p *poolPlan) {
	var withDevices, withCounters []*resourceapi.ResourceSlice
	for _, slice := range p.slices {
		if len(slice.Spec.Devices) > 0 {
			withDevices = append(withDevices, slice)
		}
		if len(slice.Spec.SharedCounters) > 0 {
			withCounters = append(withCounters, slice)
		}
	}
	if len(withDevices) == 0 {
		return
	}
	slice := pick(b.T, withDevices)
	device := &slice.Spec.Devices[below(b.T, len(slice.Spec.Devices))]
	switch choice := below(b.T, 6); {
	case choice == 1 && b.features.PartitionableDevices:
		device.ConsumesCounters = append(device.ConsumesCounters, resourceapi.DeviceCounterConsumption{
			CounterSet: "set-9", Counters: counters("slots", "1"),
		})
	case choice == 2 && len(withCounters) > 0 && len(device.ConsumesCounters) > 0:
		device.ConsumesCounters[0].Counters["nothing"] = resourceapi.Counter{Value: quantity("1")}
	case choice == 3 && len(withCounters) > 0:
		spec := &withCounters[0].Spec
		spec.SharedCounters = append(spec.SharedCounters, *spec.SharedCounters[0].DeepCopy())
	default:
		// The same name twice, in one slice or in two.
		other := pick(b.T, withDevices)
		other.Spec.Devices = append(other.Spec.Devices, *device.DeepCopy())
	}
}

// breakNodeSelector needs a server that let the operator through.
func (b *builder) breakNodeSelector(p *poolPlan) {
	bad := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zoneLabel, Operator: "Near", Values: []string{"zone-1"}}},
	}}}
	slice := pick(b.T, p.slices)
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) && len(slice.Spec.Devices) > 0 {
		device := &slice.Spec.Devices[below(b.T, len(slice.Spec.Devices))]
		device.NodeName, device.AllNodes, device.NodeSelector = nil, nil, bad
		return
	}
	slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.PerDeviceNodeSelection = nil, nil, nil
	slice.Spec.NodeSelector = bad
	if b.chance(20) {
		slice.Spec.NodeSelector.NodeSelectorTerms = append(b.zoneSelector().NodeSelectorTerms, bad.NodeSelectorTerms...)
	}
}
