// Package metamorphic checks that an Inventory forgets nothing and keeps
// nothing: after any history of changes it must give the answers of one that
// was made from the cluster as it is now.
//
// The package is tests only. A history starts with a random cluster (package
// allocatortest) and applies random steps to it, as they come from an API
// server, a taint tracker and a scheduler: slices are published, changed,
// recreated and deleted, pools move to another generation, taints come and go
// on fresh copies, claims are allocated and released, classes, nodes and
// feature gates change. After every step, for every node,
//
//   - an inventory made from nothing, on deep copies of all slices, with an
//     allocator for each node,
//   - another one, on the same copies in another order,
//   - the one inventory that has lived through the whole history, on the
//     pointers as they are, in any order
//   - another one that has lived through it and hears of each allocation by itself,
//     for two pods that ask for the same
//
// must give equal answers: results modulo share IDs, class and text of the
// error. All but the first share answers between equal nodes from the first step
// of a search on. Some steps let callers with earlier lists in between, or several
// callers at once. Allocators made before a step must go on giving their old
// answers after it, and no step may modify the objects that it is given.
//
// Nothing here knows what the right answer is; package difftest does.
//
// The files:
//
//	history_test.go      a history is a seed, a cluster and steps; as text
//	world_test.go        the cluster at one moment, and the kinds of steps
//	slicesteps_test.go   steps that change slices and pools
//	othersteps_test.go   steps that change claims, classes, nodes, features
//	check_test.go        the comparisons after a step
//	learner_test.go      the inventory that hears of allocations one by one
//	shrink_test.go       the shortest history that still fails
//	statistics_test.go   what a run has covered, and whether that is enough
//	metamorphic_test.go  the run that `make metamorphic` starts
//	length_test.go       how long it is; length_race_test.go, under the race detector
//	faulty_test.go       inventories with known faults, all of which are found
//
// A failure prints the seed of its history. These variables steer the run:
//
//	DRAY_METAMORPHIC_HISTORIES  how many histories
//	DRAY_METAMORPHIC_SEED       seed of the first one; each next adds one
package metamorphic
