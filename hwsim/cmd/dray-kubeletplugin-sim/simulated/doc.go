// Package simulated is the machines of the simulated driver: hardware folders, and
// what their instructions do to the driver.
//
//	machine.go   the flags, and folders → nodes
//	obey.go      instructions: late, half-published, vanished, slow
//	transport.go requests that do not get through while slices are to be missing
package simulated
