// Package runner measures cases and writes what it measures in the Go benchmark
// format, one line for each sample:
//
//	BenchmarkAllocate/family=F3/n=16/c=4/impl=dray-2  4096  12034 ns/op  0 B/op  0 allocs/op  2 steps/op  0 cel-evals/op
//
// Implementations take turns: each round takes one sample of every one, so that
// whatever else the machine does hits all alike, and only ratios within one run
// are worth quoting. Before any sample the answers are compared; a case on which
// implementations disagree ends the run with an error.
//
// An operation that does not end within the limit is not repeated. Its line has
// the unit limit-sec instead of ns/op: the time after which it was given up.
//
// The files: runner.go goes through the cases, sample.go measures, record.go
// writes lines and memory.go measures the size of an inventory.
package runner
