package allocatortest

import (
	"fmt"
	"math/bits"
)

// Feature is something an allocator must get right. A scenario is planned
// around a few of them, and a run reports for each how often it was used.
type Feature int

// The features. Those from SelectorError on end most allocations early, so
// they are planned rarely.
const (
	ExactCount Feature = iota
	AllMode
	FirstAvailable
	MatchAttribute
	DistinctAttribute
	ListMatch
	ListDistinct
	ConstraintOnRequest
	ConstraintOnParent
	ConstraintOnSubrequest
	AdminAccess
	Counters
	SeveralCounterSets
	FractionalCounters
	OvercommittedCounters
	CompatibilityGroups
	CapacityRequest
	PolicyDefault
	PolicyValues
	PolicyRange
	FractionalRange
	MultipleAllocations
	LiveShares
	BlockingTaints
	NoneTaints
	Tolerations
	BindingConditions
	BindsToNode
	DerivedAttributes
	DerivedOverride
	SkipNodeOperations
	PerDeviceNodeSelection
	NodeSelectorPool
	AllNodesPool
	SpreadPool
	SeveralDrivers
	Generations
	ClassConfig
	ClaimConfig
	SeveralClaims
	NearFull
	Selectors
	IncompletePool
	InvalidPool
	ResultLimit
	SelectorError
	DerivedError
	CapacityError
	CompileError
	BadVersion
	BadNodeSelector
	UnknownClass
	UnknownType
	FeatureOff
	numFeatures
)

var featureNames = [numFeatures]string{
	"exact count", "all", "first available",
	"match attribute", "distinct attribute", "match lists", "distinct lists",
	"constraint on request", "constraint on parent", "constraint on subrequest",
	"admin access",
	"counters", "several counter sets", "fractional counters", "over-committed counters", "compatibility groups",
	"capacity request", "policy default", "policy values", "policy range", "fractional range",
	"multiple allocations", "live shares",
	"blocking taints", "none taints", "tolerations",
	"binding conditions", "binds to node",
	"derived attributes", "derived override",
	"skip node operations",
	"per-device node selection", "node selector pool", "all nodes pool", "spread pool", "several drivers",
	"generations", "class config", "claim config", "several claims", "near-full cluster", "request selectors",
	"incomplete pool", "invalid pool", "result limit",
	"selector error", "derived error", "capacity error", "compile error", "bad version", "bad node selector",
	"unknown class", "unknown type", "feature off",
}

func (f Feature) String() string {
	if f < 0 || f >= numFeatures {
		return fmt.Sprintf("Feature(%d)", int(f))
	}
	return featureNames[f]
}

// EndsEarly is true for features whose use usually is an error.
func (f Feature) EndsEarly() bool { return f >= SelectorError }

// AllFeatures lists every feature in the order of the constants.
func AllFeatures() []Feature {
	all := make([]Feature, numFeatures)
	for i := range all {
		all[i] = Feature(i)
	}
	return all
}

// FeatureSet is a set of features; the zero value is empty.
type FeatureSet uint64

// SetOf returns the set of the given features.
func SetOf(features ...Feature) FeatureSet {
	var set FeatureSet
	for _, f := range features {
		set.Add(f)
	}
	return set
}

func (s *FeatureSet) Add(f Feature)    { *s |= 1 << f }
func (s *FeatureSet) Remove(f Feature) { *s &^= 1 << f }

func (s FeatureSet) Has(f Feature) bool { return s&(1<<f) != 0 }
func (s FeatureSet) Len() int           { return bits.OnesCount64(uint64(s)) }

// Each returns the members in the order of the constants.
func (s FeatureSet) Each() []Feature {
	members := make([]Feature, 0, s.Len())
	for rest := uint64(s); rest != 0; rest &= rest - 1 {
		members = append(members, Feature(bits.TrailingZeros64(rest)))
	}
	return members
}
