// Package repolint keeps the rules of this repository that a compiler does not
// know: who may import whom, one Kubernetes version, documents whose links and
// commands lead somewhere and whose Go code is compiled, nothing that only works
// on one machine, and a doc comment on every package.
//
// A rule is data with a reason (importrules.go, paths.go), or a function that
// builds the reason into what it reports. A check takes a [Tree], which is
// nothing but paths and contents, and returns a [Finding] for each violation.
// So each check is tested twice: on a tiny tree that breaks it, beside the
// check, and on the repository, in repository_test.go, which is where `make
// test` fails.
//
// To add a rule, add an entry to the data or a new check, a tree that violates
// it to the check's own test, and a line to repository_test.go if the check is
// new. A rule without a test that shows it failing is not accepted.
package repolint
