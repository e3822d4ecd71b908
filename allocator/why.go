package allocator

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/explain"
	"github.com/dray-dev/dray/allocator/internal/request"
)

// Verdict is an explanation in short: Reason is what Explanation.Reason says, and
// Cause that of Explanation.First.
type Verdict = explain.Verdict

// Why is Explain in short, for claims that Allocate found no devices for on the
// node, without an error. It says the same, and is meant to be asked about each of
// many nodes: where a request cannot be met by itself it does not search, and
// otherwise it searches once for all nodes that pose the same problem to this
// allocator.
//
// Without ok there is no verdict: nodes have posed more than 64 problems for which
// requests compete. Errors are those of Explain.
func (a *Allocator) Why(ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim) (verdict Verdict, ok bool, err error) {
	defer recoverTo(&err)
	if node == nil {
		return Verdict{}, false, &InputError{Err: errors.New("explain claims: node is nil")}
	}
	compiled, err := request.Compile(a.features, a.lister, claims)
	if err != nil {
		return Verdict{}, false, err
	}
	view, err := a.snapshot.Node(node, a.variant())
	if err != nil {
		return Verdict{}, false, selectionError(err)
	}
	verdict, ok, err = explain.Judge(ctx, explain.Question{
		Claims:   compiled,
		Target:   a.target(node, view),
		Remnants: a.snapshot.Remnants(),
		Steps:    a.explanationSteps,
	}, &a.verdicts)
	if err != nil {
		return Verdict{}, false, contextError(ctx, err)
	}
	return verdict, ok, nil
}
