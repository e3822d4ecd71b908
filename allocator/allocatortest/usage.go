package allocatortest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"
)

// Uses says which features a scenario puts to use on one of its nodes: a claim
// asks for them, or a device has them that some request's class may select. A
// feature that is switched off is not used, except as [FeatureOff].
func Uses(s *Scenario, node *corev1.Node) FeatureSet {
	u := &usage{s: s, node: node, state: s.AllocatedState(), drivers: make(map[string]bool)}
	for _, claim := range s.Claims {
		u.claim(claim)
	}
	if len(s.Claims) > 1 {
		u.Add(SeveralClaims)
	}
	u.pools()
	u.constraints()
	return u.FeatureSet
}

// usage collects; candidates are the devices that some request may select.
type usage struct {
	FeatureSet
	s          *Scenario
	node       *corev1.Node
	state      schedulerapi.AllocatedState
	anyDriver  bool
	drivers    map[string]bool
	overridden map[string]bool // derived attribute names
	lists      map[string]bool // fully qualified names of list attributes of candidates
	candidates int
	inUse      int
}

// use adds a feature, or FeatureOff where its switch is off.
func (u *usage) use(f Feature) {
	if g := gate(&u.s.Features, f); g != nil && !*g {
		u.Add(FeatureOff)
		return
	}
	u.Add(f)
}

func (u *usage) useIf(condition bool, f Feature) {
	if condition {
		u.use(f)
	}
}

func (u *usage) claim(claim *resourceapi.ResourceClaim) {
	most := 0
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		largest := 0
		for j := range request.FirstAvailable {
			u.use(FirstAvailable)
			alternative := &request.FirstAvailable[j]
			largest = max(largest, u.countOf(alternative.AllocationMode, alternative.Count))
			u.request(alternative.DeviceClassName, alternative.AllocationMode, alternative.Selectors, alternative.Tolerations, alternative.Capacity, alternative.DerivedAttributes)
		}
		if exactly := request.Exactly; exactly != nil {
			largest = u.countOf(exactly.AllocationMode, exactly.Count)
			u.useIf(exactly.AdminAccess != nil, AdminAccess)
			u.request(exactly.DeviceClassName, exactly.AllocationMode, exactly.Selectors, exactly.Tolerations, exactly.Capacity, exactly.DerivedAttributes)
		}
		most += largest
	}
	u.useIf(most > resourceapi.AllocationResultsMaxSize, ResultLimit)
	u.useIf(len(claim.Spec.Devices.Config) > 0, ClaimConfig)
}

// countOf stands in a number of devices for All: those of the crowd.
func (u *usage) countOf(mode resourceapi.DeviceAllocationMode, count int64) int {
	if mode != resourceapi.DeviceAllocationModeAll {
		return int(count)
	}
	most := 0
	for _, slice := range u.s.Slices {
		most = max(most, len(slice.Spec.Devices))
	}
	return most
}

func (u *usage) request(class string, mode resourceapi.DeviceAllocationMode, selectors []resourceapi.DeviceSelector, tolerations []resourceapi.DeviceToleration, capacity *resourceapi.CapacityRequirements, derived []resourceapi.DeviceDerivedAttribute) {
	u.class(class)
	switch mode {
	case resourceapi.DeviceAllocationModeAll:
		u.use(AllMode)
	case resourceapi.DeviceAllocationModeExactCount:
		u.use(ExactCount)
	default:
		u.use(UnknownType)
	}
	u.useIf(len(tolerations) > 0, Tolerations)
	u.useIf(capacity != nil, CapacityRequest)
	for _, selector := range selectors {
		u.selector(selector)
	}
	for _, attribute := range derived {
		u.use(DerivedAttributes)
		if u.overridden == nil {
			u.overridden = make(map[string]bool)
		}
		u.overridden[string(attribute.Name)] = true
		u.useIf(touchy(attribute.Expression, touchyDerivationsFor), DerivedError)
	}
	if capacity != nil {
		for _, asked := range capacity.Requests {
			for _, absurd := range append(absurdRequests, "-2") {
				u.useIf(asked.String() == ptr.To(quantity(absurd)).String(), CapacityError)
			}
		}
	}
}

func (u *usage) selector(selector resourceapi.DeviceSelector) {
	if selector.CEL == nil {
		u.use(UnknownType)
		return
	}
	switch expression := selector.CEL.Expression; {
	case slices.Contains(uncompilableSelectors, expression):
		u.use(CompileError)
	case touchy(expression, touchySelectorsFor):
		u.use(SelectorError)
	default:
		u.use(Selectors)
	}
}

// touchy says whether an expression errs on a device that lacks something.
func touchy(expression string, of func(driver string) []string) bool {
	for driver := range classOf {
		if slices.Contains(of(driver), expression) {
			return true
		}
	}
	return false
}

func (u *usage) class(name string) {
	for _, class := range u.s.Classes {
		if class.Name != name {
			continue
		}
		u.useIf(len(class.Spec.Config) > 0, ClassConfig)
		if driver := ClassDriver(class); driver != "" {
			u.drivers[driver] = true
		} else {
			u.anyDriver = true
		}
		for _, selector := range class.Spec.Selectors {
			if !strings.HasPrefix(selector.CEL.Expression, "device.driver ==") {
				u.selector(selector)
			}
		}
		return
	}
	if name == "" {
		u.use(UnknownType)
	} else {
		u.use(UnknownClass)
	}
}

func (u *usage) mayBeSelected(driver string) bool { return u.anyDriver || u.drivers[driver] }

func (u *usage) pools() {
	drivers := make(map[string]bool)
	u.lists = make(map[string]bool)
	for _, pool := range View(u.s, u.node) {
		for _, slice := range slices.Concat(pool.All, pool.Obsolete) {
			u.useIf(slice.Spec.NodeName == nil && HasBadNodeSelector(slice), BadNodeSelector)
			u.useIf(Ignores(&u.s.Features, slice), FeatureOff)
		}
		if !u.mayBeSelected(pool.Driver) {
			continue
		}
		u.useIf(len(pool.Uncounted) > 0, FeatureOff)
		u.useIf(len(pool.Obsolete) > 0, Generations)
		if len(pool.Reaching) == 0 {
			continue
		}
		drivers[pool.Driver] = true
		if pool.Incomplete() || pool.CountsDisagree() {
			u.use(IncompletePool)
			continue
		}
		if pool.Invalid(&u.s.Features) {
			u.use(InvalidPool)
			continue
		}
		u.pool(pool)
	}
	u.useIf(len(drivers) > 1, SeveralDrivers)
	u.useIf(u.candidates > 1 && u.inUse*10 >= u.candidates*6, NearFull)
}

func (u *usage) pool(pool *PoolView) {
	u.useIf(len(pool.Reaching) < len(pool.All), SpreadPool)
	for _, slice := range pool.Reaching {
		u.useIf(slice.Spec.NodeSelector != nil, NodeSelectorPool)
		u.useIf(ptr.Deref(slice.Spec.AllNodes, false), AllNodesPool)
		u.useIf(ptr.Deref(slice.Spec.PerDeviceNodeSelection, false), PerDeviceNodeSelection)
		u.useIf(len(slice.Spec.SkipNodeOperations) > 0, SkipNodeOperations)
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			if DeviceReaches(slice, device, u.node) {
				u.device(pool, device)
			}
		}
	}
	u.overcommitted(pool)
}

func (u *usage) device(pool *PoolView, device *resourceapi.Device) {
	u.candidates++
	id := schedulerapi.MakeDeviceID(pool.Driver, pool.Name, device.Name)
	shared := u.isShared(id)
	if shared || u.state.AllocatedDevices.Has(id) {
		u.inUse++
	}
	u.useIf(shared, LiveShares)
	u.useIf(ptr.Deref(device.AllowMultipleAllocations, false), MultipleAllocations)
	u.useIf(len(device.BindingConditions) > 0, BindingConditions)
	u.useIf(ptr.Deref(device.BindsToNode, false), BindsToNode)
	for _, taint := range device.Taints {
		if slices.Contains(harmlessEffects, taint.Effect) {
			u.use(NoneTaints)
		} else {
			u.use(BlockingTaints)
		}
	}
	u.useIf(len(device.ConsumesCounters) > 1, SeveralCounterSets)
	for _, consumption := range device.ConsumesCounters {
		u.use(Counters)
		u.useIf(len(consumption.CompatibilityGroups) > 0, CompatibilityGroups)
		_, fractional := consumption.Counters["share"]
		u.useIf(fractional, FractionalCounters)
	}
	u.capacities(device)
	for name, attribute := range device.Attributes {
		if v := attribute.VersionValue; v != nil && slices.Contains(badVersions, *v) {
			u.use(BadVersion)
		}
		u.useIf(attribute.String() == (&resourceapi.DeviceAttribute{}).String(), BadVersion)
		if attribute.IntValues != nil || attribute.BoolValues != nil || attribute.StringValues != nil || attribute.VersionValues != nil {
			u.lists[qualify(string(name), pool.Driver)] = true
		}
		if u.overridden[qualify(string(name), pool.Driver)] {
			u.use(DerivedOverride)
		}
	}
}

func qualify(name, driver string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return driver + "/" + name
}

func (u *usage) isShared(id schedulerapi.DeviceID) bool {
	for share := range u.state.AllocatedSharedDeviceIDs {
		if share.GetDeviceID() == id {
			return true
		}
	}
	return false
}

func (u *usage) capacities(device *resourceapi.Device) {
	if !u.Has(CapacityRequest) && !ptr.Deref(device.AllowMultipleAllocations, false) {
		return
	}
	for name, capacity := range device.Capacity {
		policy := capacity.RequestPolicy
		switch {
		case policy == nil:
		case policy.ValidValues != nil:
			u.use(PolicyValues)
		case policy.ValidRange != nil && name == "cores":
			u.use(FractionalRange)
		case policy.ValidRange != nil:
			u.use(PolicyRange)
		default:
			u.use(PolicyDefault)
		}
	}
}

// overcommitted looks for a counter of which more is consumed than there is.
func (u *usage) overcommitted(pool *PoolView) {
	for _, slice := range pool.All {
		for _, set := range slice.Spec.SharedCounters {
			for name, counter := range set.Counters {
				left := counter.Value.DeepCopy()
				for _, other := range pool.All {
					for i := range other.Spec.Devices {
						device := &other.Spec.Devices[i]
						id := schedulerapi.MakeDeviceID(pool.Driver, pool.Name, device.Name)
						if !u.state.AllocatedDevices.Has(id) && !u.isShared(id) {
							continue
						}
						for _, consumption := range device.ConsumesCounters {
							if consumption.CounterSet == set.Name {
								left.Sub(consumption.Counters[name].Value)
							}
						}
					}
				}
				u.useIf(left.Sign() < 0, OvercommittedCounters)
			}
		}
	}
}

func (u *usage) constraints() {
	for _, claim := range u.s.Claims {
		for _, constraint := range claim.Spec.Devices.Constraints {
			name := ""
			u.useIf(constraint.MatchAttribute == nil && constraint.DistinctAttribute == nil, UnknownType)
			if constraint.MatchAttribute != nil {
				name = string(*constraint.MatchAttribute)
				u.use(MatchAttribute)
				u.useIf(u.lists[name], ListMatch)
			}
			if constraint.DistinctAttribute != nil {
				name = string(*constraint.DistinctAttribute)
				u.use(DistinctAttribute)
				u.useIf(u.lists[name], ListDistinct)
			}
			for _, request := range constraint.Requests {
				switch {
				case strings.Contains(request, "/"):
					u.use(ConstraintOnSubrequest)
				case isParent(claim, request):
					u.use(ConstraintOnParent)
				default:
					u.use(ConstraintOnRequest)
				}
			}
		}
	}
}

func isParent(claim *resourceapi.ResourceClaim, name string) bool {
	for _, request := range claim.Spec.Devices.Requests {
		if request.Name == name {
			return len(request.FirstAvailable) > 0
		}
	}
	return false
}
