package publish

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// group is devices that belong together in a slice, and the counter sets that
// they alone consume.
type group struct {
	sets    []resourceapi.CounterSet
	devices []resourceapi.Device
}

// pool is what one driver publishes in one pool, and divides it into slices:
//
//  1. Devices have the order in which they were added, if slices are read by name
//     and each from its start. A scheduler does, and takes the first that fits.
//  2. A device is in exactly one slice, and no two have one name.
//  3. No slice exceeds the limits of the API server.
//  4. A slice has devices of one group only.
//  5. A counter set is in the pool once. From 1.35 sets are in slices of their
//     own, before those with devices; for 1.34 a set is in the slice that has all
//     devices of its group, because there a device consumes sets of its slice only.
//  6. Every counter that a device consumes exists, and has at least what the
//     device consumes; so every device fits while nothing is in use.
//  7. All slices carry one generation, and their number as the count.
//
// A group that 3 and 5 leave no slice for is an error: for 1.34 that is one with
// counter sets and more devices or counters than a slice can hold.
type pool struct {
	driver, name string
	generation   int64
	nodeName     string               // or
	nodeSelector *corev1.NodeSelector // of the nodes that reach the devices
	groups       []group
}

// slices divides the pool. None if it has no devices.
func (p *pool) slices(l *limits, check *checker) ([]resourceapi.ResourceSlice, error) {
	if err := check.pool(p); err != nil {
		return nil, err
	}
	var specs []resourceapi.ResourceSliceSpec
	if l.together {
		var err error
		if specs, err = p.together(l); err != nil {
			return nil, err
		}
	} else {
		specs = p.apart(l)
	}
	result := make([]resourceapi.ResourceSlice, len(specs))
	for i := range specs {
		spec := &specs[i]
		spec.Driver = p.driver
		spec.Pool = resourceapi.ResourcePool{Name: p.name, Generation: p.generation, ResourceSliceCount: int64(len(specs))}
		if p.nodeSelector != nil {
			spec.NodeSelector = p.nodeSelector
		} else {
			spec.NodeName = &p.nodeName
		}
		result[i].ObjectMeta = metav1.ObjectMeta{Name: sliceName(p.name, p.driver, i, len(specs))}
		result[i].TypeMeta = metav1.TypeMeta{APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: "ResourceSlice"}
		result[i].Spec = *spec
	}
	return result, nil
}

// apart puts counter sets before devices.
func (p *pool) apart(l *limits) []resourceapi.ResourceSliceSpec {
	var specs []resourceapi.ResourceSliceSpec
	var sets []resourceapi.CounterSet
	for _, g := range p.groups {
		if len(g.devices) > 0 {
			sets = append(sets, g.sets...)
		}
	}
	for len(sets) > 0 {
		n := min(len(sets), l.sets)
		specs = append(specs, resourceapi.ResourceSliceSpec{SharedCounters: sets[:n:n]})
		sets = sets[n:]
	}
	for _, g := range p.groups {
		for rest := g.devices; len(rest) > 0; {
			n := fitting(rest, l)
			specs = append(specs, resourceapi.ResourceSliceSpec{Devices: rest[:n:n]})
			rest = rest[n:]
		}
	}
	return specs
}

// together puts the counter sets of a group beside its devices.
func (p *pool) together(l *limits) ([]resourceapi.ResourceSliceSpec, error) {
	var specs []resourceapi.ResourceSliceSpec
	for _, g := range p.groups {
		for rest := g.devices; len(rest) > 0; {
			n := fitting(rest, l)
			if n < len(rest) && len(g.sets) > 0 {
				return nil, &Error{Driver: p.driver, Pool: p.name, Device: rest[n].Name, Err: fmt.Errorf("%w: it does not fit "+
					"into the slice of counter set %s, and Kubernetes 1.34 wants all who consume a set beside it", ErrDoesNotFit, g.sets[0].Name)}
			}
			specs = append(specs, resourceapi.ResourceSliceSpec{SharedCounters: g.sets, Devices: rest[:n:n]})
			rest = rest[n:]
		}
	}
	return specs, nil
}

// ErrDoesNotFit matches the error for a counter set of which Kubernetes 1.34 has no
// slice that holds all devices that consume it. Later versions do.
var ErrDoesNotFit = errors.New("too many devices or counters")

// fitting is how many of the first devices one slice can hold, at least one.
func fitting(devices []resourceapi.Device, l *limits) int {
	most, consumed := l.devices, 0
	for i := range devices {
		if isAdvanced(&devices[i]) {
			most = min(most, l.advancedDevices)
		}
		for _, c := range devices[i].ConsumesCounters {
			consumed += len(c.Counters)
		}
		if i > 0 && (i >= most || over(consumed, l.sliceDeviceCounters)) {
			return i
		}
	}
	return len(devices)
}

// isAdvanced says whether a slice with the device may have only half as many.
func isAdvanced(d *resourceapi.Device) bool {
	if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 {
		return true
	}
	for _, a := range d.Attributes {
		if isList(&a) {
			return true
		}
	}
	return false
}

func isList(a *resourceapi.DeviceAttribute) bool {
	return a.IntValues != nil || a.StringValues != nil || a.BoolValues != nil || a.VersionValues != nil
}
