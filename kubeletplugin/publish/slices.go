package publish

import (
	"errors"
	"fmt"
	"slices"

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
// Devices that break a rule of the API server are left out, and so are those that
// 3 and 5 leave no slice for: for 1.34 what goes beyond one slice of a group with
// counter sets. Sets that nothing is left to consume go as well.
type pool struct {
	driver, name string
	generation   int64
	nodeName     string               // or
	nodeSelector *corev1.NodeSelector // of the nodes that reach the devices
	groups       []group
}

// firstOf is the name of the first device that consumes the set.
func (g *group) firstOf(set string) string {
	for i := range g.devices {
		for _, consumption := range g.devices[i].ConsumesCounters {
			if consumption.CounterSet == set {
				return g.devices[i].Name
			}
		}
	}
	return ""
}

// truncate keeps the first n devices, and the sets that they consume.
func (g *group) truncate(n int) {
	if n == len(g.devices) {
		return
	}
	clear(g.devices[n:])
	g.devices = g.devices[:n]
	g.sets = slices.DeleteFunc(g.sets, func(set resourceapi.CounterSet) bool { return g.firstOf(set.Name) == "" })
}

// slices divides the pool. None if it has no devices. The error is what was left
// out, joined.
func (p *pool) slices(l *limits, check *checker) ([]resourceapi.ResourceSlice, error) {
	errs := check.leaveOut(p)
	var specs []resourceapi.ResourceSliceSpec
	if l.together {
		var unfit []error
		specs, unfit = p.together(l)
		errs = append(errs, unfit...)
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
	return result, errors.Join(errs...)
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
func (p *pool) together(l *limits) (specs []resourceapi.ResourceSliceSpec, errs []error) {
	for i := range p.groups {
		g := &p.groups[i]
		if n := fitting(g.devices, l); n < len(g.devices) && len(g.sets) > 0 {
			errs = append(errs, &Error{Driver: p.driver, Pool: p.name, Device: g.devices[n].Name, More: len(g.devices) - n - 1,
				Field: "consumesCounters[" + g.sets[0].Name + "]", Err: fmt.Errorf("%w: it does not fit into the slice of the set, and Kubernetes 1.34 wants all who consume a set beside it", ErrDoesNotFit)})
			g.truncate(n)
		}
		for rest := g.devices; len(rest) > 0; {
			n := fitting(rest, l)
			specs = append(specs, resourceapi.ResourceSliceSpec{SharedCounters: g.sets, Devices: rest[:n:n]})
			rest = rest[n:]
		}
	}
	return specs, errs
}

// ErrDoesNotFit matches the error for devices that consume a counter set of which
// Kubernetes 1.34 has no slice that holds them all. Later versions do.
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
