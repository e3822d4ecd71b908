package allocatortest

import (
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func newClaim(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
	}
}

func (b *builder) addClaims() {
	count := 1
	if b.wants(SeveralClaims) {
		count = between(b.T, 2, 3)
	}
	budget := b.budget()
	for i := range count {
		claim := newClaim(fmt.Sprintf("claim-%d", i))
		requests := 1
		switch roll := below(b.T, 10); {
		case b.deep:
			requests = between(b.T, 2, 4)
		case b.wants(AllMode) && b.chance(60):
			// Whatever else is asked for leaves not all.
		case roll == 9 && count == 1:
			requests = 3
		case roll >= 4 && count == 1, roll >= 7:
			requests = 2
		}
		for range requests {
			if budget <= 0 {
				break
			}
			// Keep one device for each claim that is still to come.
			budget -= b.addRequest(claim, max(1, budget-(count-1-i)))
		}
		b.addConstraints(claim)
		b.addConfig(claim)
		if b.wants(UnknownType) && b.chance(60) {
			b.emptyField(claim)
		}
		if len(claim.Spec.Devices.Requests) > 0 || b.chance(10) {
			b.s.Claims = append(b.s.Claims, claim)
		}
	}
}

func (b *builder) addConstraints(claim *resourceapi.ResourceClaim) {
	add := func(distinct bool) {
		name := resourceapi.FullyQualifiedName(b.constrainedAttribute(distinct))
		constraint := resourceapi.DeviceConstraint{Requests: b.scope(claim)}
		if distinct {
			constraint.DistinctAttribute = ptr.To(name)
		} else {
			constraint.MatchAttribute = ptr.To(name)
		}
		claim.Spec.Devices.Constraints = append(claim.Spec.Devices.Constraints, constraint)
	}
	if b.wants(MatchAttribute) && b.chance(80) {
		add(false)
	}
	if b.wants(DistinctAttribute) && b.chance(80) {
		add(true)
	}
	if b.wantsAny(MatchAttribute, DistinctAttribute) && b.chance(15) {
		add(b.chance(50))
	}
}

// constrainedAttribute prefers attributes with which the constraint can hold.
func (b *builder) constrainedAttribute(distinct bool) string {
	if b.wants(DerivedAttributes) && b.chance(65) {
		if b.wants(DerivedOverride) && b.chance(60) {
			return pick(b.T, []string{b.drivers[0] + "/numa", b.drivers[0] + "/model", rootAttribute})
		}
		return derivedName
	}
	if b.wants(ListMatch) && !distinct && b.chance(80) || b.wants(ListDistinct) && distinct && b.chance(80) {
		return pick(b.T, []string{rootAttribute, b.drivers[0] + "/links"})
	}
	if len(b.drivers) > 1 && b.chance(70) {
		return rootAttribute
	}
	driver := pick(b.T, b.drivers)
	if b.chance(5) {
		return driver + "/missing"
	}
	useful := []string{"numa", "model", rootAttribute, "fast", "version"}
	if distinct {
		useful = []string{"index", "index", "model", rootAttribute, "numa"}
	}
	name := pick(b.T, useful)
	if published := b.styles[driver].attributes; !slices.Contains(published, name) && len(published) > 0 {
		name = pick(b.T, published)
	}
	return qualify(name, driver)
}

// scope lists the requests that a constraint or a configuration is about.
func (b *builder) scope(claim *resourceapi.ResourceClaim) []string {
	if !b.wantsAny(ConstraintOnRequest, ConstraintOnParent, ConstraintOnSubrequest) || b.chance(15) {
		return nil
	}
	var names []string
	for _, request := range claim.Spec.Devices.Requests {
		kind, _ := b.oneOf(ConstraintOnRequest, ConstraintOnParent, ConstraintOnSubrequest)
		switch {
		case len(request.FirstAvailable) == 0:
			if kind != ConstraintOnRequest && b.chance(50) {
				continue
			}
			names = append(names, request.Name)
		case kind == ConstraintOnSubrequest:
			for _, alternative := range request.FirstAvailable {
				if b.chance(65) {
					names = append(names, request.Name+"/"+alternative.Name)
				}
			}
		default:
			names = append(names, request.Name)
		}
	}
	if len(names) > 1 && b.chance(25) {
		names = names[1:]
	}
	return names
}

func (b *builder) addConfig(claim *resourceapi.ResourceClaim) {
	if !b.wants(ClaimConfig) || len(claim.Spec.Devices.Requests) == 0 {
		return
	}
	for i := range 1 + below(b.T, 2) {
		config := resourceapi.DeviceClaimConfiguration{
			DeviceConfiguration: opaque(pick(b.T, b.drivers), fmt.Sprintf("%s-%d", claim.Name, i)),
		}
		for _, request := range claim.Spec.Devices.Requests {
			switch below(b.T, 3) {
			case 1:
				config.Requests = append(config.Requests, request.Name)
			case 2:
				for _, alternative := range request.FirstAvailable {
					if b.chance(60) {
						config.Requests = append(config.Requests, request.Name+"/"+alternative.Name)
					}
				}
			}
		}
		claim.Spec.Devices.Config = append(claim.Spec.Devices.Config, config)
	}
}

// emptyField makes the claim one that a newer API server has stored: what it
// set is lost on the way, and the known fields of the choice are empty.
func (b *builder) emptyField(claim *resourceapi.ResourceClaim) {
	devices := &claim.Spec.Devices
	if len(devices.Requests) == 0 {
		return
	}
	request := &devices.Requests[below(b.T, len(devices.Requests))]
	exactly := request.Exactly
	if exactly == nil {
		exactly = &resourceapi.ExactDeviceRequest{} // the alternative takes it over
	}
	var alternative resourceapi.DeviceSubRequest
	switch below(b.T, 4) {
	case 0:
		devices.Constraints = append(devices.Constraints, resourceapi.DeviceConstraint{})
		return
	case 1:
		exactly.Selectors = append(exactly.Selectors, resourceapi.DeviceSelector{})
		alternative.Selectors = exactly.Selectors
	case 2:
		exactly.AllocationMode, alternative.AllocationMode = "Some", "Some"
	case 3:
		exactly.DeviceClassName = ""
	}
	if request.Exactly == nil {
		alternative.Name = fmt.Sprintf("s%d", len(request.FirstAvailable))
		alternative.DeviceClassName = exactly.DeviceClassName
		request.FirstAvailable = append(request.FirstAvailable, alternative)
	}
}
