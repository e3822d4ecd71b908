package allocator

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/explain"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/result"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// What an explanation is made of, from the outside to the inside. All of it is plain
// values whose JSON names stay as they are; docs/explain.md reads one.
type (
	// Explanation says whether claims fit on a Node and, if not, why. Fits and Error
	// say what Allocate answers; Pools are those that cannot be used ([PoolTrouble]);
	// Claims follow each request ([ClaimFunnel]); First is the first request that
	// cannot be met ([Shortage]); NearestMiss is the device that came closest to
	// serving it ([NearestMiss]). Its methods are Reason, the sentence for a node's
	// status, and Text, a page for a terminal.
	Explanation = explain.Explanation
	// ClusterExplanation has as many Nodes in Groups ([ReasonGroup]) by the reason.
	// Its methods are Fits, whether the claims fit on some node, and Text.
	ClusterExplanation = explain.ClusterExplanation
	// ReasonGroup is the nodes with one Reason: Nodes is their number, Examples the
	// names of the first of them, Explanation that of the first example.
	ReasonGroup = explain.ReasonGroup
	// PoolTrouble is a pool whose devices cannot be used: Pool is driver/pool, State
	// what is wrong ([PoolState]), Reason a sentence that names the slices or counts,
	// Devices the number that is published for the node all the same.
	PoolTrouble = explain.PoolTrouble
	// PoolState is [PoolIncomplete], [PoolInvalid] or [PoolObsolete].
	PoolState = explain.PoolState
	// ClaimFunnel follows the Requests of a Claim ([RequestFunnel]).
	ClaimFunnel = explain.ClaimFunnel
	// RequestFunnel follows one Request: Alternatives ([Funnel]) are those of
	// firstAvailable in their order, or the request itself.
	RequestFunnel = explain.RequestFunnel
	// Funnel follows one alternative, alone, before anything is taken for the claims.
	// Name is request or request/subrequest; Class, All, Wanted and Admin say what is
	// asked for; Stages has the devices left ([StageCount]); Binding is why it cannot
	// be met even alone, nil if it can ([Binding]).
	Funnel = explain.Funnel
	// StageCount is the number of devices Left after a Stage ([Stage]), and of those
	// that left there by Faults: nobody can say whether they pass.
	StageCount = explain.StageCount
	// Stage is one check on the way from the pools to an allocation: a Stage constant.
	Stage = explain.Stage
	// Shortage is a Request of a Claim that cannot be met, and its Binding ([Binding]).
	Shortage = explain.Shortage
	// Binding is the Cause ([Cause]) that keeps a request from being met. Stage,
	// Wanted and Left say where devices run out; Together, With and Requests what else
	// takes part; Devices how many are kept away. The rest is by cause: Pool, Feature,
	// Class, Selector, Taints, Capacity, Counters, Groups, Constraint, Limit, Member.
	// MoreRequests, MoreTaints and MoreCounters count those that are not listed.
	Binding = explain.Binding
	// Cause is what kind of thing keeps a request from being met: a Cause constant.
	Cause = explain.Cause
	// SelectorRef is a selector: OfClass says whose, Index its place there, Expression
	// what it says.
	SelectorRef = explain.SelectorRef
	// TaintCount is a Taint, key=value:effect, and the number of Devices that it is
	// the first to keep away.
	TaintCount = explain.TaintCount
	// CapacityShortage is the capacity Name that keeps most devices away: Asked is the
	// least that is taken, Unasked that the driver's default is, LargestLeft the most
	// that is left, Missing that there is none, Refused that the policy forbids it.
	CapacityShortage = explain.CapacityShortage
	// CounterShortage is a Counter of a CounterSet of a Pool that does not suffice:
	// Needed is the least that is drawn, Left what others leave, Devices how many the
	// counter keeps away.
	CounterShortage = explain.CounterShortage
	// GroupConflict is a CounterSet of a Pool whose devices have no compatibility
	// group in common. Groups are those in question, MoreGroups counts the others.
	GroupConflict = explain.GroupConflict
	// ConstraintShortage is the constraint with that Index in its claim, on Attribute:
	// Distinct says which kind, Lacking counts devices without a value, Largest those
	// with one in common or the different values, Several says that it takes requests
	// together to fail.
	ConstraintShortage = explain.ConstraintShortage
	// NearestMiss is a Device, driver/pool/device, the Stage that turned it away, and
	// Why in words.
	NearestMiss = explain.NearestMiss
)

// The states of a pool that cannot be used.
const (
	PoolIncomplete = explain.PoolIncomplete // slices are missing
	PoolInvalid    = explain.PoolInvalid    // slices contradict each other
	PoolObsolete   = explain.PoolObsolete   // the node's slices are of an older generation
)

// The stages in their order. A device that is counted after one has passed it and
// all before it.
const (
	StagePools      = explain.StagePools      // is published for the node, in a pool that can be used
	StageSupported  = explain.StageSupported  // needs no feature that is off
	StageClass      = explain.StageClass      // matches the class
	StageSelectors  = explain.StageSelectors  // matches the selectors
	StageNode       = explain.StageNode       // is for the node
	StageUntainted  = explain.StageUntainted  // has no taint that is not tolerated
	StageFree       = explain.StageFree       // is not in use
	StageCapacity   = explain.StageCapacity   // has enough capacity left
	StageCounters   = explain.StageCounters   // its counters suffice
	StageCompatible = explain.StageCompatible // is compatible with what is on its counter sets
	StageConstraint = explain.StageConstraint // can be taken under each constraint
)

// The causes, each with the fields of a Binding that come with it.
const (
	CauseNoPools     = explain.NoPools          // nothing is published for the node
	CausePool        = explain.BadPool          // the pool cannot be used: Pool, Devices
	CauseFeature     = explain.Unsupported      // a feature is off: Feature
	CauseNoClass     = explain.NoClass          // the class does not exist: Class
	CauseClass       = explain.ClassMismatch    // the class's selectors do not match: Selector
	CauseSelector    = explain.SelectorMismatch // the request's selectors do not match: Selector
	CauseNode        = explain.WrongNode        // the devices are not for the node
	CauseTaint       = explain.Tainted          // taints are not tolerated: Taints
	CauseInUse       = explain.InUse            // other claims have the devices: Devices
	CauseCapacity    = explain.CapacityShort    // too little capacity: Capacity
	CauseCounters    = explain.CountersShort    // counters do not suffice: Counters
	CauseGroups      = explain.Incompatible     // compatibility groups keep devices apart: Groups
	CauseConstraint  = explain.Constrained      // a constraint keeps devices apart: Constraint
	CauseResultLimit = explain.TooManyResults   // a claim cannot hold so many devices: Limit
	CauseMember      = explain.MemberMissing    // all are wanted and one cannot be had: Member
	CauseCombination = explain.Competing        // not all requests together: Requests
	CauseUndecided   = explain.Undecided        // the searches ended too early to tell
	CauseError       = explain.Faulted          // allocation ends with an error: Explanation.Error
)

// defaultExplanationSteps bounds one search of an explanation. A step takes from
// a microsecond to some tens, by the number of devices and constraints.
const defaultExplanationSteps = 1 << 14

// WithExplanationSteps sets how many nodes of its tree one search of an
// explanation may enter; the first search and all others of one explanation
// together may enter 17 times as many. Allocate is not affected. The default is
// 16,384; less than one is one.
func WithExplanationSteps(steps int64) Option {
	return func(inv *Inventory) { inv.explanationSteps = max(steps, 1) }
}

// Explain says why the claims do not fit on the node, in the state that the
// allocator was made with. It is meant for after Allocate found nothing; it costs
// several times as much, within bounds, and nothing while it is not called.
//
// Where Allocate returns an error, the explanation has its text. The error of
// Explain itself is about the call: a node or claim that is nil (*InputError),
// or the end of the context (it matches ErrGaveUp).
//
// The explanation speaks of devices and of counts of devices in use. It names no
// claim but those that were passed.
func (a *Allocator) Explain(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (e *Explanation, err error) {
	defer recoverTo(&err)
	if node == nil {
		return nil, &InputError{Err: errors.New("explain claims: node is nil")}
	}
	compiled, err := request.Compile(a.features, a.lister, claims)
	if err != nil {
		return nil, err
	}
	return a.explain(ctx, node, compiled)
}

// ExplainCluster explains each of the nodes and groups them by Reason: the most
// frequent first. Every group has the explanation of its first node by name.
// Errors are those of Explain.
func (a *Allocator) ExplainCluster(ctx context.Context, nodes []*corev1.Node, claims []*resourceapi.ResourceClaim) (c *ClusterExplanation, err error) {
	defer recoverTo(&err)
	if slices.Contains(nodes, nil) {
		return nil, &InputError{Err: errors.New("explain claims: a node is nil")}
	}
	compiled, err := request.Compile(a.features, a.lister, claims)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(x, y *corev1.Node) int { return cmp.Compare(x.Name, y.Name) })
	c = &ClusterExplanation{Groups: []ReasonGroup{}}
	for _, node := range sorted {
		e, err := a.explain(ctx, node, compiled)
		if err != nil {
			return nil, err
		}
		c.Add(e)
	}
	c.Sort()
	return c, nil
}

func (a *Allocator) explain(ctx context.Context, node *corev1.Node, claims *request.Claims) (*Explanation, error) {
	if ctx.Err() != nil {
		return nil, gaveUp(context.Cause(ctx))
	}
	view, err := a.snapshot.Node(node, a.variant())
	if err != nil {
		return &Explanation{Node: node.Name, Error: selectionError(err).Error(), First: &Shortage{Binding: Binding{Cause: explain.Faulted}}}, nil
	}
	e, err := explain.Explain(ctx, explain.Question{
		Claims:   claims,
		Target:   a.target(node, view),
		Remnants: a.snapshot.Remnants(),
		Steps:    a.explanationSteps,
		Write: func(b *request.Bound, solution *search.Solution) error {
			_, err := result.Write(b, solution, a.shareID)
			return err
		},
	})
	if err != nil {
		return nil, contextError(ctx, err)
	}
	return e, nil
}
