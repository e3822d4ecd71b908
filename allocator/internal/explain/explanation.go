package explain

// Explanation says whether claims fit on a node and, if not, why. It is a plain
// value: it holds no reference to what it was made from. The JSON names are
// stable.
type Explanation struct {
	Node string `json:"node"`
	// Fits: Allocate returns results.
	Fits bool `json:"fits"`
	// Error is the text of the error that Allocate returns; empty for none.
	Error string `json:"error,omitempty"`
	// Pools are those of which the node could reach devices, were they in order.
	Pools []PoolTrouble `json:"pools,omitempty"`
	// Claims are in the order in which they were asked about.
	Claims []ClaimFunnel `json:"claims,omitempty"`
	// First is the first request that cannot be met; nil if all fit.
	First *Shortage `json:"first,omitempty"`
	// NearestMiss is the device that came closest to serving First; nil where
	// no device was turned away.
	NearestMiss *NearestMiss `json:"nearestMiss,omitempty"`
}

// PoolTrouble is a pool whose devices, as published, cannot be used.
type PoolTrouble struct {
	// Pool is driver/pool.
	Pool  string    `json:"pool"`
	State PoolState `json:"state"`
	// Reason is a sentence that names the slices, generations or counts.
	Reason string `json:"reason"`
	// Devices is the number of devices published for the node all the same.
	Devices int `json:"devices"`
}

// PoolState says what is wrong with a pool.
type PoolState string

const (
	// PoolIncomplete: slices are missing; the driver is publishing, or gone.
	PoolIncomplete PoolState = "incomplete"
	// PoolInvalid: the slices contradict each other.
	PoolInvalid PoolState = "invalid"
	// PoolObsolete: the slices on the node are of an older generation.
	PoolObsolete PoolState = "obsolete"
)

// ClaimFunnel follows the requests of one claim.
type ClaimFunnel struct {
	// Claim is namespace/name.
	Claim    string          `json:"claim"`
	Requests []RequestFunnel `json:"requests"`
}

// RequestFunnel follows one request.
type RequestFunnel struct {
	Request string `json:"request"`
	// Alternatives are those of firstAvailable in their order, or the request itself.
	Alternatives []Funnel `json:"alternatives"`
}

// Funnel follows one alternative of a request through the stages, alone, in the
// state before any device is taken for the claims.
type Funnel struct {
	// Name is request, or request/subrequest.
	Name  string `json:"name"`
	Class string `json:"class,omitempty"`
	// All: every device that matches is wanted. Wanted is their number then, and
	// from the node stage on only they are counted.
	All    bool `json:"all,omitempty"`
	Wanted int  `json:"wanted"`
	// Admin: devices in use are fine.
	Admin bool `json:"admin,omitempty"`
	// Stages are in order. Left never rises. The list ends early where an
	// error in a claim or class keeps later stages from being looked at.
	Stages []StageCount `json:"stages,omitempty"`
	// Binding is why the alternative cannot be met even alone; nil if it can.
	Binding *Binding `json:"binding,omitempty"`
}

// StageCount is the number of devices that passed a stage and all before it.
type StageCount struct {
	Stage Stage `json:"stage"`
	// Left counts devices. After the constraint stage it is an upper bound for
	// those that can be taken together: each constraint by itself allows as many.
	Left int `json:"left"`
	// Faults counts the devices that left here because nobody can say whether
	// they pass: an expression fails on them, or a quantity cannot be computed.
	Faults int `json:"faults,omitempty"`
}

// Stage is one check on the way from the pools to an allocation.
type Stage string

// The stages in their order.
const (
	StagePools      Stage = "inPools"
	StageSupported  Stage = "supported"
	StageClass      Stage = "class"
	StageSelectors  Stage = "selectors"
	StageNode       Stage = "node"
	StageUntainted  Stage = "untainted"
	StageFree       Stage = "free"
	StageCapacity   Stage = "capacity"
	StageCounters   Stage = "counters"
	StageCompatible Stage = "compatible"
	StageConstraint Stage = "constraint"
)

var stageOrder = []Stage{StagePools, StageSupported, StageClass, StageSelectors, StageNode, StageUntainted,
	StageFree, StageCapacity, StageCounters, StageCompatible, StageConstraint}

// Shortage is a request that cannot be met, and why.
type Shortage struct {
	// Claim is namespace/name.
	Claim string `json:"claim"`
	// Request is request, or request/subrequest where one alternative came
	// furthest; empty where it is not about one request.
	Request string  `json:"request,omitempty"`
	Binding Binding `json:"binding"`
}

// NearestMiss is a device that was turned away.
type NearestMiss struct {
	// Device is driver/pool/device.
	Device string `json:"device"`
	// Stage is where it was turned away.
	Stage Stage `json:"stage"`
	// Why is a sentence without subject: "in use", "tainted with k=v:NoSchedule".
	Why string `json:"why"`
}
