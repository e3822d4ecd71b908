// Package search finds the devices for a pod's claims on one node.
//
// A Problem says what is asked for and what the node has, in positions of an
// index.Domain. Run returns the first Solution in upstream's order: claims,
// requests and alternatives as listed, devices by rising position, the devices
// of one request in rising order only.
//
// Two walks over the same tree, depth first, say the same:
//
//   - Faithful enters the nodes that upstream's allocator enters, in its order.
//     So the first solution found is upstream's answer, the fault reached first
//     is upstream's error, and Steps is upstream's count of allocateOne calls.
//   - Run leaves out the subtrees that can hold neither a solution nor a fault.
//     Where a fault is in reach it is Faithful.
//
// The files, from the question to the answer:
//
//	problem      what is asked, what comes out
//	search       the walk
//	state        what the walk has taken, and the law by which it gives back
//	constraint   what the devices under one constraint have in common
//	scratch      the memory of all that, for one search after the other
//	dictionary, keys   byte strings that are remembered, in memory used again
//	pruned       when and how subtrees are left out
//	outlook      at a node: what do the remaining requests need, what is there
//	matching     can several requests have enough devices at once (Hall)
//	elements     can they agree on the values of attributes
//	counterbounds, sharebounds   can counters and capacities give that much
//	packing      can partitions of the same devices be given to all who want them
//	ways         which partitions of one block fit beside each other
//	sums         do the ways of all blocks add up to what is needed
//	components   which choices can be to blame for a failure
//	blocks       which devices are as good as others; what has failed before
//	class        which nodes pose the same problem
//
// The package is pure: no API types, no clock, no logger; only the standard
// library and the packages index and bitset.
package search
