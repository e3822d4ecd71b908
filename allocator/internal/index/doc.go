// Package index describes the devices that one node can reach, as numbers.
//
// A Pool is one resource pool as the nodes of one kind see it: its devices are
// numbered [0, Devices) in upstream's order (slices by name, devices as
// listed), and everything the search asks about a device is a bit or an entry
// under that number. A Domain lines the pools of a node up, each from a word
// boundary on, in upstream's order (by driver and pool name, pools with binding
// conditions last); a device's place in it is its position. Trying positions in
// increasing order is therefore upstream's first-fit order, and a node is a
// range of words.
//
// A Pool is immutable once it is built and shared by all snapshots, nodes and
// goroutines that see it. What changes with every allocation (devices in use,
// counters left) is computed from it and lives elsewhere.
//
// The package knows no API types: internal/inventory fills it. Only the
// standard library and internal/bitset are used.
package index
