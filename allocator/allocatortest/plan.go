package allocatortest

import (
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/allocator"
)

// plan is what a scenario shall be about. Drawing follows it where it can.
type plan struct {
	features allocator.Features
	want     FeatureSet
	deep     bool // few features and many devices, for a long search
}

func (p *plan) wants(f Feature) bool { return p.want.Has(f) }

func (p *plan) wantsAny(features ...Feature) bool { return p.want&SetOf(features...) != 0 }

// The odds with which features are planned, in percent: with the ordinary ones
// a pair of features is planned in one scenario out of fifty.
const (
	ordinaryOdds = 14
	brokenOdds   = 7
	errorOdds    = 3
	deepOdds     = 25
)

// oddsOf lists the features whose odds differ: lower for those that others
// imply or that spoil most answers, higher for those that often come to
// nothing.
var oddsOf = map[Feature]int{
	ExactCount:             100,
	AllMode:                18,
	FirstAvailable:         8,
	MatchAttribute:         4,
	DistinctAttribute:      6,
	ListMatch:              16,
	ListDistinct:           16,
	ConstraintOnRequest:    9,
	ConstraintOnParent:     9,
	ConstraintOnSubrequest: 11,
	Counters:               4,
	SeveralCounterSets:     13,
	FractionalCounters:     9,
	OvercommittedCounters:  13,
	CapacityRequest:        3,
	PolicyDefault:          5,
	PolicyValues:           8,
	PolicyRange:            5,
	FractionalRange:        12,
	MultipleAllocations:    8,
	DerivedAttributes:      6,
	DerivedOverride:        12,
	SkipNodeOperations:     18,
	SeveralDrivers:         18,
	IncompletePool:         brokenOdds,
	InvalidPool:            brokenOdds,
	ResultLimit:            10,
	SelectorError:          4,
	DerivedError:           5,
	CapacityError:          4,
	CompileError:           3,
	BadVersion:             5,
	BadNodeSelector:        2,
	UnknownClass:           4,
	UnknownType:            3,
	FeatureOff:             4,
}

// implied says what else is needed before a feature can come about. A line
// stands before those of the feature that it needs, so that one pass suffices.
var implied = []struct{ feature, needs Feature }{
	{DerivedError, DerivedAttributes},
	{CapacityError, CapacityRequest},
	{DerivedOverride, DerivedAttributes},
	{DerivedAttributes, MatchAttribute},
	{ConstraintOnSubrequest, FirstAvailable},
	{ConstraintOnParent, FirstAvailable},
	{ListMatch, MatchAttribute},
	{ListDistinct, DistinctAttribute},
	{OvercommittedCounters, Counters},
	{SeveralCounterSets, Counters},
	{FractionalCounters, Counters},
	{CompatibilityGroups, Counters},
	{LiveShares, MultipleAllocations},
	{FractionalRange, PolicyRange},
	{PolicyDefault, CapacityRequest},
	{PolicyValues, CapacityRequest},
	{PolicyRange, CapacityRequest},
}

func drawPlan(t *rapid.T, features FeatureSet) *plan {
	p := &plan{features: drawSwitches(t), deep: chance(t, deepOdds)}
	for f := range numFeatures {
		odds, special := oddsOf[f]
		switch {
		case special:
		case f.EndsEarly():
			odds = errorOdds
		default:
			odds = ordinaryOdds
		}
		if p.deep && f != ExactCount {
			odds /= 3
		}
		if chance(t, odds) {
			p.want.Add(f)
		}
	}
	if p.deep {
		p.want.Add(pick(t, []Feature{MatchAttribute, DistinctAttribute, Counters, FirstAvailable, SeveralClaims}))
	}
	p.want |= features
	for _, i := range implied {
		if p.wants(i.feature) {
			p.want.Add(i.needs)
		}
	}
	if p.wantsAny(ConstraintOnRequest, ConstraintOnParent, ConstraintOnSubrequest) && !p.wantsAny(MatchAttribute, DistinctAttribute) {
		p.want.Add(pick(t, []Feature{MatchAttribute, DistinctAttribute}))
	}
	if p.wants(CompatibilityGroups) && chance(t, 30) {
		p.want.Add(SpreadPool) // groups of devices on other nodes count
	}
	p.reconcile(t)
	return p
}

// drawSwitches favours the two sets that clusters run: everything on, and what
// the incubating allocator of a stock cluster supports.
func drawSwitches(t *rapid.T) allocator.Features {
	all := allocator.Features{
		AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true,
		DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true, ListTypeAttributes: true,
		OptionalNodeOperations: true, PartitionableDevices: true, PrioritizedList: true,
	}
	switch below(t, 20) {
	default:
		return all
	case 11, 12, 13, 14, 15, 16, 17:
		all.CompatibilityGroups, all.DerivedAttributes = false, false
		all.ListTypeAttributes, all.OptionalNodeOperations = false, false
		all.FractionalCapacityRange = chance(t, 50)
		return all
	case 18, 19:
		for _, s := range switches(&all) {
			*s = chance(t, 75)
		}
		return all
	}
}

func switches(f *allocator.Features) []*bool {
	return []*bool{
		&f.AdminAccess, &f.CompatibilityGroups, &f.ConsumableCapacity, &f.DerivedAttributes,
		&f.DeviceBindingAndStatus, &f.DeviceTaints, &f.FractionalCapacityRange, &f.ListTypeAttributes,
		&f.OptionalNodeOperations, &f.PartitionableDevices, &f.PrioritizedList,
	}
}

// gate returns the switch that a planned feature hangs on, or nil.
func gate(f *allocator.Features, feature Feature) *bool {
	switch feature {
	case FirstAvailable, ConstraintOnParent, ConstraintOnSubrequest:
		return &f.PrioritizedList
	case AdminAccess:
		return &f.AdminAccess
	case Counters, SeveralCounterSets, FractionalCounters, OvercommittedCounters, PerDeviceNodeSelection:
		return &f.PartitionableDevices
	case CompatibilityGroups:
		return &f.CompatibilityGroups
	case CapacityRequest, PolicyDefault, PolicyValues, PolicyRange, MultipleAllocations, LiveShares, CapacityError:
		return &f.ConsumableCapacity
	case FractionalRange:
		return &f.FractionalCapacityRange
	case BlockingTaints, NoneTaints:
		return &f.DeviceTaints
	case BindingConditions:
		return &f.DeviceBindingAndStatus
	case DerivedAttributes, DerivedOverride, DerivedError:
		return &f.DerivedAttributes
	case ListMatch, ListDistinct:
		return &f.ListTypeAttributes
	case SkipNodeOperations:
		return &f.OptionalNodeOperations
	}
	return nil
}

// reconcile drops plans that hang on a switch which is off, because most of
// them would end in an error, unless that is the plan.
func (p *plan) reconcile(t *rapid.T) {
	if p.wants(FeatureOff) {
		var gated []Feature
		for _, f := range p.want.Each() {
			if gate(&p.features, f) != nil {
				gated = append(gated, f)
			}
		}
		if len(gated) > 0 {
			*gate(&p.features, pick(t, gated)) = false
		}
		return
	}
	for _, f := range p.want.Each() {
		if g := gate(&p.features, f); g != nil && !*g {
			p.want.Remove(f)
		}
	}
}
