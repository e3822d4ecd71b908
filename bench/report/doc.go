// Package report turns results in the Go benchmark format into what people
// read: tables for a terminal and for docs/benchmarks.md, and JSON.
//
// Everything is computed from the results alone, so that a table can be made
// again from a file, and by anybody. Times are medians with the interval that
// holds the median with 95 % confidence; a ratio's interval goes from the lower
// end of one over the upper end of the other to the opposite, which is wider
// than it has to be. Where the two cannot be told apart (Mann-Whitney U test,
// p >= 0.05) the ratio is "~". All of that is golang.org/x/perf's.
//
// The files: results.go reads, statistics.go summarises, columns.go and table.go
// lay out for a terminal, targets.go holds what the design promises, and
// markdown.go and json.go write the other two forms.
package report
