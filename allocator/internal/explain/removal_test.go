package explain_test

import (
	"fmt"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
	"github.com/dray-dev/dray/allocator/internal/explain"
)

// TestTheNamedCauseBinds removes what an explanation names and nothing else of
// that kind where it can: then the explanation has to be another one. Either the
// claims fit, or an error comes into reach, or the same request fails of
// something else, or another request does.
func TestTheNamedCauseBinds(t *testing.T) {
	tally := make(map[explain.Cause]int)
	eachScenario(t, func(t *testing.T, s *allocatortest.Scenario) {
		for _, node := range s.Nodes {
			e := explainOn(t, newAllocator(t, s), s, node)
			if e.Fits || e.Error != "" {
				continue
			}
			r := removal{Scenario: s.Clone(), first: e.First, explained: e}
			if !r.remove() {
				tally[e.First.Binding.Cause+" (not removed)"]++
				if cause := e.First.Binding.Cause; cause != explain.TooManyResults && cause != explain.Undecided {
					t.Errorf("node %s: nothing to remove: %s", node.Name, e.Text())
				}
				continue
			}
			r.Stamp()
			tally[e.First.Binding.Cause]++
			after := explainOn(t, newAllocator(t, r.Scenario), r.Scenario, r.Node(node.Name))
			if !r.progressed(after) {
				t.Errorf("node %s: with the cause removed, the explanation is the same\nbefore:\n%s\nafter:\n%s", node.Name, e.Text(), after.Text())
			}
		}
	})
	t.Logf("causes removed: %v", tally)
}

// removal takes a cause out of a scenario.
type removal struct {
	*allocatortest.Scenario
	first     *allocator.Shortage
	explained *allocator.Explanation
}

// progressed says whether the explanation after the removal is about something else.
func (r *removal) progressed(after *allocator.Explanation) bool {
	if after.Fits || after.Error != "" || after.First.Claim != r.first.Claim || after.First.Request != r.first.Request {
		return true
	}
	before, now := &r.first.Binding, &after.First.Binding
	if before.Together && len(before.With) == 0 && before.Cause != explain.CapacityShort {
		// With this one cause gone, these requests are met together.
		return now.Together && !slices.Equal(before.Requests, now.Requests)
	}
	if before.Together && now.Together {
		return before.Cause != now.Cause || before.Cause == explain.CapacityShort || before.Cause == explain.Constrained
	}
	if before.Cause != now.Cause || before.Stage != now.Stage || before.Together != now.Together {
		// A request for all of nothing wants more once something matches.
		return !earlier(now, before) || now.Cause == explain.MemberMissing
	}
	switch before.Cause {
	case explain.ClassMismatch, explain.SelectorMismatch:
		return *before.Selector != *now.Selector
	case explain.CountersShort:
		return !slices.ContainsFunc(now.Counters, func(c explain.CounterShortage) bool {
			return slices.ContainsFunc(before.Counters, func(b explain.CounterShortage) bool {
				return b.Pool == c.Pool && b.CounterSet == c.CounterSet && b.Counter == c.Counter
			})
		})
	case explain.Constrained:
		return true // The one that was named is gone.
	case explain.CapacityShort:
		x, y := before.Capacity, now.Capacity
		return x.Name != y.Name || x.Missing != y.Missing || x.Refused != y.Refused || x.Unasked != y.Unasked
	case explain.BadPool:
		return *before.Pool != *now.Pool
	case explain.MemberMissing:
		return *before.Member != *now.Member
	case explain.Competing:
		return !slices.Equal(before.Requests, now.Requests)
	}
	return false
}

// earlier says whether a cause is at an earlier stage than another.
func earlier(x, y *allocator.Binding) bool {
	if x.Together != y.Together {
		return y.Together
	}
	return x.Stage != "" && y.Stage != "" && slices.Index(stages, x.Stage) < slices.Index(stages, y.Stage)
}

var stages = []explain.Stage{explain.StagePools, explain.StageSupported, explain.StageClass, explain.StageSelectors, explain.StageNode,
	explain.StageUntainted, explain.StageFree, explain.StageCapacity, explain.StageCounters, explain.StageCompatible, explain.StageConstraint}

// remove returns false for a cause that a test cannot remove.
func (r *removal) remove() bool {
	b := &r.first.Binding
	switch b.Cause {
	case explain.NoPools:
		r.publish(b.Wanted)
	case explain.BadPool:
		return r.mendPool(b.Pool)
	case explain.Unsupported:
		r.Features.DeviceBindingAndStatus, r.Features.PartitionableDevices = true, true
	case explain.ClassMismatch:
		for _, class := range r.Classes {
			if class.Name == b.Class {
				class.Spec.Selectors = slices.DeleteFunc(class.Spec.Selectors, r.named)
			}
		}
	case explain.SelectorMismatch:
		r.eachRequest(func(selectors *[]resourceapi.DeviceSelector, _ *resourceapi.CapacityRequirements) {
			*selectors = slices.DeleteFunc(*selectors, r.named)
		})
	case explain.Constrained:
		for _, claim := range r.Claims {
			if claim.Namespace+"/"+claim.Name == r.first.Claim {
				claim.Spec.Devices.Constraints = slices.Delete(claim.Spec.Devices.Constraints, b.Constraint.Index, b.Constraint.Index+1)
			}
		}
	case explain.CountersShort:
		r.raiseCounters(b.Counters)
	case explain.CapacityShort:
		r.makeRoom(b.Capacity)
	case explain.MemberMissing:
		return r.removeStage(b.Member.Stage)
	case explain.Competing, explain.TooManyResults:
		return r.dropRequests(b.Requests)
	default:
		return r.removeStage(b.Stage)
	}
	return true
}

// named says whether a selector is the one that is named, or says the same.
func (r *removal) named(s resourceapi.DeviceSelector) bool {
	return s.CEL != nil && s.CEL.Expression == r.first.Binding.Selector.Expression
}

// removeStage makes every device pass a stage.
func (r *removal) removeStage(stage explain.Stage) bool {
	switch stage {
	case explain.StageNode:
		r.eachDevice(func(slice *resourceapi.ResourceSlice, device *resourceapi.Device) {
			slice.Spec.SkipNodeOperations = nil
			if slice.Spec.PerDeviceNodeSelection != nil {
				all := true
				device.NodeName, device.NodeSelector, device.AllNodes = nil, nil, &all
			}
		})
	case explain.StageUntainted:
		r.eachDevice(func(_ *resourceapi.ResourceSlice, device *resourceapi.Device) { device.Taints = nil })
	case explain.StageFree, explain.StageCapacity:
		r.Allocated = nil
	case explain.StageCounters:
		if !r.Features.PartitionableDevices {
			r.Features.PartitionableDevices = true
			break
		}
		r.raiseCounters(nil)
	case explain.StageCompatible:
		r.eachDevice(func(_ *resourceapi.ResourceSlice, device *resourceapi.Device) {
			for i := range device.ConsumesCounters {
				device.ConsumesCounters[i].CompatibilityGroups = nil
			}
		})
		// A device allocated before without a group is compatible now, too.
	default:
		return false
	}
	return true
}

func (r *removal) eachDevice(change func(*resourceapi.ResourceSlice, *resourceapi.Device)) {
	for _, slice := range r.Slices {
		for i := range slice.Spec.Devices {
			change(slice, &slice.Spec.Devices[i])
		}
	}
}

// eachRequest calls change for the request or subrequest that the shortage is about.
func (r *removal) eachRequest(change func(*[]resourceapi.DeviceSelector, *resourceapi.CapacityRequirements)) {
	for _, claim := range r.Claims {
		if claim.Namespace+"/"+claim.Name != r.first.Claim {
			continue
		}
		for i := range claim.Spec.Devices.Requests {
			request := &claim.Spec.Devices.Requests[i]
			if request.Exactly != nil && request.Name == r.first.Request {
				change(&request.Exactly.Selectors, request.Exactly.Capacity)
			}
			for j := range request.FirstAvailable {
				if sub := &request.FirstAvailable[j]; request.Name+"/"+sub.Name == r.first.Request {
					change(&sub.Selectors, sub.Capacity)
				}
			}
		}
	}
}

// mendPool makes a pool complete; one that is otherwise broken is taken away, and
// an obsolete generation becomes the newest.
func (r *removal) mendPool(trouble *allocator.PoolTrouble) bool {
	of := func(slice *resourceapi.ResourceSlice) bool {
		return slice.Spec.Driver+"/"+slice.Spec.Pool.Name == trouble.Pool
	}
	switch trouble.State {
	case explain.PoolInvalid:
		r.Slices = slices.DeleteFunc(r.Slices, of)
	case explain.PoolObsolete:
		newest := int64(0)
		for _, slice := range r.Slices {
			if of(slice) {
				newest = max(newest, slice.Spec.Pool.Generation)
			}
		}
		r.Slices = slices.DeleteFunc(r.Slices, func(slice *resourceapi.ResourceSlice) bool {
			return of(slice) && slice.Spec.Pool.Generation == newest
		})
	default:
		r.Slices = slices.DeleteFunc(r.Slices, func(slice *resourceapi.ResourceSlice) bool {
			if !of(slice) {
				return false
			}
			view := allocatortest.View(r.Scenario, r.Nodes[0])
			i := slices.IndexFunc(view, func(p *allocatortest.PoolView) bool { return p.Driver+"/"+p.Name == trouble.Pool })
			if slice.Spec.Pool.Generation == view[i].Generation {
				slice.Spec.Pool.ResourceSliceCount = int64(len(view[i].All))
			}
			return false
		})
	}
	return true
}

// publish adds a pool that all nodes reach.
func (r *removal) publish(devices int) {
	all := true
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "added"}}
	slice.Spec = resourceapi.ResourceSliceSpec{Driver: "gpu.example.com", AllNodes: &all,
		Pool: resourceapi.ResourcePool{Name: "added", Generation: 1, ResourceSliceCount: 1}}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("added-%d", i)})
	}
	r.Slices = append(r.Slices, slice)
}

// raiseCounters fills the named counters, or all.
func (r *removal) raiseCounters(named []explain.CounterShortage) {
	for _, slice := range r.Slices {
		for i := range slice.Spec.SharedCounters {
			set := &slice.Spec.SharedCounters[i]
			for name, counter := range set.Counters {
				wanted := len(named) == 0 || slices.ContainsFunc(named, func(c explain.CounterShortage) bool {
					return c.Pool == slice.Spec.Driver+"/"+slice.Spec.Pool.Name && c.CounterSet == set.Name && c.Counter == name
				})
				if wanted {
					counter.Value = resource.MustParse("1e30")
					set.Counters[name] = counter
				}
			}
		}
	}
}

// makeRoom takes away what keeps a capacity from sufficing: the policy that
// refuses the amount, the name that is not there, the default, or the size.
func (r *removal) makeRoom(c *explain.CapacityShortage) {
	name := resourceapi.QualifiedName(c.Name)
	switch {
	case c.Missing:
		r.eachRequest(func(_ *[]resourceapi.DeviceSelector, capacity *resourceapi.CapacityRequirements) {
			delete(capacity.Requests, name)
		})
	case c.Refused:
		r.eachDevice(setPolicy(name, nil))
	case c.Unasked:
		r.eachDevice(setPolicy(name, &resourceapi.CapacityRequestPolicy{Default: &resource.Quantity{}}))
		r.enlarge(c.Name)
	default:
		r.enlarge(c.Name)
	}
}

func setPolicy(name resourceapi.QualifiedName, policy *resourceapi.CapacityRequestPolicy) func(*resourceapi.ResourceSlice, *resourceapi.Device) {
	return func(_ *resourceapi.ResourceSlice, device *resourceapi.Device) {
		if capacity, found := device.Capacity[name]; found {
			capacity.RequestPolicy = policy
			device.Capacity[name] = capacity
		}
	}
}

// enlarge makes every device's capacity of the name large.
func (r *removal) enlarge(name string) {
	r.eachDevice(func(_ *resourceapi.ResourceSlice, device *resourceapi.Device) {
		if capacity, found := device.Capacity[resourceapi.QualifiedName(name)]; found {
			capacity.Value = resource.MustParse("1e30")
			device.Capacity[resourceapi.QualifiedName(name)] = capacity
		}
	})
}

// dropRequests removes the competitors of the request from its claims.
func (r *removal) dropRequests(names []string) bool {
	for _, claim := range r.Claims {
		claim.Spec.Devices.Requests = slices.DeleteFunc(claim.Spec.Devices.Requests, func(request resourceapi.DeviceRequest) bool {
			self := claim.Namespace+"/"+claim.Name == r.first.Claim && request.Name == r.first.Request
			return !self && slices.Contains(names, claim.Name+"/"+request.Name)
		})
	}
	return len(names) > 1
}
