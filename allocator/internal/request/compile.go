package request

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
)

// Features is what the compiler has to know; the fields are those of
// allocator.Features, whose documentation says what each means.
type Features struct {
	AdminAccess, CompatibilityGroups, ConsumableCapacity, DerivedAttributes           bool
	DeviceBindingAndStatus, DeviceTaints, FractionalCapacityRange                     bool
	ListTypeAttributes, OptionalNodeOperations, PartitionableDevices, PrioritizedList bool
}

// ClassLister finds device classes.
type ClassLister interface {
	Get(className string) (*resourceapi.DeviceClass, error)
}

// Claims are compiled claims. They are immutable and hold for any node, as long
// as claims, classes and features stay what they are.
type Claims struct {
	// Failed: a device class could not be had. The lister may know it later, so
	// these claims must not be used again.
	Failed   bool
	Features Features
	Claims   []*Claim
	// asks are what the alternatives ask of a share, those that ask for the same
	// counted together.
	asks []ask
}

// Claim is one compiled claim.
type Claim struct {
	API         *resourceapi.ResourceClaim
	Requests    []Request
	Constraints []Constraint
}

// Request is one compiled request.
type Request struct {
	API *resourceapi.DeviceRequest
	// err is found before any alternative is looked at.
	err          error
	Prioritized  bool
	Alternatives []Alternative
}

// Alternative is a request, or one subrequest of it.
type Alternative struct {
	// Name is the request's, or the subrequest's; Parent is then the request's.
	Name, Parent string
	// Class is the device class; nil only if err is set.
	Class *resourceapi.DeviceClass
	All   bool
	// Count is the number of devices wanted, unless All is set.
	Count       int
	Admin       bool
	Selectors   []Selector
	Tolerations []resourceapi.DeviceToleration
	// Capacity is what is asked of a share; nil asks for nothing in particular.
	Capacity *resourceapi.CapacityRequirements
	// ask is the index in Claims.asks.
	ask int
	// derived are the expressions of derived attributes, by full name.
	derived map[resourceapi.FullyQualifiedName]string
	err     error
}

// Selector is one CEL selector, of the class or of the request.
type Selector struct {
	Expression string
	// OfClass: the selector is the class's. Index is its place in that list.
	OfClass bool
	Index   int
}

// Constraint is one compiled constraint.
type Constraint struct {
	// Attribute is the full name of what is compared.
	Attribute resourceapi.FullyQualifiedName
	Distinct  bool
	// requests are the names that the constraint is for; empty means all.
	requests []string
	err      error
}

// Name is namespace/name, as messages have it; it is made when it is asked for.
func (c *Claim) Name() string {
	if c.API.Namespace == "" {
		return c.API.Name
	}
	return c.API.Namespace + "/" + c.API.Name
}

// FullName is the name in allocation results: request or request/subrequest.
func (a *Alternative) FullName() string {
	if a.Parent == "" {
		return a.Name
	}
	return a.Parent + "/" + a.Name
}

// covers says whether the constraint is for the alternative. The name of a
// request stands for all its subrequests.
func (c *Constraint) covers(a *Alternative) bool {
	if len(c.requests) == 0 {
		return true
	}
	for _, name := range c.requests {
		if name == a.FullName() || a.Parent != "" && name == a.Parent {
			return true
		}
	}
	return false
}

// Compile reads the claims. Errors inside a claim are kept for Bind; the error
// returned is about an input that is no claim at all.
func Compile(features Features, classes ClassLister, claims []*resourceapi.ResourceClaim) (*Claims, error) {
	return new(Scratch).Compile(features, classes, claims)
}

// Compile is the function of that name, in this memory.
func (s *Scratch) Compile(features Features, classes ClassLister, claims []*resourceapi.ResourceClaim) (*Claims, error) {
	s.compiled++
	compiled := &s.claims
	compiled.Failed, compiled.Features = false, features
	compiled.Claims, compiled.asks = resized(compiled.Claims, len(claims)), compiled.asks[:0]
	for i, api := range claims {
		if api == nil {
			return nil, &InputError{Err: fmt.Errorf("claim %d of %d is nil", i+1, len(claims))}
		}
		if compiled.Claims[i] == nil {
			compiled.Claims[i] = &Claim{}
		}
		c := compiler{features: features, classes: classes, claims: compiled, claim: compiled.Claims[i]}
		c.compile(api)
		compiled.Failed = compiled.Failed || c.failed
	}
	return compiled, nil
}

type compiler struct {
	features Features
	classes  ClassLister
	claims   *Claims
	claim    *Claim
	// failed: the class lister returned an error.
	failed bool
}

// compile fills the claim. Of what is in it already only the memory is kept.
func (c *compiler) compile(api *resourceapi.ResourceClaim) {
	spec := &api.Spec.Devices
	c.claim.API = api
	c.claim.Requests = resized(c.claim.Requests, len(spec.Requests))
	for i := range spec.Requests {
		c.request(&spec.Requests[i], &c.claim.Requests[i])
	}
	c.claim.Constraints = resized(c.claim.Constraints, len(spec.Constraints))
	for i := range spec.Constraints {
		c.claim.Constraints[i] = c.constraint(i, &spec.Constraints[i])
	}
}

func (c *compiler) request(api *resourceapi.DeviceRequest, r *Request) {
	alternatives := resized(r.Alternatives, max(1, len(api.FirstAvailable)))
	r.API, r.Prioritized, r.Alternatives, r.err = api, len(api.FirstAvailable) > 0, alternatives, c.refuse(api)
	if !r.Prioritized {
		c.exactly(api, &alternatives[0])
		return
	}
	for i := range api.FirstAvailable {
		c.subRequest(api, &api.FirstAvailable[i], &alternatives[i])
	}
}

// refuse reports what a request uses while the feature for it is off: ignoring
// it would allocate something that nobody asked for.
func (c *compiler) refuse(api *resourceapi.DeviceRequest) error {
	sentence := ""
	switch {
	case !c.features.PrioritizedList && len(api.FirstAvailable) > 0:
		sentence = fmt.Sprintf("request %s: has subrequests, but the DRAPrioritizedList feature is disabled", api.Name)
	case c.features.ConsumableCapacity:
	case api.Exactly != nil && api.Exactly.Capacity != nil:
		sentence = fmt.Sprintf("request %s: has capacity requests, but the DRAConsumableCapacity feature is disabled", api.Name)
	default:
		for i := range api.FirstAvailable {
			if api.FirstAvailable[i].Capacity != nil {
				sentence = fmt.Sprintf("subrequest %s: has capacity requests, but the DRAConsumableCapacity feature is disabled", api.FirstAvailable[i].Name)
				break
			}
		}
	}
	if sentence == "" {
		return nil
	}
	return &InputError{Claim: c.claim.Name(), Request: api.Name, Err: fmt.Errorf("claim %s, %s", c.claim.Name(), sentence)}
}

func (c *compiler) exactly(api *resourceapi.DeviceRequest, a *Alternative) {
	exactly := api.Exactly
	if exactly == nil {
		exactly = &resourceapi.ExactDeviceRequest{} // Its missing class name is the error.
	}
	a.reset(api.Name, "")
	a.Admin = exactly.AdminAccess != nil && *exactly.AdminAccess
	a.Tolerations, a.Capacity, a.ask = exactly.Tolerations, exactly.Capacity, c.claims.ask(exactly.Capacity)
	a.err = c.fill(a, common{
		class:      exactly.DeviceClassName,
		selectors:  exactly.Selectors,
		mode:       exactly.AllocationMode,
		count:      exactly.Count,
		namesAdmin: exactly.AdminAccess != nil,
		derived:    exactly.DerivedAttributes,
	})
}

func (c *compiler) subRequest(parent *resourceapi.DeviceRequest, api *resourceapi.DeviceSubRequest, a *Alternative) {
	a.reset(api.Name, parent.Name)
	a.Tolerations, a.Capacity, a.ask = api.Tolerations, api.Capacity, c.claims.ask(api.Capacity)
	a.err = c.fill(a, common{
		class:     api.DeviceClassName,
		selectors: api.Selectors,
		mode:      api.AllocationMode,
		count:     api.Count,
		derived:   api.DerivedAttributes,
	})
}

// reset leaves nothing in an alternative but its name and the memory of its
// selectors. It goes by field, which is the fastest way while garbage is collected.
func (a *Alternative) reset(name, parent string) {
	a.Name, a.Parent = name, parent
	a.Class, a.All, a.Count, a.Admin = nil, false, 0, false
	a.Selectors = a.Selectors[:0]
	a.Tolerations, a.Capacity, a.ask = nil, nil, 0
	a.derived, a.err = nil, nil
}

// common is what requests and subrequests have in common.
type common struct {
	class      string
	selectors  []resourceapi.DeviceSelector
	mode       resourceapi.DeviceAllocationMode
	count      int64
	namesAdmin bool
	derived    []resourceapi.DeviceDerivedAttribute
}

// fill completes the alternative, or returns the first thing wrong with it.
func (c *compiler) fill(a *Alternative, in common) error {
	if len(in.derived) > 0 {
		if !c.features.DerivedAttributes {
			return a.errorf(c.claim, "cannot handle request with derived attributes, the feature is disabled")
		}
		a.derived = make(map[resourceapi.FullyQualifiedName]string, len(in.derived))
		for _, attribute := range in.derived {
			a.derived[attribute.Name] = attribute.Expression
		}
	}
	for i, selector := range in.selectors {
		if selector.CEL == nil {
			return c.selectorError(a, i, "CEL expression empty (unsupported selector type?)")
		}
	}
	if !c.features.AdminAccess && in.namesAdmin {
		return a.errorf(c.claim, "admin access is requested, but the feature is disabled")
	}
	if in.class == "" {
		return a.errorf(c.claim, "missing device class name (unsupported request type?)")
	}
	if c.classes == nil {
		return a.classError(c.claim, in.class, errNoLister)
	}
	class, err := c.classes.Get(in.class)
	if err != nil {
		c.failed = true
		return a.classError(c.claim, in.class, err)
	}
	if class == nil {
		c.failed = true
		return a.classError(c.claim, in.class, errNoClass)
	}
	a.Class = class
	for i, selector := range class.Spec.Selectors {
		if selector.CEL == nil {
			return &InputError{Claim: c.claim.Name(), Request: a.FullName(), Class: class.Name,
				Err: fmt.Errorf("class %s: selector #%d: CEL expression empty (unsupported selector type?)", class.Name, i)}
		}
		a.Selectors = append(a.Selectors, Selector{Expression: selector.CEL.Expression, OfClass: true, Index: i})
	}
	for i, selector := range in.selectors {
		a.Selectors = append(a.Selectors, Selector{Expression: selector.CEL.Expression, Index: i})
	}
	switch in.mode {
	case resourceapi.DeviceAllocationModeExactCount:
		if in.count < 0 {
			return a.errorf(c.claim, "count %d is negative", in.count)
		}
		a.Count = int(in.count)
	case resourceapi.DeviceAllocationModeAll:
		a.All = true
	default:
		return a.errorf(c.claim, "unsupported count mode %s", in.mode)
	}
	return nil
}

func (c *compiler) selectorError(a *Alternative, number int, sentence string) error {
	return &InputError{Claim: c.claim.Name(), Request: a.FullName(),
		Err: fmt.Errorf("claim %s, request %s, selector #%d: %s", c.claim.Name(), a.Name, number, sentence)}
}

func (c *compiler) constraint(number int, api *resourceapi.DeviceConstraint) Constraint {
	switch {
	case api.MatchAttribute != nil:
		return Constraint{Attribute: *api.MatchAttribute, requests: api.Requests}
	case api.DistinctAttribute != nil:
		return Constraint{Attribute: *api.DistinctAttribute, Distinct: true, requests: api.Requests}
	}
	return Constraint{err: c.claim.errorf("constraint #%d: empty constraint (unsupported constraint type?)", number)}
}
