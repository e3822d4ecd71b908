package plugin

import "github.com/dray-dev/dray/allocator"

// cause is what kind of thing kept a pod from a node, or from all of them: the
// label of a metric, so there are few, and none names an object. The pod is told
// more. docs/metrics.md says what each means.
type cause string

const (
	causeClaimMissing   cause = "claimMissing"   // a claim does not exist, is going, or is somebody else's
	causeGroupMissing   cause = "groupMissing"   // the pod's group does not exist
	causeInFlight       cause = "inFlight"       // a claim is being allocated for another pod
	causeFull           cause = "full"           // a claim has as many consumers as it can have
	causeRequest        cause = "request"        // a request that this scheduler does not know, or may not use
	causeElsewhere      cause = "elsewhere"      // an allocated claim cannot be used on the node
	causeNodeFeature    cause = "nodeFeature"    // the node does not declare what an allocated claim needs
	causeBindingFailed  cause = "bindingFailed"  // devices of an allocated claim failed to bind
	causeBindingTimeout cause = "bindingTimeout" // devices of an allocated claim took too long to bind
	causeLeftOver       cause = "leftOver"       // a claim for extended resources of an earlier attempt
	causeNoResource     cause = "noResource"     // the node does not have an extended resource
	causeInvalidPools   cause = "invalidPools"   // all devices are wanted, or none fit, and slices contradict each other
	causeStopped        cause = "stopped"        // the scheduler has enough nodes, or is about to stop
	causeUnexplained    cause = "unexplained"    // no devices, and nobody has looked why

	causeNoClass = cause(allocator.CauseNoClass) // PreFilter and an explanation find the same
	causeNoPools = cause(allocator.CauseNoPools)
	causeInUse   = cause(allocator.CauseInUse)
	causeTaint   = cause(allocator.CauseTaint)
)

// causes are all of them: the plugin's own, and those of explanations.
var causes = []cause{
	causeClaimMissing, causeGroupMissing, causeInFlight, causeFull, causeRequest, causeElsewhere, causeNodeFeature,
	causeBindingFailed, causeBindingTimeout, causeLeftOver, causeNoResource, causeInvalidPools, causeStopped, causeUnexplained,
	causeNoClass,
	causeNoPools, cause(allocator.CausePool), cause(allocator.CauseFeature),
	cause(allocator.CauseClass), cause(allocator.CauseSelector), cause(allocator.CauseNode), causeTaint,
	causeInUse, cause(allocator.CauseCapacity), cause(allocator.CauseCounters), cause(allocator.CauseGroups),
	cause(allocator.CauseConstraint), cause(allocator.CauseResultLimit), cause(allocator.CauseMember),
	cause(allocator.CauseCombination), cause(allocator.CauseUndecided), cause(allocator.CauseError),
}
