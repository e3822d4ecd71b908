// Package scenario reads scenarios: files that say what happens to a simulated
// machine and when.
//
//	name: a GPU falls off the bus
//	seed: 1
//	steps:
//	- at: 10s
//	  xid: {gpu: any, code: 79}
//	- at: 40s
//	  reboot: {}
//
//	Parse, ReadFile, Load   a file → Scenario, strict, problems with line and field
//	Scenario.Plan           Scenario and what devices there are → steps by time
//
// Nothing happens here: command hwsim runs a plan on a folder of package state.
// A scenario is checked as a whole before its first step, so that one that names
// what is not there does nothing.
//
// # What is where
//
//	scenario.go  the file, Parse and Plan; the faults are package fault's
//	embedded.go  the scenarios that hwsim has
//	scenarios/   their files
package scenario
