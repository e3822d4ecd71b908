// Package plugin is the scheduler plugin DrayDynamicResources: it takes the place
// of DynamicResources of kube-scheduler 1.37 and finds devices for ResourceClaims
// with Dray's allocator.
//
// # A pod's way
//
// Files are named after extension points, in this order:
//
//	events       what may help a pod that was refused, and which pods
//	sign         pods with claims are not batched
//	prefilter    collect the claims, refuse what no node can help with, make an allocator
//	filter       for each node, in parallel: use what is allocated, search for the rest
//	postfilter   no node would do: free a claim that stands in the way
//	podgroup     the same for a group of pods
//	score        prefer alternatives that are listed early
//	reserve      take what was found; give it back
//	prebind      write it down, then wait for bindingconditions
//
// What they share: state (of a cycle), claims (from a pod to its claims), claimlocks
// (whose turn it is to write to one), flights and doubts (what may not be given out
// meanwhile), doubles (what was given out twice), extended and extendedrequests (the
// claim that the scheduler itself makes for extended resources), allocate (whose
// search), cluster (what there is and what is taken), ledger and ledgermanager (the
// same, change by change), reasons (what a refused pod is told), causes and metrics
// (what is counted), waiting (which pods are kept out of the queue), args; attempts and
// explainserver (the whole explanation of what failed).
//
// # Who knows what is taken
//
// The SharedDRAManager of the scheduler: claims as the API has them, claims that
// were written and whose event has not come yet (assumed), and allocations that are
// reserved and not written yet (in flight). The plugin tells it everything that it
// does, so simulations and other profiles see the same. All profiles of a process
// have one manager. Another process has another one: two schedulers that allocate
// can give one device to two pods.
//
// To ask the manager costs a copy of all that is allocated. So the plugins that a
// Factory makes for the scheduler's own manager keep a ledger beside it, one for all
// of them, which hears what the manager hears and says the same while it can prove
// that it is not behind. It is what clusterState asks for each pod; otherwise, and for
// any other manager, the manager is asked once.
//
// # Invariants
//
//  1. From Reserve on, the devices of a claim are in flight, allocated in the
//     manager's eyes, or given back by the pod that reserved them: there is no
//     moment at which they look free while a claim in the API has them.
//     Where a pod gives up a claim whose fate is not known, they stay in flight
//     until it is (doubts). TestNoDeviceTwiceAndNoneLeaks looks after each step.
//  2. A pod removes what is in flight only if it has signalled it, once, and not
//     what was put there since (flights).
//  3. What is assumed is what the API server returned. Hence nothing is ever
//     restored: an informer that is behind would show devices as free.
//  4. Each write is decided on the claim as it is then: the same UID, and no
//     allocation but the one that the cycle counted on. Conflicts decide anew.
//  5. A claim is known by its index in podState.claims, never by its rank among
//     those to be allocated.
//  6. Simulated steps (Filter, Reserve, Unreserve of a pod that was not bound) call
//     no API.
//  7. No result depends on the order of a map or on which node is filtered first,
//     but for which nodes of more than 64 problems get a reason, and which node
//     with a reason is the example.
//
// # Tests
//
// testdata holds whole cycles as text; text_test.go says what can be written
// there. They run on the scheduler's own manager and framework, with an API server
// in memory that knows conflicts, failures and lost answers.
package plugin
