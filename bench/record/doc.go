// Package record writes measurements in the Go benchmark format, one line for each
// sample, below what is to be known about the machine and the units:
//
//	BenchmarkAllocate/family=F3/n=16/c=4/impl=dray-2  4096  12034 ns/op  0 B/op  0 allocs/op
//
// Package report reads them.
package record
