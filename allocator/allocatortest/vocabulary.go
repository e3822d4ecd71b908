package allocatortest

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

const (
	gpuDriver = "gpu.example.com"
	netDriver = "net.example.com"
	accDriver = "acc.example.org"

	rootAttribute = "resource.kubernetes.io/pcieRoot"

	zoneLabel = "topology.kubernetes.io/zone"
	hostLabel = "kubernetes.io/hostname"
)

// classOf names the class that selects one driver's devices.
var classOf = map[string]string{gpuDriver: "gpu", netDriver: "net", accDriver: "acc"}

const (
	anyClass     = "any"     // no selectors
	checkedClass = "checked" // errors on devices without a model
	brokenClass  = "broken"  // does not compile
	missingClass = "no-such-class"
)

func selectDriver(driver string) string { return fmt.Sprintf("device.driver == %q", driver) }

// selectorsFor never err, whatever the device lacks.
func selectorsFor(driver string) []string {
	a := fmt.Sprintf("device.attributes[%q]", driver)
	return []string{
		a + ".?numa.orValue(-1) == 0",
		a + ".?numa.orValue(0) == 0 || " + a + ".?fast.orValue(false) == true",
		fmt.Sprintf("%q in %s", "model", a),
		fmt.Sprintf("!has(%s.model) || %s.model == %q", a, a, "a100"),
		a + ".?fast.orValue(true)",
		fmt.Sprintf("cel.bind(d, %s, d.?index.orValue(0) < 2)", a),
		fmt.Sprintf("device.capacity[%q].?memory.orValue(quantity(%q)).compareTo(quantity(%q)) >= 0", driver, "40Gi", "40Gi"),
		fmt.Sprintf("device.attributes[%q].?pcieRoot.orValue(%q) != %q", "resource.kubernetes.io", "", "root-2"),
		a + ".?version.orValue(semver(\"1.2.3\")).isGreaterThan(semver(\"1.0.0\"))",
		a + ".?links.orValue([1]).exists(l, l == 1)",
		"!device.allowMultipleAllocations",
		selectDriver(driver),
		"true",
	}
}

// touchySelectorsFor err on a device that lacks what they read.
func touchySelectorsFor(driver string) []string {
	a := fmt.Sprintf("device.attributes[%q]", driver)
	return []string{
		a + ".model != \"l4\"",
		a + ".numa == 0",
		a + ".version.isGreaterThan(semver(\"1.0.0\"))",
		a + ".links.includes(1)",
		a + ".fast",
		fmt.Sprintf("device.capacity[%q].memory.isGreaterThan(quantity(%q))", driver, "20Gi"),
		a + ".missing == 1",
	}
}

var uncompilableSelectors = []string{"device.attributes[", "device.nosuch == 1", "1 + 1"}

// derivationsFor are expressions for derived attributes that never err.
func derivationsFor(driver string) []string {
	a := fmt.Sprintf("device.attributes[%q]", driver)
	return []string{
		a + ".?numa.orValue(-1)",
		a + ".?numa.orValue(0) + 1",
		fmt.Sprintf("%s.?model.orValue(%q)", a, "none"),
		a + ".?index.orValue(0)",
		a + ".?fast.orValue(false)",
		fmt.Sprintf("%s.?model.orValue(%q) == %q ? 1 : 0", a, "", "a100"),
		"device.driver",
		`"same"`,
		`semver("1.2.3")`,
		"[1, 2]",
		"[]",
		a + ".?links.orValue([9])",
		"device.allowMultipleAllocations",
	}
}

// touchyDerivationsFor err on a device that lacks what they read; the last
// one does not compile.
func touchyDerivationsFor(driver string) []string {
	a := fmt.Sprintf("device.attributes[%q]", driver)
	return []string{
		a + ".model",
		a + ".version",
		a + ".numa",
		fmt.Sprintf("device.capacity[%q].memory.isGreaterThan(quantity(%q))", driver, "20Gi"),
		a + ".missing",
		"1.5",
	}
}

var (
	models   = []string{"a100", "h100", "l4"}
	versions = []string{"1.2.3", "2.0.0", "0.9.0-rc.1"}

	// Four parts and a leading zero are what drivers really got wrong.
	badVersions = []string{"1.2.3.4", "550.127.08"}

	taintKeys    = []string{"example.com/unhealthy", "example.com/maintenance"}
	taintValues  = []string{"", "soon"}
	blockEffects = []resourceapi.DeviceTaintEffect{resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute}

	// The second one is not known, and ignored like the first.
	harmlessEffects = []resourceapi.DeviceTaintEffect{resourceapi.DeviceTaintEffectNone, "PreferNoSchedule"}

	groups = []string{"mig", "vgpu", "full"}
)

// quantity is in the form in which an API server stores it, so that it is the
// same, byte for byte, when it comes back from a case folder.
func quantity(s string) resource.Quantity {
	q := resource.MustParse(s)
	return resource.MustParse(q.String())
}

func quantityPtr(s string) *resource.Quantity { return ptr.To(quantity(s)) }

func counters(pairs ...string) map[string]resourceapi.Counter {
	m := make(map[string]resourceapi.Counter, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = resourceapi.Counter{Value: quantity(pairs[i+1])}
	}
	return m
}
