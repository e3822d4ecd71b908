// Package allocator decides which devices a pod's ResourceClaims get.
//
// It gives the answers of Kubernetes' own allocator (package structured of
// k8s.io/dynamic-resource-allocation v0.37.2, the variant "experimental"), with
// the parameters of its NewAllocator, from an inventory that is compiled once
// for each change of the cluster instead of once for each node and pod. Where
// upstream is wrong and has since fixed or accepted it, this package is right;
// docs/deviations.md lists each such point.
//
// # Use
//
//	inventory := allocator.NewInventory() // one for the process
//	a, err := inventory.NewAllocator(ctx, features, state, classes, slices, celCache) // one for each pod
//	results, err := a.Allocate(ctx, node, claims) // for each node, from any goroutine
//
// A scheduler that hears of each allocation keeps Holdings and uses NewAllocatorHeld:
// then nothing is copied for a pod, and pods that ask for the same share answers on
// nodes whose devices did not change (answers). Find writes results only where they
// are asked for.
//
// # What Allocate says
//
// Its outcomes stay apart:
//
//   - results, one for each claim: the claims fit;
//   - nil and no error: they do not fit on this node;
//   - an error that matches ErrFailedOnNode: they do not fit on this node, for a
//     reason that the text names; other nodes are worth trying;
//   - an *InputError: some object is wrong, which no node can mend;
//   - an error that matches ErrGaveUp: the context ended first;
//   - an *InternalError: a panic, of this package or of what it was given to call.
//
// Explain and ExplainCluster say why claims do not fit (docs/explain.md).
//
// # How it works
//
// The data flows through the packages below internal in this order:
//
//	inventory   slices → pools and nodes, numbered; what allocations hold
//	index       the numbers: pools, domains, counters
//	selector    CEL expressions → bitsets
//	request     claims and classes → a problem for one node
//	search      a problem → the first solution in upstream's order
//	result      a solution → AllocationResults
//	explain     no solution → why not
//
// Only request, inventory, result, selector and explain know API types; index, search
// and bitset are plain data structures over the standard library.
//
// Inputs are never modified and must not change while the package knows them,
// which informers promise. Results share memory with inputs (tolerations,
// conditions, node operations to skip, configuration, requirements of node
// selectors): copy before changing them.
package allocator
