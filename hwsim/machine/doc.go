// Package machine holds simulated machines as data, and turns them into the
// devices of nodes.
//
// A machine is a YAML file: a node, a rack of nodes or a pool of devices behind a
// fabric. It says what sits where (PCI addresses, roots and bridges, NUMA nodes) and
// names the models; what a model is stands in files of its own, so that a machine
// stays short. A file of a user is a machine, and holds models of its own if it has any.
//
//	machines/*.yaml   the machines that hwsim has, one a file
//	models/*.yaml     GPUs with MIG profiles and virtual GPUs, NICs, FPGAs
//
//	Parse, ReadFile, Load   a file, or the name of an embedded one → Machine
//	Machine.Instantiate     Machine and Identity → hardware.Node, or several, or a pool
//	Machine.Resolved        Machine → its file with all that it refers to
//
// # How sure the figures are
//
// Real machines are not at hand, and sources differ in worth. So all figures carry
// Evidence beside them, in the file: where they come from, and whether they were
// read there, derived, known in general, or are doubtful. It is read with the file
// and shown by the hwsim command. A figure that nobody should build on is marked, not left
// out, unless what it would make is wrong as a whole: GPUs whose MIG engines are
// unknown cannot be partitioned here.
//
// # From text to machine
//
//	decode.go       YAML → File, strict, with the place of every field
//	problem.go      what is wrong with a file, each with line and field
//	checkmodels.go  models and tables: what contradicts itself
//	buildnode.go    File → node, with checks; buildgpu.go and buildnic.go likewise,
//	                pcitree.go for what is below what
//	instance.go     node → node of an identity
//
// Problems are collected, not returned at the first, in two steps: what the types of
// the fields rule out, and when there is none of that, what the values mean. So code
// after the first step may trust the shape of a File, and code that runs after all
// checks (from sorting the functions on) may index what it knows to be there.
//
// A Machine never changes. Instances share what is equal in all of them, so that
// thousands cost little more than their UUIDs; see Machine.Instantiate.
package machine
