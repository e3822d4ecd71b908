// Package engine is how NVIDIA's GPUs behave: what becomes of a wish to
// partition one, to host a virtual GPU on it, to reset it, and what breaks. It is
// pure. There are no files and no goroutines, and time is a clock that is given.
//
//	node    what the machine is and never changes   *hardware.Node
//	State   all that changes, and can be encoded     New(node), JSON
//	Engine  the calls over the two                   Open(node, state, clock)
//
// An Engine belongs to one goroutine, and its State to it. Who wants several
// processes to see the same GPUs keeps the State where all of them reach it and
// opens an Engine for each call.
//
// A call happens wholly, or returns an error and changes nothing. Errors match
// the values in hardware's gpuerror.go, as NVML's codes would.
//
// # What is where
//
//	state.go     State, what is true of it; clone.go copies
//	validate.go  State.Validate: a State that was read from somewhere
//	engine.go    Engine: opening, the node as it is now
package engine
