// Package inventory keeps the cluster's ResourceSlices compiled for allocation.
//
// The way through it, in the order of the files:
//
//	Slice     one ResourceSlice, parsed once: who it targets, its devices' names
//	group     all slices of the newest generation of one pool
//	Pool      the group as the nodes that reach the same slices of it see it
//	Node      all pools that one node reaches, lined up as an index.Domain
//	Snapshot  the cluster at one moment; immutable
//	Inventory the persistent part: takes slice lists, reuses what did not change
//	Usage     which devices and counters the allocated claims hold
//
// Everything below Inventory is immutable once it can be seen, or filled under
// a lock with values that depend on nothing but what is immutable. So snapshots
// of different moments share all that did not change between them, and readers
// need no lock of their own.
//
// Upstream's rules about pools are in group.go and pool.go, each with the place
// in upstream where it can be read.
package inventory
