// Package allocatortest draws small random clusters and claims for testing an
// allocator, compares the answers of two allocators, and writes a failing case
// to disk as a folder that a human can read and a test can replay.
//
// [Scenarios] is a generator for pgregory.net/rapid. A drawn [Scenario] holds
// API objects only (nodes, slices, classes, claims) plus the features that are
// switched on, so that it works for every implementation that has the
// parameters of structured.NewAllocator. Each scenario first draws a plan: a
// handful of [Feature] values that it shall use together. That is what makes
// every pair of features meet often enough; [Uses] then says which features a
// node of the finished scenario really puts to use, because a plan may fail.
//
// Objects are valid by API validation, with exceptions that an allocator must
// survive: pools with duplicate device names, missing counter sets or slices
// that disagree, selectors that do not compile, versions that do not parse,
// node selectors with an unknown operator, negative and absurd capacities,
// defaults outside of their policy, and fields that are empty because a newer
// API server has filled others.
//
// The files, in the order in which a scenario comes into being:
//
//	draw.go        decisions with even odds on top of rapid
//	feature.go     the features that are planned, measured and counted
//	plan.go        which features this scenario shall use, and which are off
//	vocabulary.go  the few names and CEL expressions that everything is made of
//	generate.go    the order of things; nodes and classes
//	pools.go       pools, slices and how they reach nodes; broken pools
//	devices.go     attributes, taints, conditions, counters
//	capacity.go    capacities with request policies, and requests for them
//	requests.go    requests and their alternatives
//	claims.go      claims, constraints, configuration
//	allocated.go   claims that already hold devices
//	stamp.go       UIDs and resource versions that follow the content
//	view.go        what one node sees of the pools
//	usage.go       which features a scenario uses on a node
//
// and what is done with it:
//
//	outcome.go     an answer: fits, does not fit, failed on node, error, gave up
//	compare.go     two answers, compared modulo share IDs
//	shrink.go      the smallest scenario that still fails
//	casefolder.go  writing a case folder; casereader.go reads it
//
// The cases from public reports (allocator/testdata/public) are about a pod in a
// cluster instead of claims on nodes:
//
//	publiccase.go  reading such a folder
//	publicpod.go   from a pod to the claims that a scheduler would ask about
//	publiccheck.go an answer compared with what the case expects
//	gates.go       the feature gates of a stock cluster, and those that a case adds
package allocatortest
