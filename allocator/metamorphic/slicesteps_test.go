package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// publish replaces a slice by an object with changed content, which gets the
// resource version that belongs to it. The UID stays, unless the object has
// lost it: it then has no resource version either, like an object that never
// was in an API server.
func (w *world) publish(i int, slice *resourceapi.ResourceSlice) {
	if uid := slice.UID; uid != "" {
		stamp(slice)
		slice.UID = uid
	}
	w.gone = append(w.gone, w.Slices[i])
	w.Slices[i] = slice
}

func stamp(slice *resourceapi.ResourceSlice) {
	(&allocatortest.Scenario{Slices: []*resourceapi.ResourceSlice{slice}}).Stamp()
}

// remove takes out every slice for which the function is true, and says how
// many there were.
func (w *world) remove(which func(*resourceapi.ResourceSlice) bool) int {
	before := len(w.Slices)
	w.Slices = slices.DeleteFunc(slices.Clone(w.Slices), func(slice *resourceapi.ResourceSlice) bool {
		if which(slice) {
			w.gone = append(w.gone, slice)
			return true
		}
		return false
	})
	return before - len(w.Slices)
}

func samePool(a, b *resourceapi.ResourceSlice) bool {
	return a.Spec.Driver == b.Spec.Driver && a.Spec.Pool.Name == b.Spec.Pool.Name
}

func poolName(slice *resourceapi.ResourceSlice) string {
	return slice.Spec.Driver + "/" + slice.Spec.Pool.Name
}

// contentChanges are what a driver may do to a slice. Some give an invalid pool.
var contentChanges = []func(w *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string{
	removeDevice, removeDevice, addDevice, addDevice, moveDevice, replaceDevice, replaceDevice, replaceDevice,
	changeTarget, changeCounters,
}

func changeSlice(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	i := r.IntN(len(w.Slices))
	slice := w.Slices[i].DeepCopy()
	did := pick(r, contentChanges)(w, r, slice)
	if did == "" {
		return ""
	}
	if r.IntN(12) == 0 {
		slice.UID, slice.ResourceVersion = "", ""
		did += ", without UID and resource version"
	}
	w.publish(i, slice)
	return slice.Name + ": " + did
}

func removeDevice(_ *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	if len(slice.Spec.Devices) == 0 {
		return ""
	}
	i := r.IntN(len(slice.Spec.Devices))
	name := slice.Spec.Devices[i].Name
	slice.Spec.Devices = slices.Delete(slice.Spec.Devices, i, i+1)
	return "device " + name + " removed"
}

func addDevice(w *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	if len(slice.Spec.Devices) == 0 || w.deviceCount() >= maxDevices {
		return ""
	}
	w.serial++
	device := slice.Spec.Devices[r.IntN(len(slice.Spec.Devices))].DeepCopy()
	device.Name = fmt.Sprintf("dev-%d-more", w.serial)
	slice.Spec.Devices = slices.Insert(slice.Spec.Devices, r.IntN(len(slice.Spec.Devices)+1), *device)
	return "device " + device.Name + " added"
}

func moveDevice(_ *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	if len(slice.Spec.Devices) < 2 {
		return ""
	}
	last := len(slice.Spec.Devices) - 1
	device := slice.Spec.Devices[last]
	slice.Spec.Devices = slices.Insert(slice.Spec.Devices[:last], r.IntN(last), device)
	return "device " + device.Name + " moved"
}

// replaceDevice gives a device the attributes, capacities, taints and so on of
// one from elsewhere, but keeps the name.
func replaceDevice(_ *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	var other []resourceapi.Device
	for _, s := range donor(r).Slices {
		if s.Spec.Driver == slice.Spec.Driver {
			other = append(other, s.Spec.Devices...)
		}
	}
	if len(slice.Spec.Devices) == 0 || len(other) == 0 {
		return ""
	}
	device := &slice.Spec.Devices[r.IntN(len(slice.Spec.Devices))]
	name, consumes := device.Name, device.ConsumesCounters
	other[r.IntN(len(other))].DeepCopyInto(device)
	device.Name = name
	if r.IntN(4) > 0 {
		device.ConsumesCounters = consumes
	}
	return "device " + name + " has other properties"
}

func changeTarget(w *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	if slice.Spec.PerDeviceNodeSelection != nil {
		return ""
	}
	slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector = nil, nil, nil
	if r.IntN(4) == 0 {
		slice.Spec.AllNodes = ptr.To(true)
		return "for all nodes"
	}
	slice.Spec.NodeName = ptr.To(pick(r, w.Nodes).Name)
	return "for node " + *slice.Spec.NodeName
}

func changeCounters(_ *world, r *rand.Rand, slice *resourceapi.ResourceSlice) string {
	if len(slice.Spec.SharedCounters) == 0 {
		return ""
	}
	set := &slice.Spec.SharedCounters[r.IntN(len(slice.Spec.SharedCounters))]
	name := pick(r, []string{"slots", "memory", "share"})
	if _, ok := set.Counters[name]; ok && r.IntN(5) == 0 {
		delete(set.Counters, name)
		return fmt.Sprintf("counter %s/%s removed", set.Name, name)
	}
	value := pick(r, []string{"0", "1", "2500m", "3", "30Gi"})
	set.Counters[name] = resourceapi.Counter{Value: resource.MustParse(value)}
	return fmt.Sprintf("counter %s/%s is %s", set.Name, name, value)
}

// recreateSlice deletes a slice and creates one of the same name: the UID
// changes. With the same content, the inventory must not care; a pool or node
// can change only in this way.
func recreateSlice(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	w.serial++
	i := r.IntN(len(w.Slices))
	slice := w.Slices[i].DeepCopy()
	slice.UID = types.UID(fmt.Sprintf("slice-%s-%d", slice.Name, w.serial))
	did := "with the same content"
	switch r.IntN(4) {
	case 0:
		slice.Spec.Pool = pick(r, w.Slices).Spec.Pool
		did = "in pool " + poolName(slice)
	case 1:
		if target := changeTarget(w, r, slice); target != "" {
			did = target
		}
	}
	w.publish(i, slice)
	return slice.Name + ": " + did
}

func deleteSlice(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	slice := pick(r, w.Slices)
	w.remove(func(s *resourceapi.ResourceSlice) bool { return s == slice })
	return slice.Name
}

// restoreSlice brings an object back that was there before: the same pointer,
// or a copy of it. The same name is not listed twice.
func restoreSlice(w *world, r *rand.Rand) string {
	if len(w.gone) == 0 {
		return ""
	}
	slice := pick(r, w.gone[max(0, len(w.gone)-8):])
	if w.deviceCount()+len(slice.Spec.Devices) > maxDevices {
		return ""
	}
	how := "the pointer"
	if r.IntN(2) == 0 {
		slice = slice.DeepCopy()
		how = "a copy"
	}
	w.remove(func(s *resourceapi.ResourceSlice) bool { return s.Name == slice.Name })
	w.Slices = append(w.Slices, slice)
	return how + " of " + sliceText(slice)
}

// replacePool takes a pool of another cluster, with all that belongs to it,
// in the place of the one of the same name, if there is one.
func replacePool(w *world, r *rand.Rand) string {
	other := donor(r)
	if len(other.Slices) == 0 {
		return ""
	}
	some := pick(r, other.Slices)
	pool := slices.DeleteFunc(other.Slices, func(s *resourceapi.ResourceSlice) bool { return !samePool(s, some) })
	names := make(map[string]bool)
	devices := 0
	for _, slice := range pool {
		names[slice.Name] = true
		devices += len(slice.Spec.Devices)
	}
	if w.deviceCount()+devices > maxDevices {
		return ""
	}
	w.remove(func(s *resourceapi.ResourceSlice) bool { return samePool(s, some) || names[s.Name] })
	w.Slices = append(w.Slices, pool...)
	return fmt.Sprintf("%s by one of %d slices with %d devices", poolName(some), len(pool), devices)
}

func deletePool(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	some := pick(r, w.Slices)
	return fmt.Sprintf("%s with %d slices", poolName(some), w.remove(func(s *resourceapi.ResourceSlice) bool { return samePool(s, some) }))
}

// changePool publishes all slices of a pool anew, or only one of them, as
// while a driver updates the pool.
func changePool(w *world, r *rand.Rand, change func(*resourceapi.ResourcePool)) string {
	if len(w.Slices) == 0 {
		return ""
	}
	only := r.IntN(len(w.Slices))
	some, all, changed := w.Slices[only], r.IntN(2) == 0, 0
	for i, slice := range w.Slices {
		if i != only && !(all && samePool(slice, some)) {
			continue
		}
		slice = slice.DeepCopy()
		change(&slice.Spec.Pool)
		w.publish(i, slice)
		changed++
	}
	return fmt.Sprintf("%s, %d slices", poolName(some), changed)
}

func changeGeneration(w *world, r *rand.Rand) string {
	by := pick(r, []int64{1, 1, 1, 2, -1})
	did := changePool(w, r, func(p *resourceapi.ResourcePool) { p.Generation += by })
	if did == "" {
		return ""
	}
	return fmt.Sprintf("%s: by %+d", did, by)
}

func changeSliceCount(w *world, r *rand.Rand) string {
	by := pick(r, []int64{1, -1})
	did := changePool(w, r, func(p *resourceapi.ResourcePool) { p.ResourceSliceCount = max(0, p.ResourceSliceCount+by) })
	if did == "" {
		return ""
	}
	return fmt.Sprintf("%s: by %+d", did, by)
}

// copySlices replaces pointers only: the taint tracker does so after a status
// write of a rule, an informer after a relist.
func copySlices(w *world, r *rand.Rand) string {
	all := r.IntN(3) == 0
	changed := 0
	for i, slice := range w.Slices {
		if all || r.IntN(3) == 0 {
			w.gone = append(w.gone, slice)
			w.Slices[i] = slice.DeepCopy()
			changed++
		}
	}
	return fmt.Sprintf("%d of %d slices", changed, len(w.Slices))
}

// patchTaints puts copies with other taints in the place of slices, as the
// taint tracker does: UID and resource version stay those of the original.
func (w *world) patchTaints(which func(*resourceapi.ResourceSlice) bool, patch func(*resourceapi.Device)) int {
	changed := 0
	for i, slice := range w.Slices {
		if !which(slice) {
			continue
		}
		slice = slice.DeepCopy()
		for d := range slice.Spec.Devices {
			patch(&slice.Spec.Devices[d])
		}
		w.gone = append(w.gone, w.Slices[i])
		w.Slices[i] = slice
		changed++
	}
	return changed
}

var taintKeys = []string{"example.com/unhealthy", "example.com/maintenance"}

func taintDevices(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	taint := resourceapi.DeviceTaint{
		Key:    pick(r, taintKeys),
		Value:  pick(r, []string{"", "soon"}),
		Effect: pick(r, []resourceapi.DeviceTaintEffect{resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone}),
	}
	some := pick(r, w.Slices)
	if r.IntN(3) == 0 {
		n := w.patchTaints(func(s *resourceapi.ResourceSlice) bool { return s.Spec.Driver == some.Spec.Driver },
			func(d *resourceapi.Device) { d.Taints = append(d.Taints, taint) })
		return fmt.Sprintf("%v on all devices of %s, %d slices", taint, some.Spec.Driver, n)
	}
	if len(some.Spec.Devices) == 0 {
		return ""
	}
	name := pick(r, some.Spec.Devices).Name
	w.patchTaints(func(s *resourceapi.ResourceSlice) bool { return s == some }, func(d *resourceapi.Device) {
		if d.Name == name {
			d.Taints = append(d.Taints, taint)
		}
	})
	return fmt.Sprintf("%v on %s/%s", taint, some.Name, name)
}

func untaintDevices(w *world, r *rand.Rand) string {
	tainted := func(s *resourceapi.ResourceSlice) bool {
		return slices.ContainsFunc(s.Spec.Devices, func(d resourceapi.Device) bool { return len(d.Taints) > 0 })
	}
	if !slices.ContainsFunc(w.Slices, tainted) {
		return ""
	}
	all := r.IntN(2) == 0
	n := w.patchTaints(
		func(s *resourceapi.ResourceSlice) bool { return tainted(s) && (all || r.IntN(2) == 0) },
		func(d *resourceapi.Device) { d.Taints = nil },
	)
	return fmt.Sprintf("%d slices", n)
}

func listTwice(w *world, r *rand.Rand) string {
	if len(w.Slices) == 0 {
		return ""
	}
	w.twice = pick(r, w.Slices)
	return w.twice.Name
}
