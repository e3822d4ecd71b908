// Package gate holds counted work to ranges that are checked in: steps of the
// search, evaluations of CEL expressions and allocations of one operation, for
// every family at its gate size. The counts are exact, so that a change that
// makes one grow is seen without a stopwatch, on any machine.
//
// ranges.yaml holds the ranges, each with the reason why it is what it is. A
// count below its range fails as well: then the range is to be tightened, or the
// family does not do any more what it was for. Beside the ranges, no family may
// take more steps than upstream's search, which is run along.
package gate
