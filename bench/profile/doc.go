// Package profile records where an implementation spends its time and memory on
// a case: CPU samples (runtime/pprof), wall-clock samples, which also show
// waiting (github.com/felixge/fgprof), and allocations.
//
// The two kinds of samples are taken one after the other, for each disturbs the
// other. All files are in pprof's format.
package profile
