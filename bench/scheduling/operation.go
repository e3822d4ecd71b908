package scheduling

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	resourceapi "k8s.io/api/resource/v1"
)

// place runs Plugin's operation for the k-th pod: PreFilter, Filter, and Reserve
// and Unreserve on one of the nodes that would do, another one for each pod. It
// compares what it sees with what was seen before; that is not measured.
func (w *world) place(ctx context.Context, k int, want *outcome, m *meters) error {
	m.operations++
	c := w.newCycle(w.pods[k])
	ask := false
	err := m.preFilter.measure(func() (err error) {
		ask, err = c.preFilter(ctx)
		return err
	})
	if err != nil || !ask {
		return fmt.Errorf("PreFilter of pod %s: asks for nodes: %v, error: %w", c.pod.Name, ask, err)
	}
	if err := m.filter.measure(func() error { return c.filter(ctx, w.asked, 0, len(w.asked)) }); err != nil {
		return err
	}
	fits := 0
	for i := range w.asked {
		if c.fits(i) {
			fits++
		}
	}
	if fits != len(want.fits) {
		return fmt.Errorf("pod %s would do on %d nodes, and before on %d", c.pod.Name, fits, len(want.fits))
	}
	if fits == 0 {
		return nil
	}
	i := want.fits[k%fits]
	node := w.asked[i].Node().Name
	if err := m.reserve.measure(func() error { return c.reserve(ctx, node) }); err != nil {
		return err
	}
	allocation, err := c.inFlight()
	if err != nil {
		return err
	}
	text, err := textOf(allocation)
	if err != nil {
		return err
	}
	if text != want.answers[i] {
		return fmt.Errorf("pod %s gets %s on node %s, and before %s", c.pod.Name, text, node, want.answers[i])
	}
	return m.reserve.measure(func() error {
		c.unreserve(ctx, node)
		return nil
	})
}

// enough is how many nodes that would do are enough for the scheduler, by default:
// from a hundred nodes on a half of them, less one percent of all for each 125
// nodes, but at least 5 % and a hundred.
func enough(nodes int) int {
	if nodes < 100 {
		return nodes
	}
	return max(100, nodes*max(5, 50-nodes/125)/100)
}

// fill places all pods in a row and binds them, on the given nodes, or if there are
// none on the first that will do, in turn. It returns the nodes when the last event
// has come back.
func (w *world) fill(ctx context.Context, plan []int) (nodes []int, err error) {
	var binding errgroup.Group
	for k := range w.pods {
		c := w.newCycle(w.pods[k])
		node, err := w.schedule(ctx, c, k, plan)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", c.pod.Name, err)
		}
		nodes = append(nodes, node)
		binding.Go(func() error { return c.bind(ctx, w.nodes[node].Name) })
	}
	if err := binding.Wait(); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	return nodes, w.stored.await(ctx, w.api.latest())
}

// fillAgain runs Pods' operations, compares what the pods got with what they got
// before, and takes it back; only the first is measured.
func (w *world) fillAgain(ctx context.Context, want *outcome, m *meters) error {
	m.operations += len(w.pods)
	err := m.whole.measure(func() error {
		_, err := w.fill(ctx, want.fits)
		return err
	})
	if err != nil {
		return err
	}
	got, err := w.bound(want.fits)
	if err != nil {
		return err
	}
	for i := range want.answers {
		if got.answers[i] != want.answers[i] {
			return fmt.Errorf("pod %s gets %s, and before %s", w.pods[i].Name, got.answers[i], want.answers[i])
		}
	}
	return w.empty(ctx)
}

// schedule is the part of a cycle that no other runs beside.
func (w *world) schedule(ctx context.Context, c *cycle, k int, plan []int) (node int, err error) {
	ask, err := c.preFilter(ctx)
	if err != nil || !ask {
		return 0, fmt.Errorf("PreFilter asks for nodes: %v, error: %w", ask, err)
	}
	// The scheduler begins behind the last node that it asked before.
	wanted := enough(len(w.infos))
	first := k * wanted % len(w.infos)
	if plan == nil {
		wanted = len(w.infos)
	}
	if err := c.filter(ctx, w.infos, first, wanted); err != nil {
		return 0, err
	}
	if node, err = c.choose(ctx, first, k, plan); err != nil {
		return 0, err
	}
	if err := c.score(ctx, w.infos); err != nil {
		return 0, err
	}
	return node, c.reserve(ctx, w.nodes[node].Name)
}

// choose returns the planned node, or the first that will do. Which nodes were
// reached depends on how goroutines run, so the planned one may have to be asked.
func (c *cycle) choose(ctx context.Context, first, k int, plan []int) (int, error) {
	if plan == nil {
		node, ok := c.firstFit(first)
		if !ok {
			return 0, errors.New("no node will do")
		}
		return node, nil
	}
	node := plan[k]
	if !c.reached[node] {
		c.statuses[node], c.reached[node] = c.w.framework.RunFilterPlugins(ctx, c.state, c.pod, c.w.infos[node]), true
	}
	if !c.fits(node) {
		return 0, fmt.Errorf("node %s will not do any more: %s", c.w.nodes[node].Name, c.statuses[node].Message())
	}
	return node, nil
}

// empty takes the pods' devices back, so that everything is as in the beginning.
func (w *world) empty(ctx context.Context) error {
	var claims []*resourceapi.ResourceClaim
	for _, claim := range w.claims {
		if claim.Status.Allocation == nil {
			claims = append(claims, claim)
		}
	}
	return w.settle(ctx, w.api.reset(claims))
}
