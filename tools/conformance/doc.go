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
// With -suite it runs, instead of that suite, others of upstream's, which are about
// the scheduler's plugin DynamicResources, and prints for each of them, by its name,
// "conformance-plugin NAME: N of M, K excepted". N + K = M, or the run fails. It
// says how long each was compiled and run.
//
//	allocator-in-tree            the in-tree plugin's tests, Dray's allocator inside
//	allocator-in-tree-workloads  scheduler_perf's short workloads, the same way
//	testplugin                   the cases of its TestPlugin, on DrayDynamicResources
//	plugin-tests                 its other tests that can reach another plugin
//	integration-default          test/integration/dra: API server, etcd, controller of
//	integration-all              claims, and a scheduler with DrayDynamicResources, by
//	                             default or with all features but one
//
// In the first two the tests are not touched: they are compiled from the module
// cache. What is patched is the module beneath them: NewAllocator of the copy returns
// Dray's allocator if an environment variable says so, and the same binary without it
// is the baseline. The copy is the main module under its own path, with the go.mod of
// k8s.io/kubernetes: so it is what kubernetes imports, and kubernetes is built with
// the dependencies of its release.
//
// For the others the packages with the tests are copied, into a module of their own
// with the same dependencies. The copies differ from upstream's in a few places that
// make a plugin, a scheduler or its configuration; upstream's package where it is, is
// the baseline. The manager of claims stays upstream's, because tests look into it.
// The scheduler of the integration tests has the configuration in deploy/scheduler.
// Reasons are upstream's, because tests compare them.
//
//	plugin.go         find both modules, compile and run the suites
//	pluginsuites.go   the suites, their exceptions and why; tests left out and why
//	testbinary.go     compile the tests of a suite, run them
//	pluginreport.go   what counts, what is excepted, and when the run fails
//	pluginscratch.go  the copy with the patched allocator, its go.mod
//	plugincopies.go   the module of copied tests, its go.mod
//	pluginunit.go     the copy of the plugin's own tests
//	integration.go    the copy of the integration tests
//	workloads.go      the workloads, and etcd
//
// An exception has a reason and the text that its failure prints. The run fails if
// it passes, fails with another text, or is gone; so it does if the number of tests
// is not the one that was there when the suites were last read. Tests of the plugin's
// package are in one of the lists of pluginsuites.go: a new one ends the run. What is
// Dray's prints a line when it is made, and a run without that line fails.
package main
