// Package contender gives the implementations that are compared one shape: ours
// and the two of upstream that Kubernetes 1.37 can run.
//
// A [Contender] starts on a case and gets a [Session], which stands for one
// process of that implementation: it lives through many operations, so that
// what is remembered between them is remembered. [Session.Do] is what is timed;
// [Session.Work] is what was counted meanwhile.
//
// Built with the tag draygate_waste, ours does everything twice. That is there to
// see the gate fail.
package contender
