// Package publish turns the model of a node's devices into the ResourceSlices
// that announce them, and knows the DeviceClasses that select them.
//
// It is the one builder of slices: the driver on a real host, simulated machines
// and fleets of them all call it, so what is learned on one holds on the others.
// It is pure. Time, randomness and clients stay outside, and the same Node, State
// and Options give the same bytes.
//
//	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
//	pools, err := publisher.Node("node-1", node, publish.State{})
//
// A Publisher keeps what devices of one model have in common, so one Publisher
// for a whole fleet is much faster than one for each node. Slices share maps and
// pointers for the same reason: whoever wants to change one makes a DeepCopy.
//
// # What is where
//
//	options.go        what to publish, under which names, for which API server
//	state.go          what changes while a node runs: generations, taints, withdrawals
//	publisher.go      Publisher; the order of drivers
//	slices.go         devices and counter sets → slices: the splitting
//	limits.go         what the API server admits, by Kubernetes minor
//	check.go          a device against these rules; what breaks one is left out, with an
//	                  error that names the field
//	names.go          names of objects and devices; find.go the way back
//	attribute.go      attributes that all drivers share
//	nvidia.go         NVIDIA GPUs; mig.go their partitions; vgpu.go virtual GPUs
//	amd.go            AMD GPUs and their partition modes
//	dranet.go         network functions as dranet publishes them
//	sriov.go          virtual functions as the SR-IOV driver publishes them, and our
//	                  model of a port whose bandwidth is shared
//	fpga.go           FPGA cards, regions, bitstreams
//	computedomain.go  IMEX channels and daemons
//	fabric.go         devices that are attached on demand
//	class.go          DeviceClasses
//
// # Whose model it is
//
// Names, types and values of attributes, names of devices and their order are
// those of the drivers that users know (NVIDIA's, AMD's, dranet, the SR-IOV
// driver, the composable-disaggregated-infrastructure driver), whatever name the
// driver itself goes by. Three models are Dray's own, because nobody publishes
// such devices: virtual GPUs, ports with shared bandwidth, FPGAs.
//
// Two differences are deliberate. dranet leaves out interfaces that lead to the
// default gateway, and the SR-IOV driver functions that no policy chooses; which
// those are is no matter of hardware, so both are published, and who must not have
// one leaves it to a selector, or withdraws it (State).
//
// What the API server would drop is never published: it drops fields of disabled
// features without a word, and partitions without their counters look free while
// they overlap. Where an option asks for what the server does not keep, New
// fails; where a device merely has more to say, the rest of it is published.
package publish
