package explain

// Cause is what kind of thing keeps a request from being met.
type Cause string

// The causes. Each says which fields of a Binding come with it, besides Wanted
// and Left.
const (
	// NoPools: nothing is published for the node.
	NoPools Cause = "noPools"
	// BadPool: the pool that has the devices, or may have them, is not usable. Pool, Devices.
	BadPool Cause = "pool"
	// Unsupported: the cluster lacks a feature that devices need. Feature.
	Unsupported Cause = "feature"
	// NoClass: the device class does not exist. Class.
	NoClass Cause = "noClass"
	// ClassMismatch: the class's selectors do not match. Selector.
	ClassMismatch Cause = "class"
	// SelectorMismatch: the request's selectors do not match. Selector.
	SelectorMismatch Cause = "selector"
	// WrongNode: the devices are for other nodes, or the node cannot use them.
	WrongNode Cause = "node"
	// Tainted: the devices have taints that are not tolerated. Taints.
	Tainted Cause = "taint"
	// InUse: other claims have the devices. Devices.
	InUse Cause = "inUse"
	// CapacityShort: too little capacity is left, or it is not there at all. Capacity.
	CapacityShort Cause = "capacity"
	// CountersShort: the pool's counters do not suffice. Counters.
	CountersShort Cause = "counters"
	// Incompatible: compatibility groups keep devices apart. Groups.
	Incompatible Cause = "groups"
	// Constrained: a constraint of the claim keeps devices apart. Constraint.
	Constrained Cause = "constraint"
	// TooManyResults: one claim cannot hold so many devices. Limit.
	TooManyResults Cause = "resultLimit"
	// MemberMissing: the request is for all devices, and one cannot be had. Member.
	MemberMissing Cause = "member"
	// Competing: each request could be met, but not all of them together. Requests.
	Competing Cause = "combination"
	// Undecided: the searches ended before a cause was found.
	Undecided Cause = "undecided"
	// Faulted: allocation ends with an error; Explanation.Error has it. Selector,
	// where it is one that fails.
	Faulted Cause = "error"
)

// Binding is the cause that keeps a request from being met, with its particulars.
// Which fields are set follows from Cause.
type Binding struct {
	Cause Cause `json:"cause"`
	// Stage is where the devices run out; empty where it is no single stage.
	Stage Stage `json:"stage,omitempty"`
	// Wanted is the number of devices that are asked for, Left how many there
	// are after Stage.
	Wanted int `json:"wanted,omitempty"`
	Left   int `json:"left"`
	// Together: the devices would do one by one, but not together with those
	// of the same claims.
	Together bool `json:"together,omitempty"`
	// With are causes that stand in the way beside this one: with only this one
	// gone, the request would still not be met. Another constraint counts, too.
	With []Cause `json:"with,omitempty"`
	// Requests are those that take part, as claim/request without the namespace,
	// where it is more than one. The last one is the one that cannot be met.
	// MoreRequests take part, too, and are not listed.
	Requests     []string `json:"requests,omitempty"`
	MoreRequests int      `json:"moreRequests,omitempty"`

	// Devices is the number of devices that are kept away by the cause.
	Devices    int                 `json:"devices,omitempty"`
	Pool       *PoolTrouble        `json:"pool,omitempty"`
	Feature    string              `json:"feature,omitempty"`
	Class      string              `json:"class,omitempty"`
	Selector   *SelectorRef        `json:"selector,omitempty"`
	Taints     []TaintCount        `json:"taints,omitempty"`
	Capacity   *CapacityShortage   `json:"capacity,omitempty"`
	Counters   []CounterShortage   `json:"counters,omitempty"`
	Groups     *GroupConflict      `json:"groups,omitempty"`
	Constraint *ConstraintShortage `json:"constraint,omitempty"`
	Limit      int                 `json:"limit,omitempty"`
	Member     *NearestMiss        `json:"member,omitempty"`

	// MoreTaints and MoreCounters are the numbers of those that are not listed.
	MoreTaints   int `json:"moreTaints,omitempty"`
	MoreCounters int `json:"moreCounters,omitempty"`
}

// SelectorRef is the selector after which too few devices are left.
type SelectorRef struct {
	// OfClass: the selector is the class's. Index is its place in that list.
	OfClass    bool   `json:"ofClass,omitempty"`
	Index      int    `json:"index"`
	Expression string `json:"expression"`
}

// TaintCount is a taint and how many devices it is the first to keep away.
type TaintCount struct {
	// Taint is key=value:effect, or key:effect without a value.
	Taint   string `json:"taint"`
	Devices int    `json:"devices"`
}

// CapacityShortage is the capacity that keeps most devices away.
type CapacityShortage struct {
	Name string `json:"name"`
	// Asked is the least that is taken of any of the devices.
	Asked string `json:"asked"`
	// Unasked: the claim does not ask for it, so the driver's default is taken.
	Unasked bool `json:"unasked,omitempty"`
	// LargestLeft is the most that is left on any device; empty with the next two.
	LargestLeft string `json:"largestLeft,omitempty"`
	// Missing: the devices have no capacity of that name.
	Missing bool `json:"missing,omitempty"`
	// Refused: the driver's policy does not allow such an amount.
	Refused bool `json:"refused,omitempty"`
}

// CounterShortage is a counter that does not suffice.
type CounterShortage struct {
	// Pool is driver/pool.
	Pool       string `json:"pool"`
	CounterSet string `json:"counterSet"`
	Counter    string `json:"counter"`
	// Needed is the least that one of the devices draws.
	Needed string `json:"needed,omitempty"`
	// Left is what other claims leave.
	Left string `json:"left"`
	// Devices is the number of devices that the counter keeps away.
	Devices int `json:"devices,omitempty"`
}

// GroupConflict is a counter set whose devices have no group in common.
type GroupConflict struct {
	// Pool is driver/pool.
	Pool       string `json:"pool"`
	CounterSet string `json:"counterSet"`
	// Groups are those that the devices in question name; empty for none.
	Groups []string `json:"groups,omitempty"`
	// MoreGroups is the number of those that are not listed.
	MoreGroups int `json:"moreGroups,omitempty"`
}

// ConstraintShortage is a constraint that the devices do not satisfy.
type ConstraintShortage struct {
	// Index is its place in the claim's constraints.
	Index     int    `json:"index"`
	Attribute string `json:"attribute"`
	// Distinct: values must differ; otherwise they must be equal.
	Distinct bool `json:"distinct,omitempty"`
	// Lacking is the number of devices without a value of the attribute.
	Lacking int `json:"lacking,omitempty"`
	// Largest is the largest number of devices with a value in common; for a
	// distinct constraint the number of different values.
	Largest int `json:"largest"`
	// Several: requests have to agree on a value, and cannot, although each has
	// devices enough for itself; Largest is then the best of them.
	Several bool `json:"several,omitempty"`
}

// maxListed bounds the lists of an explanation. Each says how many are left out.
const maxListed = 8
