package family

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// Families in which there is nothing to search: what costs is the node's own
// devices, and the selectors.

const isA100 = `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"`

// schedulerKeeps is the number of compiled expressions that the scheduler's own
// plugin keeps.
const schedulerKeeps = 10

// ordinary: a class with a selector, a request with another, devices that
// match. The most frequent allocation of all.
func ordinary(s Size) *Case {
	c := newCase()
	c.withClasses(newClass("gpu", isA100))
	c.withDevices(s.Of("n"))
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c",
		wants("r", "gpu", 1, `device.capacity["gpu.example.com"].memory.compareTo(quantity("20Gi")) >= 0`))}
	return c
}

// full: an ordinary node on which every device is in use.
func full(s Size) *Case {
	c := ordinary(s)
	for i := range s.Of("n") {
		c.allocate(fmt.Sprintf("other-%d", i), held("local", deviceName(i)))
	}
	return c
}

// firstOfMany: many devices, of which the first will do.
func firstOfMany(s Size) *Case {
	c := newCase()
	c.withClasses()
	c.withDevices(s.Of("n"))
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, 1))}
	return c
}

// noneMatches: the class's selector is asked about every device, in vain.
func noneMatches(s Size) *Case {
	c := newCase()
	c.withClasses(newClass("gpu", `device.attributes["gpu.example.com"].model == "h100"`))
	c.withDevices(s.Of("n"))
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", "gpu", 1))}
	return c
}

// manySelectors: more expressions than the scheduler keeps compiled.
func manySelectors(s Size) *Case {
	c := newCase()
	c.withClasses(newClass("gpu", isA100))
	c.withDevices(s.Of("n"))
	var expressions []string
	for i := range s.Of("selectors") - 1 {
		expressions = append(expressions, fmt.Sprintf(`device.attributes["gpu.example.com"].index >= %d`, i-s.Of("selectors")))
	}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", "gpu", s.Of("n"), expressions...))}
	c.CELCacheSize = schedulerKeeps
	return c
}

// everything: a request for all of the node's devices.
func everything(s Size) *Case {
	c := newCase()
	c.withClasses(newClass("gpu", isA100))
	c.withDevices(s.Of("n"))
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wantsAll("r", "gpu"))}
	return c
}

// everythingButOne is everything with one device in use, which makes it fail.
func everythingButOne(s Size) *Case {
	c := everything(s)
	c.allocate("other", held("local", deviceName(s.Of("n")/2)))
	return c
}

// everythingIncomplete is everything on a node whose driver has not published
// all of its slices yet.
func everythingIncomplete(s Size) *Case {
	c := everything(s)
	for _, slice := range c.Scenario.Slices {
		slice.Spec.Pool.ResourceSliceCount++
	}
	c.FailsOnlyHere = true
	return c
}

// oneSliceChanges: a cluster of nodes with 128 devices each, one of which
// publishes a change of one device's health while a pod is about to be placed there.
func oneSliceChanges(s Size) *Case {
	const devices = resourceapi.ResourceSliceMaxDevices
	c := cluster(s.Of("nodes"), devices)
	changed := len(c.Scenario.Slices) / 2
	c.Node = c.Scenario.Nodes[changed]
	for _, slice := range c.Scenario.Slices {
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].Attributes["healthy"] = resourceapi.DeviceAttribute{BoolValue: ptr.To(true)}
		}
	}
	c.Scenario.Stamp()
	c.Changed = append(c.Changed, c.Scenario.Slices...)
	after := c.Scenario.Slices[changed].DeepCopy()
	after.Spec.Devices[devices/2].Attributes["healthy"] = resourceapi.DeviceAttribute{BoolValue: ptr.To(false)}
	after.ResourceVersion += "1"
	c.Changed[changed] = after
	return c
}
