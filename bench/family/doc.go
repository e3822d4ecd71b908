// Package family holds the inputs that Dray is measured on: clusters and claims
// in API objects, each made by a function of its size, always the same for the
// same size.
//
// A [Family] is one way in which allocating gets expensive. F1 to F16 are
// searches, most of them exponential for a search that only backtracks; where
// the number of its steps has a closed form, the case carries it. P2 to P9 and
// the rest are cheap to search and expensive in everything around it: converting
// devices, evaluating selectors, looking at slices of other nodes.
//
// [All] lists them. A family has sizes for three uses: Test sizes on which every
// implementation is compared in seconds, one Gate size on which work is counted
// exactly, and Bench sizes that are timed. The answers and the formulas are
// compared with upstream's in the tests of package contender.
//
// The files: family.go and size.go say what a family is, object.go builds API
// objects, all.go lists the families, and the others hold them by what makes
// them hard.
package family
