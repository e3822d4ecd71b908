package plugin

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
)

// foundNode is a node on which Filter found devices, or none to look for. Most of
// them nobody asks about: Reserve wants one node's result, and Score looks only at
// alternatives. So where an earlier pod's answer says that the claims fit, the result
// is written when it is asked for. The allocator is for one state of the cluster and
// the node is the object that Filter had, so that it says the same then.
type foundNode struct {
	node   *corev1.Node
	result *nodeResult // nil: not written
}

// nodeResult is what Filter found for a node.
type nodeResult struct {
	// allocations has an entry for each claim of the pod: nil for those allocated
	// before, and for a special claim that the node does not need.
	allocations []*resourceapi.AllocationResult
	// special is the claim for extended resources as this node needs it, or nil.
	special  *resourceapi.ResourceClaim
	mappings []corev1.ContainerExtendedResourceRequest
}

// found notes that the node will do.
func (s *podState) found(node *corev1.Node, result *nodeResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = append(s.nodes, foundNode{node, result})
}

// node returns the index of the node in s.nodes, the newest if Filter was asked
// several times. The caller holds mu.
func (s *podState) node(name string) (int, bool) {
	if !s.ranked { // Reserve asks, once
		for i, found := range slices.Backward(s.nodes) {
			if found.node.Name == name {
				return i, true
			}
		}
		return 0, false
	}
	if s.places == nil {
		s.places = make(map[string]int, len(s.nodes))
	}
	for ; s.placed < len(s.nodes); s.placed++ {
		s.places[s.nodes[s.placed].node.Name] = s.placed
	}
	i, ok := s.places[name]
	return i, ok
}

// result returns what Filter found for the node. It is the same each time.
func (p *Plugin) result(ctx context.Context, s *podState, name string) (result *nodeResult, ok bool, err error) {
	s.mu.Lock()
	i, ok := s.node(name)
	var found foundNode
	if ok {
		found = s.nodes[i]
	}
	s.mu.Unlock()
	if !ok || found.result != nil {
		return found.result, ok, nil
	}
	if result, err = p.writeResult(ctx, s, found.node); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[i].result == nil {
		s.nodes[i].result = result
	}
	return s.nodes[i].result, true, nil
}

// errChanged is for a device class that changed after Filter.
var errChanged = errors.New("a device class changed, and the claims do not fit any more")

func (p *Plugin) writeResult(ctx context.Context, s *podState, node *corev1.Node) (*nodeResult, error) {
	if len(s.wanted) == 0 {
		return s.newResult(nil, nil), nil
	}
	limited, cancel := p.limit(ctx)
	defer cancel()
	found, err := s.allocator.(*allocator.Allocator).Find(limited, node, s.wanted)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, errChanged
	}
	allocations, err := found.Results(limited)
	if err != nil {
		return nil, err
	}
	return s.newResult(allocations, nil), nil
}

// newResult is the result with allocations for s.wanted, and then for special if the
// node needs it.
func (s *podState) newResult(allocations []resourceapi.AllocationResult, special *resourceapi.ResourceClaim) *nodeResult {
	result := &nodeResult{allocations: make([]*resourceapi.AllocationResult, len(s.claims)), special: special}
	next := 0
	for i := range s.claims {
		switch c := &s.claims[i]; {
		case s.searchedFor(i) || i == s.special && special != nil:
			result.allocations[i] = &allocations[next]
			next++
		case !c.allocated():
			result.allocations[i] = c.pending
		}
	}
	return result
}

// searchedFor says whether devices are to be found for a claim on every node.
func (s *podState) searchedFor(i int) bool {
	c := &s.claims[i]
	return !c.allocated() && c.pending == nil && i != s.special
}
