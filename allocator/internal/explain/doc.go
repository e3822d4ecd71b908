// Package explain says why claims do not fit on a node.
//
// It is asked after the fact, by a person or on a failure, and never runs on the
// way to an allocation. It looks at the same bitsets that request.Bind works
// with, and asks the same search. In the order of the files:
//
//	explanation.go  what is said: plain values with stable JSON names
//	binding.go      the causes, and what each of them carries
//	explain.go      the order of questions, from the outcome to the first cause
//	funnel.go       how many devices each request has left after each stage
//	problem.go      the stages that only a search.Problem knows: counters, groups, constraints
//	alone.go        the cause where a request cannot be met even by itself
//	probe.go        searches with a limit, over parts of the problem
//	together.go     the cause where requests cannot be met together
//	miss.go         why one device was not taken
//	verdict.go      the sentence alone, once for all nodes that pose the same problem
//	sentence.go     the sentence for the node's status
//	text.go         the page for a terminal
//	cluster.go      nodes grouped by sentence
//
// # When a cause is said to bind
//
// Every cause that is named is one whose removal changes something. There are
// two ways to find one:
//
//   - Alone. The request is followed through the stages by itself, in the state
//     before the search. The first stage after which fewer devices are left than
//     it wants cannot be passed, whatever the other requests do. What removed the
//     devices there is the cause.
//   - Together. No request is short alone, and still the search fails. The first
//     prefix of the requests that does not fit names the request. Then one thing
//     is lifted at a time (a constraint, the counters, the groups, the capacity)
//     and the prefix is searched again: what makes it fit is the cause. If nothing
//     does, the devices themselves are too few, and the smallest set of requests
//     that does not fit is named.
//
// # Bounds
//
// A search enters at most Question.Steps nodes of its tree, and all searches of
// one explanation after the first one together at most 16 times as many. Where that does not suffice
// the cause is Undecided, which is the truth. Lists in an explanation hold at
// most a handful of entries.
package explain
