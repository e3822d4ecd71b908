package plugin

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/dray-dev/dray/allocator"
)

// stateKey is where the plugin keeps its state of a cycle.
const stateKey fwk.StateKey = Name

// podState is what one scheduling cycle knows about one pod. PreFilter makes it;
// Filter, which runs for many nodes at once, adds to what mu protects; everything
// else runs one step after the other.
//
// What must stay true:
//
//  1. A claim is known by its index in claims, everywhere: in nodeResult.allocations
//     as in unavailable. Nothing is matched by counting claims of some kind.
//  2. Clones share the state, so that a simulation of preemption sees the same
//     allocator, and what it finds for a node is as good as what Filter found.
//  3. A claim with an inFlight has been signalled to the manager once by this pod,
//     and the pod owes one removal.
type podState struct {
	claims  []podClaim
	special int // index of the claim for extended resources, or -1

	// scalars are the pod's requests for extended resources, if it has a special
	// claim.
	scalars map[corev1.ResourceName]int64
	// allocator is nil if all claims were allocated before the cycle.
	allocator nodeAllocator
	// wanted are the claims that devices are to be found for on every node. They are
	// the same slice for all nodes.
	wanted []*resourceapi.ResourceClaim
	// ranked: some claim has alternatives, so that Score asks about nodes.
	ranked bool
	// timed: Filter and Score, which are called for each node, are timed.
	timed bool

	mu sync.Mutex
	// unavailable has the allocated claims that some node could not use.
	unavailable sets.Set[int]
	// nodes are those that will do. places has the index of those before placed, by
	// name, if ranked.
	nodes  []foundNode
	places map[string]int
	placed int
	// refusals are the nodes that were refused, and examples has an explanation for
	// each of the reasons that a search has led to, up to explainedReasons.
	refusals []nodeRefusal
	examples map[string]*allocator.Explanation
}

// podClaim is one claim of a pod.
type podClaim struct {
	// claim is never modified in place; PreBind replaces it by what the API
	// server returned.
	claim *resourceapi.ResourceClaim
	// consumer is what the claim gets reserved for: the pod or its group.
	consumer resourceapi.ResourceClaimConsumerReference
	// availableOn is the node selector of the allocation, or of the pending one;
	// nil means all nodes.
	availableOn *nodeaffinity.NodeSelector
	// pending is what another pod of the same group has reserved for the claim in
	// this cycle.
	pending *resourceapi.AllocationResult
	// reserved is what Reserve took for a claim that was not allocated, and what
	// PreBind has to write.
	reserved *resourceapi.AllocationResult
	// flight is the UID under which the claim was signalled as being in flight:
	// the claim's, or the temporary one of a special claim.
	flight   types.UID
	inFlight *flight // nil: not in flight on the pod's behalf
	// inDoubt says that a write of the allocation failed in a way that does not tell
	// whether it arrived.
	inDoubt bool
	// known says that the manager knows a special claim that was created.
	known bool
}

// allocated says whether the claim had devices when it was last read.
func (c *podClaim) allocated() bool { return c.claim.Status.Allocation != nil }

// Clone implements fwk.StateData.
func (s *podState) Clone() fwk.StateData { return s }

// specialClaim is the claim for extended resources, or nil.
func (s *podState) specialClaim() *podClaim {
	if s.special < 0 || len(s.claims) == 0 {
		return nil
	}
	return &s.claims[s.special]
}

// onlySpecial says whether the pod itself names no claim.
func (s *podState) onlySpecial() bool { return s.special >= 0 && len(s.claims) == 1 }

// prepare sets what PreFilter knows about the claims, once they are complete.
func (s *podState) prepare(claims []podClaim, special int) {
	s.claims, s.special = claims, special
	for i := range claims {
		if s.searchedFor(i) {
			s.wanted = append(s.wanted, claims[i].claim)
		}
		s.ranked = s.ranked || slices.ContainsFunc(claims[i].claim.Spec.Devices.Requests, func(r resourceapi.DeviceRequest) bool {
			return len(r.FirstAvailable) > 0
		})
	}
}

// readState returns the state that PreFilter wrote.
func readState(cycle fwk.CycleState) (*podState, error) {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("read state of the cycle: %w", err)
	}
	s, ok := data.(*podState)
	if !ok {
		return nil, fmt.Errorf("read state of the cycle: is a %T", data)
	}
	return s, nil
}

// groupState is what the pods of a group share in one cycle of the group. Only
// the synchronous part of a cycle sees it, one pod at a time.
type groupState struct {
	// pending has the claims for which a pod of the group holds a reservation that
	// is not written yet.
	pending sets.Set[types.UID]
	pods    map[types.NamespacedName]*podState
}

// Clone implements fwk.StateData.
func (g *groupState) Clone() fwk.StateData { return g }

// readGroup returns the group's state, or nil if there is no cycle of a group or
// no pod of it has come by.
func readGroup(cycle fwk.PodGroupCycleState) (*groupState, error) {
	if cycle == nil {
		return nil, nil
	}
	data, err := cycle.Read(stateKey)
	if errors.Is(err, fwk.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state of the pod group's cycle: %w", err)
	}
	g, ok := data.(*groupState)
	if !ok {
		return nil, fmt.Errorf("read state of the pod group's cycle: is a %T", data)
	}
	return g, nil
}

// joinGroup adds the pod to the state of its group's cycle, if there is one.
func joinGroup(cycle fwk.CycleState, pod *corev1.Pod, s *podState) (*groupState, error) {
	group := cycle.GetPodGroupSchedulingCycle()
	g, err := readGroup(group)
	if err != nil || group == nil {
		return nil, err
	}
	if g == nil {
		g = &groupState{pending: sets.New[types.UID](), pods: map[types.NamespacedName]*podState{}}
		group.Write(stateKey, g)
	}
	g.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = s
	return g, nil
}
