// Package console runs the commands that documents show, and compares what they print
// with what the documents say.
//
//	Parse       a document's console blocks become sessions of steps
//	Match       what was printed against what is shown
//	Shell.Run   runs a step, and a question until its answer is as shown
//
// # How a document is written
//
// A fenced block with the language console is run, each other one is not:
//
//	```console
//	$ kubectl apply -f deploy/examples/taints/rule.yaml
//	$ kubectl get pods -n taints \
//	    -o custom-columns-file=deploy/examples/pods.columns
//	POD     NODE     STATUS
//	serve…  l40s-0   Running
//	```
//
// A line that begins with "$ " is a command for sh; a backslash at its end continues
// it. The lines below it are what it prints. None of them: it may print anything.
// Spaces count as one, whatever their number. "…" stands for any characters, also
// none, within a line, and alone on a line for any number of lines.
//
// A command that changes something is run once, and must print at once what is shown.
// One that asks (see [Step.Asks]) is repeated until it does, because a cluster gets
// there in its own time. "! " before a command says that it fails, as "$ ! kubectl
// apply -f wrong.yaml": what it prints on standard error is then compared as well.
package console
