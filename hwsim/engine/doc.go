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
// Processes of several programs share GPUs through a Store, which opens an Engine
// for each call; NewBackend makes a gpulib.Backend of it, and so the GPU library
// that a driver calls. Only the Backend waits: destroying an instance takes about a
// second, in which the State says that it is being destroyed.
//
// # What is where
//
//	state.go     State, what is true of it; clone.go copies
//	validate.go  State.Validate: a State that was read from somewhere
//	engine.go    Engine: opening, the node as it is now
//	call.go      what all calls have in common
//	mig.go       MIG mode, GPU instances, compute instances
//	vgpu.go      virtual GPUs
//	process.go   who uses a GPU
//	health.go    faults; xid.go what follows from an XID
//	reset.go     what a reset and a reboot lose
//	events.go    what the library reports
//	backend.go   Store, Backend
//
// # How sure
//
// Placements, sizes and maxima are the machine's, with their marks there. Marks of
// what the engine adds stand beside it. The weakest: which errors a driver answers
// with where several would do; that compute instances can lie anywhere in their
// GPU instance; which GPU instance a virtual GPU gets; times other than the second
// of a destruction; that an XID that wants a reset makes the GPU refuse changes.
package engine
