// Command conformance runs upstream's own allocator test suite on Dray's
// allocator and prints, as its last line, "conformance: P of T".
//
// The suite is internal to the module k8s.io/dynamic-resource-allocation and
// stays there: nothing of it is committed. The command goes through these
// steps, one file each:
//
//	upstream.go    find the module, in the version that the allocator module uses
//	suite.go       read the suite's tables: the cases, by name, and their fields
//	deviations.go  the cases in which Dray must answer differently, and why
//	patch.go       edit the suite: expectations of those cases, and step counts
//	override.go    let upstream's public constructor return Dray's allocator
//	gomod.go       a go.mod and go.sum for the copy, in which it can import Dray
//	scratch.go     write the copy to build/scratch, or reuse the one from before
//	run.go         go test -json, one outcome for every case
//	report.go      print what was changed, what failed, and the figure
//
// The copy keeps its module path. Dray's allocator requires that module too,
// and gets the copy; there is no import cycle because the allocator imports
// only packages that do not import structured.
//
// Every edit states an anchor, a piece of upstream's text by its place in the
// syntax tree, and how often it has to be there. A missing anchor ends the run
// with the anchor's name. So does a suite that grew or shrank: T is counted in
// the tables, and compared with the number that was there when the deviations
// were last read against them.
//
// To patch a further file of the module, add a function to the list in
// plannedFiles (scratch.go).
//
// # The plugin
//
// With -plugin it runs, instead of the suite, the tests of the scheduler's
// in-tree plugin DynamicResources, and prints as its last line
// "conformance-plugin allocator-in-tree: N of M, K excepted". The tests are not
// touched: they are compiled from the module cache. What is patched is the module
// beneath them: NewAllocator of the copy returns Dray's allocator if an environment
// variable says so, and the same binary without it is the baseline.
//
//	plugin.go         find both modules, the exceptions and why, run the tests
//	pluginscratch.go  the copy, with a go.mod that builds kubernetes on it
//	pluginreport.go   what counts, what is excepted, and when the run fails
//	workloads.go      with -workloads: scheduler_perf's short workloads in its place
//
// The copy is the main module under its own path, with the go.mod of
// k8s.io/kubernetes: so it is what kubernetes imports, and kubernetes is built with
// the dependencies of its release. The copy prints a line when it makes Dray's
// allocator, and a run without that line fails.
package main
