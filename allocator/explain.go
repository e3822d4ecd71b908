package allocator

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/explain"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/result"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// What an explanation is made of. Their documentation says what each field
// means; all have JSON names that stay as they are. docs/explain.md reads one.
type (
	// Explanation says whether claims fit on a node and, if not, why. Reason
	// gives the sentence for a node's status, Text a page for a terminal.
	Explanation = explain.Explanation
	// ClusterExplanation has nodes grouped by the reason.
	ClusterExplanation = explain.ClusterExplanation
	// ReasonGroup is the nodes with one reason.
	ReasonGroup = explain.ReasonGroup
	// PoolTrouble is a pool whose devices cannot be used.
	PoolTrouble = explain.PoolTrouble
	// ClaimFunnel follows the requests of a claim from stage to stage.
	ClaimFunnel = explain.ClaimFunnel
	// RequestFunnel follows one request.
	RequestFunnel = explain.RequestFunnel
	// Funnel follows one alternative of a request.
	Funnel = explain.Funnel
	// StageCount is the number of devices left after a stage.
	StageCount = explain.StageCount
	// Shortage is a request that cannot be met, and why.
	Shortage = explain.Shortage
	// Binding is the cause, with its particulars.
	Binding = explain.Binding
	// NearestMiss is the device that came closest.
	NearestMiss = explain.NearestMiss
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
	return a.explain(ctx, node, compiled, a.snapshot.Remnants())
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
	remnants := a.snapshot.Remnants()
	c = &ClusterExplanation{Groups: []ReasonGroup{}}
	for _, node := range sorted {
		e, err := a.explain(ctx, node, compiled, remnants)
		if err != nil {
			return nil, err
		}
		c.Add(e)
	}
	c.Sort()
	return c, nil
}

func (a *Allocator) explain(ctx context.Context, node *corev1.Node, claims *request.Claims, remnants inventory.Remnants) (*Explanation, error) {
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
		Remnants: remnants,
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
