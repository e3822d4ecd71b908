package allocatortest

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// capacityKind is one way to publish a capacity, with quantities to ask for.
type capacityKind struct {
	feature  Feature // the feature that this kind is an example of
	name     string
	value    string
	policy   func() *resourceapi.CapacityRequestPolicy
	requests []string
	shares   []string // what a share may have consumed
}

var plainMemory = capacityKind{
	feature: CapacityRequest, name: "memory", value: "40Gi",
	policy:   func() *resourceapi.CapacityRequestPolicy { return nil },
	requests: []string{"10Gi", "20Gi", "7Gi", "40Gi", "60Gi"},
	shares:   []string{"10Gi", "40Gi"},
}

var capacityKinds = []capacityKind{
	plainMemory,
	{
		feature: PolicyDefault, name: "memory", value: "7Ei",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("3Ei")}
		},
		requests: []string{"4Ei", "6Ei", "10Gi"},
		shares:   []string{"4Ei", "6Ei"}, // two of them pass the range of an int64
	},
	{
		feature: PolicyDefault, name: "memory", value: "40Gi",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("10Gi")}
		},
		requests: []string{"10Gi", "10240Mi", "3Gi", "30Gi"},
		shares:   []string{"10Gi", "30Gi"},
	},
	{
		feature: PolicyValues, name: "bandwidth", value: "41943040Ki",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("5Gi"),
				ValidValues: []resource.Quantity{quantity("5Gi"), quantity("10Gi"), quantity("20Gi")}}
		},
		requests: []string{"5Gi", "6Gi", "20Gi", "5120Mi", "25Gi"},
		shares:   []string{"5Gi", "20Gi"},
	},
	{
		feature: PolicyRange, name: "memory", value: "40Gi",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("2Gi"),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantityPtr("2Gi"), Max: quantityPtr("20Gi"), Step: quantityPtr("2Gi")}}
		},
		requests: []string{"1Gi", "3Gi", "4Gi", "2500Mi", "3G", "19Gi", "21Gi"},
		shares:   []string{"2Gi", "20Gi"},
	},
	{
		feature: PolicyRange, name: "memory", value: "40Gi",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("1Gi"),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantityPtr("1Gi"), Step: quantityPtr("512Mi")}}
		},
		requests: []string{"1Gi", "1100Mi", "4G", "39Gi", "50Gi"},
		shares:   []string{"1Gi", "1536Mi"},
	},
	{
		feature: PolicyRange, name: "memory", value: "40Gi",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("1Gi"),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantityPtr("1Gi"), Max: quantityPtr("30Gi")}}
		},
		requests: []string{"1", "1500M", "30Gi", "31Gi"},
		shares:   []string{"1Gi", "1500M"},
	},
	{
		feature: FractionalRange, name: "cores", value: "4",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("500m"),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantityPtr("500m"), Max: quantityPtr("3"), Step: quantityPtr("500m")}}
		},
		requests: []string{"700m", "1", "1200m", "2500m", "0.1", "3500m"},
		shares:   []string{"500m", "1500m", "3"},
	},
	{
		feature: FractionalRange, name: "cores", value: "8",
		policy: func() *resourceapi.CapacityRequestPolicy {
			return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("1"),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantityPtr("1"), Step: quantityPtr("250m")}}
		},
		requests: []string{"1", "1100m", "1250m", "7.9", "2k"},
		shares:   []string{"1", "1250m"},
	},
}

// plainSlots is published beside the others so that devices have a capacity
// that nobody asks for.
var plainSlots = capacityKind{
	feature: CapacityRequest, name: "slots", value: "3",
	policy: func() *resourceapi.CapacityRequestPolicy {
		return &resourceapi.CapacityRequestPolicy{Default: quantityPtr("1")}
	},
	requests: []string{"1", "2"},
	shares:   []string{"1", "2"},
}

// absurdRequests cannot be represented, or are negative; each needs a server
// that let it through or a policy that it does not fit.
var absurdRequests = []string{"8Ei", "16Ei", "-1", "500u", "9223372036854775807"}

// drawCapacityKinds gives a device one kind for each name at most.
func (b *builder) drawCapacityKinds() []capacityKind {
	var kinds []capacityKind
	named := make(map[string]bool)
	add := func(kind capacityKind) {
		if !named[kind.name] {
			named[kind.name] = true
			kinds = append(kinds, kind)
		}
	}
	first := below(b.T, len(capacityKinds))
	for i := range capacityKinds {
		kind := capacityKinds[(first+i)%len(capacityKinds)]
		if b.wants(kind.feature) && kind.feature != CapacityRequest && b.chance(80) {
			add(kind)
		}
	}
	if len(kinds) == 0 {
		add(pick(b.T, capacityKinds[:2]))
	}
	if b.chance(40) {
		add(plainSlots)
	}
	return kinds
}

func (b *builder) addCapacities(p *poolPlan, device *resourceapi.Device) {
	for _, kind := range p.style.capacities {
		if b.chance(8) {
			continue
		}
		if device.Capacity == nil {
			device.Capacity = make(map[resourceapi.QualifiedName]resourceapi.DeviceCapacity)
		}
		capacity := resourceapi.DeviceCapacity{Value: quantity(kind.value), RequestPolicy: kind.policy()}
		if capacity.RequestPolicy != nil && b.chance(4) {
			// A server that does not hold the default against the policy.
			capacity.RequestPolicy.Default = quantityPtr("1700m")
		}
		device.Capacity[resourceapi.QualifiedName(kind.name)] = capacity
	}
	if p.style.capacities == nil && b.chance(15) {
		device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: quantity(pick(b.T, []string{"16Gi", "40Gi"}))}}
	}
}

// capacityRequest asks for what some pool of the driver has.
func (b *builder) capacityRequest(driver string) *resourceapi.CapacityRequirements {
	var kinds []capacityKind
	for _, p := range b.pools {
		if p.driver == driver {
			kinds = append(kinds, p.style.capacities...)
		}
	}
	if len(kinds) == 0 {
		kinds = []capacityKind{plainMemory}
	}
	kind := pick(b.T, kinds)
	asked := pick(b.T, kind.requests)
	if b.wants(CapacityError) && b.chance(60) {
		asked = pick(b.T, absurdRequests)
	}
	requests := map[resourceapi.QualifiedName]resource.Quantity{resourceapi.QualifiedName(kind.name): quantity(asked)}
	switch below(b.T, 20) {
	case 17:
		requests[resourceapi.QualifiedName(plainSlots.name)] = quantity(pick(b.T, plainSlots.requests))
	case 18:
		requests[resourceapi.QualifiedName(driver+"/"+kind.name)] = quantity(asked)
	case 19:
		requests = nil
	}
	if b.wants(CapacityError) && b.chance(20) {
		requests = map[resourceapi.QualifiedName]resource.Quantity{"memory": quantity("-1"), "slots": quantity("-2")}
	}
	return &resourceapi.CapacityRequirements{Requests: requests}
}

// consumedBy is what a share of the device holds.
func (b *builder) consumedBy(device *resourceapi.Device) map[resourceapi.QualifiedName]resource.Quantity {
	if b.chance(20) {
		return nil
	}
	consumed := make(map[resourceapi.QualifiedName]resource.Quantity)
	for _, kind := range append([]capacityKind{plainSlots}, capacityKinds...) {
		name := resourceapi.QualifiedName(kind.name)
		capacity, found := device.Capacity[name]
		if _, done := consumed[name]; !found || done {
			continue
		}
		if capacity.RequestPolicy == nil {
			consumed[name] = quantity(pick(b.T, []string{"10Gi", "30Gi"}))
			continue
		}
		consumed[name] = quantity(pick(b.T, []string{ptr.To(*capacity.RequestPolicy.Default).String(), kind.shares[0], kind.shares[len(kind.shares)-1]}))
	}
	if len(consumed) == 0 {
		return nil
	}
	return consumed
}
