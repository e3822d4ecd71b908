// Package search finds the devices for a pod's claims on one node.
//
// A Problem says what is asked for and what the node has, in positions of an
// index.Domain; Run returns the first Solution in upstream's order: claims,
// requests and alternatives as listed, devices by rising position, the devices
// of one request in rising order only. It is a depth-first walk over the same
// tree that upstream's allocator walks, step for step: the faithful order. So
// the first solution found is upstream's answer, the fault reached first is
// upstream's error, and Steps equals upstream's count of allocateOne calls.
//
// Everything that does not depend on what has been taken so far is in bitsets
// before the walk begins; what does depend on it (devices taken, counters,
// groups, shares, constraint values) is kept in the walk's state and undone on
// the way back.
//
// The package is pure: no API types, no clock, no logger; only the standard
// library and the packages index and bitset.
package search
