// Package examples reads the folders of deploy/examples, and runs them on a cluster:
// each README is a test, whose commands are run and whose output is compared.
//
//	Load         the examples, in the order of their list
//	Example.Run  one, with what a caller wants to see before it is cleaned up
//	Rows         which pods an example has, where they are and what they were given
//	Together     several at a time, so that none takes what another shows
//	Changes      when to ask the cluster again
//	Names        how nodes are called that are called otherwise in READMEs
//	Fleet        the nodes that they need; PublishOthers, what no driver publishes
//
// The demonstration and the suite run the same examples, through this package.
//
// # What must stay true
//
//  1. Every folder is in the list of deploy/examples/README.md, and every manifest in
//     a command of its folder's README: what is not run is not shown.
//  2. A README deletes what it applies, so that examples can follow one another.
//  3. An example runs on the suite's kind cluster as well, or its README says why not.
package examples
