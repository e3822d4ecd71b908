// Package scheduling measures the scheduler plugin beside Kubernetes' own one,
// each inside the scheduler's real framework, with its real manager of claims and
// real informers, over an API in memory.
//
// A [Case] is a cluster and the pods that come to it. Each of the two plugins
// lives in a world of its own (world.go), and both read the very same nodes,
// slices and claims. Before anything is timed, what they say about every node is
// compared, and the devices that each would take there; what is timed is compared
// again as it goes. A case on which they disagree ends the run with an error, so
// different work is never compared.
//
// What is timed is one of two operations:
//
//	Plugin   PreFilter, Filter of the nodes, Reserve and Unreserve, of one pod after
//	         the other; nothing is written and the cluster stays as it is
//	Pods     whole cycles, from PreFilter to PreBind, of pods that come in a row and
//	         fill the cluster; binding runs beside the next cycle, as in the scheduler
//
// Filter runs with the framework's parallelism, 16 goroutines. Plugin asks all
// nodes of the case. Pods stops when it has as many as the scheduler would look
// for, and takes the first of them in turn, so that both plugins place every pod on
// the same node.
//
// An operation that does not end within the limit is given up: then the nodes that
// were reached are compared, and the result is the limit.
//
// The files: cases.go lists the cases and cluster.go builds their objects, api.go
// is the API in memory and view.go what both plugins read from it, world.go and
// cycle.go are the scheduler around a plugin, outcome.go compares, run.go measures.
package scheduling
