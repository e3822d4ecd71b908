// Package request turns claims into a search.Problem for one node.
//
// It works in two halves. Compile reads what the claims and their classes say,
// which is the same for every node. Bind adds what one node has: it works out
// as bitsets which devices each request may take, numbers attribute values for
// constraints, and puts capacity into vectors.
//
// Upstream checks claims request by request, and finds the devices of a request
// for all while it does so; the first thing wrong is its error. So Compile keeps
// an error where it found it, and Bind returns it when it comes there.
//
// The error sentences are upstream's, word for word where upstream has one:
// people search for them and its tests assert them.
package request
