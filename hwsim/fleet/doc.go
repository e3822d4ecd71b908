// Package fleet makes clusters of simulated machines: the Node objects and the
// ResourceSlices of thousands of nodes, and the DeviceClasses that select among
// them, from a list of machines and a seed.
//
//	fleet.New(Spec)   everything that can be wrong is found here
//	Fleet.Members     one node, rack place or fabric pool at a time
//	Fleet.Write       the same as YAML documents or JSON lines
//
// A fleet is never in memory as a whole: members are made when they are asked
// for, so its size costs time only. The same Spec gives the same bytes.
//
// What is where: spec.go is what a fleet is made of, fleet.go goes through it,
// names.go fills in the templates, node.go makes the Node objects, write.go the
// output.
package fleet
