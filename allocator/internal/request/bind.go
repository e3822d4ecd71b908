package request

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Target is the node that claims are bound to, with the state that goes with it.
type Target struct {
	API *corev1.Node
	// Node is what API reaches.
	Node *inventory.Node
	// Usage is what other claims hold.
	Usage *inventory.Usage
	// Evaluator evaluates the selectors.
	Evaluator *selector.Evaluator
}

// Bound is a problem together with what its numbers stand for.
type Bound struct {
	Problem search.Problem
	Claims  *Claims
	Target
	usage []*inventory.PoolUsage
}

// Bind makes the problem of allocating the claims on the target. Errors are an
// *InputError, an error that matches ErrFailedOnNode, or the context's cause.
func Bind(ctx context.Context, claims *Claims, target Target) (*Bound, error) {
	return new(Scratch).Bind(ctx, claims, target)
}

func (b *binder) bind() (*Bound, error) {
	b.bindNode()
	b.Problem.Claims = resized(b.Problem.Claims, len(b.Claims.Claims))
	for i, claim := range b.Claims.Claims {
		if err := b.bindClaim(i, claim); err != nil {
			return nil, err
		}
	}
	b.finishShares()
	return b.Bound, nil
}

type binder struct {
	*Bound
	scratch *Scratch
	ctx     context.Context
	// multi are the devices that can be shared, while that feature is on.
	multi bitset.Set
	meters
}

func (b *binder) bindNode() {
	node, features := b.Node, &b.Claims.Features
	p := &b.Problem
	p.Width, p.WordPool = node.Width(), node.WordPool
	p.MaxResults = resourceapi.AllocationResultsMaxSize
	p.GroupsEnforced = features.CompatibilityGroups
	p.InUse, p.Shared, p.MultiAllocatable = b.newSet(), b.newSet(), b.newSet()
	p.Pools = resized(p.Pools, len(node.Pools))
	b.usage = resized(b.usage, len(node.Pools))
	for i, pool := range node.Pools {
		p.Pools[i] = search.Pool{First: node.Position(i, 0)}
		b.usage[i] = nil
		if pool.Status != index.Usable {
			continue
		}
		usage := b.Usage.Pool(pool)
		b.usage[i] = usage
		node.Part(p.InUse, i).Or(usage.InUse)
		node.Part(p.Shared, i).Or(usage.Shared)
		if features.ConsumableCapacity {
			node.Part(p.MultiAllocatable, i).Or(pool.MultiAllocatable)
		}
		if pool.Counters != nil {
			p.Pools[i] = search.Pool{First: p.Pools[i].First, Counters: pool.Counters, MemberOf: pool.MemberOf, Left: usage.Left, Groups: usage.Groups}
		}
	}
	b.multi = p.MultiAllocatable
	if features.ConsumableCapacity {
		b.resetMeters(len(b.Claims.asks), len(node.Pools))
	}
	b.forgetShares(p.Width)
}

func (b *binder) bindClaim(number int, claim *Claim) error {
	bound := &b.Problem.Claims[number]
	bound.Requests = resized(bound.Requests, len(claim.Requests))
	needed := 0
	for i := range claim.Requests {
		request := &claim.Requests[i]
		fewest, err := b.bindRequest(claim, request, &bound.Requests[i])
		if err != nil {
			return err
		}
		if fewest > resourceapi.AllocationResultsMaxSize-needed {
			return &InputError{Claim: claim.Name(), Request: request.API.Name, Err: fmt.Errorf(
				"claim %s, request %s: adding %d devices exceeds the claim limit of %d, with %d already accounted for",
				claim.Name(), request.API.Name, fewest, resourceapi.AllocationResultsMaxSize, needed)}
		}
		needed += fewest
	}
	for i := range claim.Constraints {
		if err := claim.Constraints[i].err; err != nil {
			return err
		}
	}
	return b.bindConstraints(claim, bound)
}

// bindRequest returns the smallest number of devices that satisfies the request.
func (b *binder) bindRequest(claim *Claim, request *Request, bound *search.Request) (fewest int, err error) {
	if request.err != nil {
		return 0, request.err
	}
	bound.Prioritized = request.Prioritized
	bound.Alternatives = resized(bound.Alternatives, len(request.Alternatives))
	for i := range request.Alternatives {
		alternative, result := &request.Alternatives[i], &bound.Alternatives[i]
		empty(result)
		if alternative.err != nil {
			return 0, alternative.err
		}
		if alternative.All {
			err = b.bindAll(claim, alternative, result)
		} else {
			err = b.bindCount(alternative, result)
		}
		if err != nil {
			return 0, err
		}
		if i == 0 || result.Count < fewest {
			fewest = result.Count
		}
	}
	return fewest, nil
}

func (b *binder) bindCount(a *Alternative, bound *search.Alternative) error {
	bound.Count, bound.Admin = a.Count, a.Admin
	bound.Candidates, bound.Faulty = b.newSet(), b.newSet()
	for i, pool := range b.Node.Pools {
		if pool.Status != index.Usable {
			continue
		}
		match, faulty, err := b.selected(i, a)
		if err != nil {
			return err
		}
		if match.Empty() && faulty.Empty() {
			continue // What comes only takes away.
		}
		if b.Claims.Features.ConsumableCapacity {
			b.meter(i, a, bound, match, faulty)
		}
		b.dropUnavailable(i, a, match)
		b.Node.Part(bound.Candidates, i).Or(match)
		b.Node.Part(bound.Faulty, i).Or(faulty)
	}
	return nil
}

// bindAll lists the devices of a request for all. Any fault in reach is an
// error right away, as is a pool that could hold more devices than can be seen.
func (b *binder) bindAll(claim *Claim, a *Alternative, bound *search.Alternative) error {
	bound.All, bound.Admin = true, a.Admin
	bound.Candidates, bound.Faulty = b.newSet(), b.newSet()
	for i, pool := range b.Node.Pools {
		switch pool.Status {
		case index.Incomplete:
			return unusable(claim, a, pool, "being updated")
		case index.Invalid:
			return unusable(claim, a, pool, "invalid")
		}
		match, faulty, err := b.selected(i, a)
		if err != nil {
			return err
		}
		if b.Claims.Features.ConsumableCapacity {
			b.meter(i, a, bound, match, faulty)
		}
		if device, found := faulty.Next(0); found {
			return b.candidateError(b.ctx, claim, a, i, device)
		}
		for device := range match.All {
			bound.Members = append(bound.Members, b.Node.Position(i, device))
		}
		b.dropUnavailable(i, a, match)
		b.Node.Part(bound.Candidates, i).Or(match)
	}
	bound.Count = len(bound.Members)
	return nil
}

// unusable fails the node: another may not reach the pool (docs/deviations.md 1).
func unusable(claim *Claim, a *Alternative, pool *inventory.Pool, state string) error {
	return fmt.Errorf("claim %s, request %s: asks for all devices, but resource pool %s is currently %s%w", claim.Name(), a.Name, pool, state, ErrFailedOnNode)
}

// selected returns the devices of a pool that pass the selectors, and those for
// which that cannot be said. The sets are the caller's and disjoint.
func (b *binder) selected(number int, a *Alternative) (match, faulty bitset.Set, err error) {
	pool := b.Node.Pools[number]
	match, faulty = b.scratch.set(bitset.Words(pool.Devices)), b.scratch.set(bitset.Words(pool.Devices))
	match.Fill(pool.Devices)
	b.dropBinding(number, match)
	for _, s := range a.Selectors {
		// The first selector that does not match keeps the others from being asked.
		if match.Empty() {
			break
		}
		if err := b.ask(number, s, match, faulty); err != nil {
			return nil, nil, err
		}
	}
	b.dropUnreached(number, match, faulty)
	return match, faulty, nil
}

// dropBinding removes devices with binding conditions while that feature is off.
func (b *binder) dropBinding(number int, match bitset.Set) {
	if !b.Claims.Features.DeviceBindingAndStatus {
		match.AndNot(b.Node.Pools[number].Binding)
	}
}

// ask leaves in match the devices that one more selector matches, and moves to
// faulty those on which it fails.
func (b *binder) ask(number int, s Selector, match, faulty bitset.Set) error {
	pool := b.Node.Pools[number]
	verdict, err := b.Evaluator.Verdict(b.ctx, &pool.Selectors, s.Expression, pool)
	if err != nil {
		return err
	}
	for w := range match {
		faulty[w] |= match[w] & verdict.Fault[w]
	}
	match.And(verdict.Match)
	return nil
}

// dropUnreached removes the devices that name other nodes, and moves to faulty
// those that name them in a way that cannot be read.
func (b *binder) dropUnreached(number int, match, faulty bitset.Set) {
	pool, reach := b.Node.Pools[number], &b.Node.Reach[number]
	if reach.Matches == nil {
		return
	}
	for w := range match {
		faulty[w] |= match[w] & reach.Faulty[w]
		match[w] &= reach.Matches[w] | ^pool.PerDevice[w]
	}
}

// dropUnavailable removes the devices that no state of the search makes
// available to the request. Upstream finds that out after the selectors and the
// capacity, so no fault is hidden by it.
func (b *binder) dropUnavailable(number int, a *Alternative, match bitset.Set) {
	b.dropSkipping(number, match)
	if !b.Claims.Features.PartitionableDevices {
		match.AndNot(b.Node.Pools[number].ConsumesCounters)
	}
	b.dropTainted(number, a, match)
	b.dropShared(number, a, match)
}

// dropSkipping removes devices that need a kubelet which can leave out node
// operations, where this node's cannot.
func (b *binder) dropSkipping(number int, match bitset.Set) {
	if !b.Claims.Features.OptionalNodeOperations || !SupportsSkipping(b.API) {
		match.AndNot(b.Node.Pools[number].SkipsNodeOperations)
	}
}

// dropTainted removes devices with a taint that the request does not tolerate.
func (b *binder) dropTainted(number int, a *Alternative, match bitset.Set) {
	if !b.Claims.Features.DeviceTaints {
		return
	}
	pool := b.Node.Pools[number]
	for device := range pool.Tainted.All {
		if match.Has(device) && !tolerated(pool.At(device).Taints, a.Tolerations) {
			match.Remove(device)
		}
	}
}

// dropShared removes devices that cannot be shared and all the same are
// (docs/deviations.md 4). Only admin access goes around that.
func (b *binder) dropShared(number int, a *Alternative, match bitset.Set) {
	if a.Admin {
		return
	}
	multi := b.Node.Part(b.multi, number)
	for w := range match {
		match[w] &^= b.usage[number].Shared[w] &^ multi[w]
	}
}
