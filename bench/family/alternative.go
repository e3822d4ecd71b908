package family

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

// Families about lists of alternatives (firstAvailable).

func firstAvailable(name string, alternatives ...resourceapi.DeviceSubRequest) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, FirstAvailable: alternatives}
}

// hopelessAlternatives: k requests with eight alternatives that all eight
// devices satisfy, and a last request that none does.
func hopelessAlternatives(s Size) *Case {
	const choices, devices = resourceapi.FirstAvailableDeviceRequestMaxSize, 8
	c, k := newCase(), s.Of("k")
	c.withClasses()
	c.withDevices(devices)
	var alternatives []resourceapi.DeviceSubRequest
	for i := range choices {
		alternatives = append(alternatives, alternative(fmt.Sprintf("a%d", i), anyClass, 1))
	}
	requests := repeated(k, func(name string) resourceapi.DeviceRequest { return firstAvailable(name, alternatives...) })
	c.Scenario.Claims = []*resourceapi.ResourceClaim{newClaim("c", append(requests, wants("last", noneClass, 1))...)}
	// A request costs one step, each of its alternatives another, and each
	// device of an alternative one more and what follows.
	var steps func(left, free int) int64
	steps = func(left, free int) int64 {
		if left == 0 {
			return 1
		}
		return 1 + choices*(1+int64(free)*(1+steps(left-1, free-1)))
	}
	c.Steps = steps(k, devices)
	return c
}

// overflow: the second claim's best alternative leaves no room among the 32
// devices that a claim may have, and its other one asks for what is not there.
// That does not depend on the first claim, of which every choice is tried.
func overflow(s Size) *Case {
	const large, few = 30, 2
	c, n, count := newCase(), s.Of("n"), s.Of("c")
	c.withClasses(
		newClass("a", `device.attributes["gpu.example.com"].kind == 0`),
		newClass("b", `device.attributes["gpu.example.com"].kind == 1`),
		newClass("x", `device.attributes["gpu.example.com"].kind == 2`))
	devices := newDevices(n + large + few)
	for i := range devices {
		switch {
		case i < n:
			setInt(&devices[i], "kind", 0)
		case i < n+large:
			setInt(&devices[i], "kind", 1)
		default:
			setInt(&devices[i], "kind", 2)
		}
	}
	c.Scenario.Slices = localPool("local", c.Node.Name, devices)
	c.Scenario.Claims = []*resourceapi.ResourceClaim{
		newClaim("first", wants("r", "a", count)),
		newClaim("second",
			firstAvailable("r0", alternative("large", "b", large), alternative("small", "b", 1)),
			firstAvailable("r1", alternative("three", "x", few+1), alternative("four", "x", few+2))),
	}
	// The second claim: large overflows once it is complete; small leaves room,
	// and then both alternatives of the second request try every set of few.
	second := int64(1 + (large + 1) + 3 + 1 + large*(1+1+2*(1<<few)))
	c.Steps = sumOf(0, count, func(j int) int64 { return combinations(n, j) }) + combinations(n, count)*(1+second)
	return c
}
