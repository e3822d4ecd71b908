package scheduling

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// cycle is one attempt to place a pod.
type cycle struct {
	w     *world
	pod   *corev1.Pod
	state *framework.CycleState
	// statuses of the nodes that were asked, by their index; reached says which were
	// asked before the context ended.
	statuses []*fwk.Status
	reached  []bool
}

// newCycle begins one. The scheduler records metrics of one cycle in ten; none of
// these is recorded.
func (w *world) newCycle(pod *corev1.Pod) *cycle {
	return &cycle{w: w, pod: pod, state: framework.NewCycleState()}
}

// preFilter says whether nodes are to be asked. A refusal is every node's.
func (c *cycle) preFilter(ctx context.Context) (ask bool, err error) {
	_, status, _ := c.w.framework.RunPreFilterPlugins(ctx, c.state, c.pod)
	if status.IsRejected() {
		return false, nil
	}
	return status.IsSuccess(), status.AsError()
}

// filter asks nodes in parallel, those from first on before those ahead of it,
// until enough have been found to do. It collects what they say as the scheduler
// does.
func (c *cycle) filter(ctx context.Context, nodes []fwk.NodeInfo, first, enough int) error {
	c.statuses, c.reached = make([]*fwk.Status, len(nodes)), make([]bool, len(nodes))
	stoppable, stop := context.WithCancel(ctx)
	defer stop()
	var found atomic.Int64
	var failed atomic.Pointer[fwk.Status]
	c.w.framework.Parallelizer().Until(stoppable, len(nodes), func(i int) {
		i = (first + i) % len(nodes)
		status := c.w.framework.RunFilterPlugins(stoppable, c.state, c.pod, nodes[i])
		if stoppable.Err() != nil {
			return
		}
		if !status.IsSuccess() && !status.IsRejected() {
			failed.Store(status)
			stop()
			return
		}
		if status.IsSuccess() && found.Add(1) > int64(enough) {
			stop()
			return
		}
		c.statuses[i], c.reached[i] = status, true
	}, metrics.Filter)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if status := failed.Load(); status != nil {
		return status.AsError()
	}
	return nil
}

// score runs what the scheduler runs to rank the nodes that would do.
func (c *cycle) score(ctx context.Context, nodes []fwk.NodeInfo) error {
	var feasible []fwk.NodeInfo
	for i, node := range nodes {
		if c.fits(i) {
			feasible = append(feasible, node)
		}
	}
	if status := c.w.framework.RunPreScorePlugins(ctx, c.state, c.pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	_, status := c.w.framework.RunScorePlugins(ctx, c.state, c.pod, feasible)
	return status.AsError()
}

// fits says whether the node with that index was asked and would do.
func (c *cycle) fits(node int) bool { return c.reached[node] && c.statuses[node].IsSuccess() }

// firstFit is the first node that would do, from first on.
func (c *cycle) firstFit(first int) (node int, ok bool) {
	for i := range c.statuses {
		if node = (first + i) % len(c.statuses); c.fits(node) {
			return node, true
		}
	}
	return 0, false
}

func (c *cycle) reserve(ctx context.Context, node string) error {
	return c.w.framework.RunReservePluginsReserve(ctx, c.state, c.pod, node).AsError()
}

func (c *cycle) unreserve(ctx context.Context, node string) {
	c.w.framework.RunReservePluginsUnreserve(ctx, c.state, c.pod, node)
}

func (c *cycle) bind(ctx context.Context, node string) error {
	if err := c.w.framework.RunPreBindPreFlights(ctx, c.state, c.pod, node).AsError(); err != nil {
		return err
	}
	return c.w.framework.RunPreBindPlugins(ctx, c.state, c.pod, node).AsError()
}

// inFlight is what the pod's claim would get if it were bound now.
func (c *cycle) inFlight() (*resourceapi.AllocationResult, error) {
	claim, err := c.w.claimOf(c.pod)
	if err != nil {
		return nil, err
	}
	allocation := c.w.manager.ResourceClaims().GetPendingAllocation(claim.UID)
	if allocation == nil {
		return nil, fmt.Errorf("%s: nothing is in flight for claim %s after Reserve", c.w.Name, claim.Name)
	}
	return allocation, nil
}

// claimOf is the pod's claim as the API has it.
func (w *world) claimOf(pod *corev1.Pod) (*resourceapi.ResourceClaim, error) {
	return w.api.get(types.NamespacedName{Namespace: pod.Namespace, Name: *pod.Status.ResourceClaimStatuses[0].ResourceClaimName})
}
