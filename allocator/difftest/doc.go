// Package difftest proves that the allocator gives upstream's answer. It has
// only tests.
//
// TestDifferential draws scenarios from allocatortest, one per seed, and asks
// upstream's experimental allocator, upstream's incubating allocator where it
// has the features, and ours, node by node. Whole results, classes and texts of
// errors must be equal; ours may not search more steps; inputs must stay as
// they were. One inventory of ours serves all nodes of a scenario and all
// scenarios of a block, so that a stale cache shows.
//
// Where ours is meant to differ, deviations_test.go has a predicate for each
// entry of docs/deviations.md, and what to expect instead. An answer that no
// predicate covers is a difference: it is shrunk and written as a case folder
// for testdata/cases, which TestReplay runs for ever.
//
// The run prints for each feature how often it was used and how often it could
// be satisfied, and fails when a feature or a pair of features is starved.
//
// Environment:
//
//	DRAY_DIFFTEST_CASES     number of cases (a scenario on a node), default 2000, in short mode 300
//	DRAY_DIFFTEST_DURATION  run this long instead, for example 30m
//	DRAY_DIFFTEST_SEED      first seed; the default is fixed
//	DRAY_DIFFTEST_FOLDER    where case folders of failures go, default a temporary one
package difftest
