package family

import (
	resourceapi "k8s.io/api/resource/v1"
)

// Families in which there are simply too few devices, or none of one kind.

// withDevices gives the node a pool of n devices.
func (c *Case) withDevices(n int) {
	c.Scenario.Slices = append(c.Scenario.Slices, localPool("local", c.Node.Name, newDevices(n))...)
}

// oneTooMany: a request for one device more than there are. Every set of
// devices is tried.
func oneTooMany(s Size) *Case {
	c, m := newCase(), s.Of("m")
	c.withClasses()
	c.withDevices(m)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("r", anyClass, m+1))}
	c.Steps = power(2, m)
	return c
}

// oneRequestTooMany: one request more than there are devices. Every sequence of
// devices is tried.
func oneRequestTooMany(s Size) *Case {
	c, m := newCase(), s.Of("m")
	c.withClasses()
	c.withDevices(m)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", repeated(m+1, func(name string) resourceapi.DeviceRequest {
		return wants(name, anyClass, 1)
	})...)}
	c.Steps = 1 + 2*sumOf(1, m, func(j int) int64 { return arrangements(m, j) })
	return c
}

// missingKind: the first request can be satisfied in many ways, the second one
// asks for a kind that the node does not have. Every set of the first is tried.
func missingKind(s Size) *Case {
	c, n, count := newCase(), s.Of("n"), s.Of("c")
	c.withClasses()
	c.withDevices(n)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("gpu", anyClass, count), wants("nic", noneClass, 1))}
	c.Steps = sumOf(0, count, func(j int) int64 { return combinations(n, j) }) + combinations(n, count)
	return c
}

// missingKindInLastClaim is missingKind with a claim for each device: every
// sequence is tried, across claims.
func missingKindInLastClaim(s Size) *Case {
	c, n, m := newCase(), s.Of("n"), s.Of("m")
	c.withClasses()
	c.withDevices(n)
	for _, request := range repeated(m, func(name string) resourceapi.DeviceRequest { return wants(name, anyClass, 1) }) {
		c.Scenario.Claims = append(c.Scenario.Claims, newClaim("c-"+request.Name, request))
	}
	c.Scenario.Claims = append(c.Scenario.Claims, newClaim("last", wants("nic", noneClass, 1)))
	c.Steps = 1 + 3*sumOf(1, m, func(j int) int64 { return arrangements(n, j) })
	return c
}

// lateSolution: the second request needs the one device that the first request
// takes first. Every set with that device is tried before the solution.
func lateSolution(s Size) *Case {
	c, n, count := newCase(), s.Of("n"), s.Of("c")
	c.withClasses(newClass("first", `device.attributes["gpu.example.com"].index == 0`))
	c.withDevices(n)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", wants("gpu", anyClass, count), wants("special", "first", 1))}
	c.Steps = 1 + sumOf(0, count-1, func(j int) int64 { return combinations(n-1, j) }) + combinations(n-1, count-1) + int64(count) + 4
	return c
}

// lateGroup: all devices are of one group, and only the last group has the
// device of the second kind. Every group before it is tried in every way.
func lateGroup(s Size) *Case {
	c, groups, size, count := newCase(), s.Of("v"), s.Of("s"), s.Of("c")
	c.withClasses(newClass("plain", `!device.attributes["gpu.example.com"].nic`), newClass("nic", `device.attributes["gpu.example.com"].nic`))
	devices := newDevices(groups*size + 1)
	for i := range devices {
		setInt(&devices[i], "root", min(i/size, groups-1))
		isNIC := i == len(devices)-1
		devices[i].Attributes["nic"] = resourceapi.DeviceAttribute{BoolValue: &isNIC}
	}
	c.Scenario.Slices = localPool("local", c.Node.Name, devices)
	claim := newClaim("c", wants("gpu", "plain", count), wants("nic", "nic", 1))
	claim.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{matching(driver + "/root")}
	c.Scenario.Claims = []*resourceapi.ResourceClaim{claim}
	perGroup := sumOf(1, count, func(j int) int64 { return combinations(size, j) }) + combinations(size, count)
	c.Steps = 1 + int64(groups-1)*perGroup + int64(count) + 4
	return c
}
