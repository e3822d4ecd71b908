// Package suite is what Dray promises on a cluster: one file for each promise, which
// says what a user may rely on and what is done to find out.
//
//	make e2e-local                                    on a local cluster that it makes
//	make e2e                                          on a kind cluster that it makes
//	go test ./e2e/suite -kubeconfig FILE [facts]      on any other
//
// Without a cluster to run on, go test says so and passes nothing.
//
// # Facts
//
// A cluster is known by its kubeconfig and a few facts, which are flags (facts_test.go):
// the driver's name, the DeviceClasses of GPUs and of MIG partitions, the image of
// containers. The nodes need at least two GPUs each on two nodes; promises about
// partitions need a node with MIG.
//
// # Hands
//
// Some promises are about servers that end, drivers that are updated, nodes that are
// lost, hardware that breaks. Those need [hands]: ways to do that to the cluster, which
// there are to those that the suite makes. Where there are none the promise is skipped, and
// says so. A few promises are about processes in containers, or about hollow ones: they
// are skipped where there are none of that kind.
//
// # What is left of a failure
//
// A test that fails leaves a folder, which its output names: the events and objects of
// its namespace, slices, claims, nodes, and the logs of the servers if the hands reach
// them. Namespaces are deleted after each test, and nothing else of a test stays in the
// cluster.
//
// # What is where
//
//	main_test.go     the environment (sigs.k8s.io/e2e-framework)
//	local_test.go    the local cluster, and hands to it
//	kind_test.go     the kind cluster, and hands to it
//	facts_test.go    the facts
//	hands_test.go    the hands
//	scene_test.go    a namespace, and what is asked of it
//	objects_test.go  pods, claims and templates, in a line each
//	keep_test.go     what is left of a failure
//	examples_test.go those of deploy/examples that kind's machines can serve
//	NAME_test.go     a promise
package suite
