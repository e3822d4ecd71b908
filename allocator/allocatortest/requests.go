package allocatortest

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// requestParts is what requests and their alternatives have in common.
type requestParts struct {
	driver      string
	class       string
	selectors   []resourceapi.DeviceSelector
	mode        resourceapi.DeviceAllocationMode
	count       int64
	tolerations []resourceapi.DeviceToleration
	capacity    *resourceapi.CapacityRequirements
	derived     []resourceapi.DeviceDerivedAttribute
}

// budget bounds the search: with v devices in view and n requested ones there
// are at most v to the power of n leaves.
func (b *builder) budget() int {
	switch {
	case b.crowded:
		return 2
	case b.deep && b.visible <= 9:
		return 7
	case b.visible <= 6:
		return 6
	case b.visible <= 9:
		return 5
	default:
		return 4
	}
}

// addRequest spends at most the given number of devices and returns how many.
func (b *builder) addRequest(claim *resourceapi.ResourceClaim, budget int) int {
	requests := &claim.Spec.Devices.Requests
	request := resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", len(*requests))}
	spent := 0
	if b.wants(FirstAvailable) && b.chance(65) {
		for i := range between(b.T, 1, 3) {
			parts := b.drawParts(budget)
			spent = max(spent, int(parts.count))
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprintf("s%d", i), DeviceClassName: parts.class, Selectors: parts.selectors,
				AllocationMode: parts.mode, Count: parts.count, Tolerations: parts.tolerations,
				Capacity: parts.capacity, DerivedAttributes: parts.derived,
			})
		}
		if b.wants(ResultLimit) {
			b.overask(request.FirstAvailable)
		}
	} else {
		parts := b.drawParts(budget)
		spent = int(parts.count)
		request.Exactly = &resourceapi.ExactDeviceRequest{
			DeviceClassName: parts.class, Selectors: parts.selectors,
			AllocationMode: parts.mode, Count: parts.count, Tolerations: parts.tolerations,
			Capacity: parts.capacity, DerivedAttributes: parts.derived,
		}
		if b.wants(AdminAccess) && b.chance(65) {
			request.Exactly.AdminAccess = ptr.To(true)
		} else if b.wants(AdminAccess) && b.chance(10) {
			request.Exactly.AdminAccess = ptr.To(false)
		}
		if b.wants(ResultLimit) && !b.crowded && b.chance(12) {
			request.Exactly.AllocationMode, request.Exactly.Count = resourceapi.DeviceAllocationModeExactCount, int64(between(b.T, 33, 40))
		}
	}
	*requests = append(*requests, request)
	return max(spent, 1)
}

// overask makes alternatives ask for so many devices that they fit into a
// claim only together with few others, or never.
func (b *builder) overask(alternatives []resourceapi.DeviceSubRequest) {
	for i := range alternatives {
		if !b.chance(45) {
			continue
		}
		if b.crowded {
			// A count that is not there to be had takes upstream for ever.
			alternatives[i].AllocationMode, alternatives[i].Count = resourceapi.DeviceAllocationModeAll, 0
			continue
		}
		alternatives[i].AllocationMode = resourceapi.DeviceAllocationModeExactCount
		alternatives[i].Count = int64(between(b.T, 31, 33))
	}
}

func (b *builder) drawParts(budget int) requestParts {
	driver := pick(b.T, b.drivers)
	parts := requestParts{driver: driver, class: b.drawClass(driver), mode: resourceapi.DeviceAllocationModeExactCount}
	switch {
	case b.wants(AllMode) && b.chance(55):
		parts.mode = resourceapi.DeviceAllocationModeAll
	default:
		parts.count = 1
		if budget > 1 && (b.chance(35) || b.deep && b.chance(50)) {
			parts.count = int64(between(b.T, 2, min(4, budget)))
		}
	}
	b.addSelectors(&parts)
	if b.wants(Tolerations) && b.chance(75) || b.wants(BlockingTaints) && b.chance(25) {
		parts.tolerations = b.drawTolerations()
	}
	if b.wants(CapacityRequest) && b.chance(75) {
		parts.capacity = b.capacityRequest(driver)
	}
	if b.wants(DerivedAttributes) && b.chance(80) {
		parts.derived = b.drawDerived(driver)
	}
	return parts
}

func (b *builder) drawClass(driver string) string {
	switch {
	case b.wants(UnknownClass) && b.chance(50):
		return missingClass
	case b.wants(CompileError) && b.chance(30):
		return brokenClass
	case b.wants(SelectorError) && b.chance(30):
		return checkedClass
	case b.chance(8):
		return anyClass
	}
	return classOf[driver]
}

func (b *builder) addSelectors(parts *requestParts) {
	add := func(expression string) { parts.selectors = append(parts.selectors, celSelector(expression)) }
	if parts.mode == resourceapi.DeviceAllocationModeAll && b.chance(40) {
		add(selectorsFor(parts.driver)[below(b.T, 2)*5])
	}
	if b.wants(Selectors) && b.chance(70) {
		add(pick(b.T, selectorsFor(parts.driver)))
		if b.chance(20) {
			add(pick(b.T, selectorsFor(parts.driver)))
		}
	}
	if b.wants(SelectorError) && b.chance(50) {
		add(pick(b.T, touchySelectorsFor(parts.driver)))
	}
	if b.wants(CompileError) && b.chance(40) {
		add(pick(b.T, uncompilableSelectors))
	}
}

func (b *builder) drawTolerations() []resourceapi.DeviceToleration {
	var tolerations []resourceapi.DeviceToleration
	for range 1 + below(b.T, 2) {
		var toleration resourceapi.DeviceToleration
		switch below(b.T, 5) {
		case 0, 1:
			toleration = resourceapi.DeviceToleration{Key: pick(b.T, taintKeys), Operator: resourceapi.DeviceTolerationOpExists}
		case 2:
			toleration = resourceapi.DeviceToleration{Key: pick(b.T, taintKeys), Operator: resourceapi.DeviceTolerationOpEqual, Value: pick(b.T, taintValues)}
		case 3:
			toleration = resourceapi.DeviceToleration{Operator: resourceapi.DeviceTolerationOpExists}
		case 4:
			toleration = resourceapi.DeviceToleration{Operator: resourceapi.DeviceTolerationOpExists, Effect: pick(b.T, blockEffects)}
			if toleration.Effect == resourceapi.DeviceTaintEffectNoExecute && b.chance(50) {
				toleration.TolerationSeconds = ptr.To(int64(30))
			}
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}

const derivedName = "derived.example.com/group"

func (b *builder) drawDerived(driver string) []resourceapi.DeviceDerivedAttribute {
	expression := func() string {
		if b.wants(DerivedError) && b.chance(50) {
			return pick(b.T, touchyDerivationsFor(driver))
		}
		return pick(b.T, derivationsFor(driver))
	}
	derived := []resourceapi.DeviceDerivedAttribute{{Name: derivedName, Expression: expression()}}
	if b.wants(DerivedOverride) && b.chance(75) {
		derived = append(derived, resourceapi.DeviceDerivedAttribute{
			Name: resourceapi.FullyQualifiedName(pick(b.T, []string{driver + "/numa", driver + "/model", rootAttribute})), Expression: expression(),
		})
	}
	return derived
}
