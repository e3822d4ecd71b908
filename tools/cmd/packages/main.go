// Command packages prints the packages that match its arguments, one on a line:
// those that link a given package or module, or those that do not. Test files
// count, because whoever vets a package compiles them too.
//
// The Makefile uses it to keep what links k8s.io/kubernetes, which takes long to
// compile, out of the quick targets:
//
//	packages -without k8s.io/kubernetes ./allocator/... ./tools/...
//	packages -with k8s.io/kubernetes ./allocator/... ./tools/...
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/dray-dev/dray/tools/linked"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "packages: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	with := flags.String("with", "", "print the packages that link this import path or one below it")
	without := flags.String("without", "", "print the packages that do not")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (*with == "") == (*without == "") || flags.NArg() == 0 {
		return errors.New("give either -with or -without an import path, then the packages to choose from")
	}
	graph, err := linked.List(".", true, flags.Args()...)
	if err != nil {
		return err
	}
	target := linked.Below(*with + *without)
	for _, name := range graph.Packages() {
		if links := graph.Chain(name, target) != nil; links == (*with != "") {
			fmt.Fprintln(out, name)
		}
	}
	return nil
}
