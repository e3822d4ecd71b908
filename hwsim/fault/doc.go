// Package fault is what can go wrong with a simulated machine, as data: a Fault
// names a device and what happens to it, and its Signs are what a driver must let
// the cluster see.
//
//	scenario file or command ──► Fault ── Check ──► fits the machine, or says why not
//	                                    ── Signs ──► taints, conditions, attributes, events
//	                                    ── state.Tx.Inject ──► the hardware breaks
//
// The package breaks nothing itself and knows no files; package state does.
//
// Faults are of two kinds. Those of hardware change what a driver reads: files,
// the GPU library and its events. Those of a driver (Instruction) are recorded in
// the machine's state and obeyed by the simulated driver, because no hardware can
// make a driver publish half of its slices.
//
// # What is where
//
//	fault.go   the kinds of fault and their fields
//	check.go   what is wrong with one: in itself, and on a machine
//	xid.go     the catalog of XIDs
//	sign.go    what a driver must show
package fault
