// Package linked tells what Go packages link: not the imports that their files
// name but everything behind them, the test binary's part included.
//
// [List] asks the go command once for the whole import graph. [Graph.Chain]
// then answers "does this package link that one, and through whom", which is
// what a rule about linking has to tell its reader.
package linked

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Graph is an import graph. Test variants that the go command builds apart, such
// as the test binary of a package, are nodes of their own, named as the go
// command names them.
type Graph struct {
	// Imports is each node's direct imports, in the go command's order.
	Imports map[string][]string
	// Nodes is, for each package that was asked for, the package itself and,
	// if tests were asked for, its test variants.
	Nodes map[string][]string
}

// listed is what is read of the go command's answer for one node.
type listed struct {
	ImportPath string
	ForTest    string
	DepOnly    bool
	Imports    []string
}

// List reads the import graph behind the packages that match the patterns, as
// the go command sees them from dir. The go command's own message is part of
// the error when a package does not load.
func List(dir string, tests bool, patterns ...string) (*Graph, error) {
	args := []string{"list", "-deps", "-json=ImportPath,ForTest,DepOnly,Imports"}
	if tests {
		args = append(args, "-test")
	}
	list := exec.Command("go", append(append(args, "--"), patterns...)...)
	list.Dir = dir
	var problems bytes.Buffer
	list.Stderr = &problems
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages %s: %w: %s", strings.Join(patterns, " "), err, &problems)
	}
	return read(bytes.NewReader(out))
}

func read(out io.Reader) (*Graph, error) {
	graph := &Graph{Imports: map[string][]string{}, Nodes: map[string][]string{}}
	for decoder := json.NewDecoder(out); ; {
		var node listed
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return graph, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the go command's package list: %w", err)
		}
		graph.Imports[node.ImportPath] = node.Imports
		if node.DepOnly {
			continue
		}
		// The generated main package of a test binary has no ForTest.
		name := strings.TrimSuffix(node.ImportPath, ".test")
		if node.ForTest != "" {
			name = node.ForTest
		}
		graph.Nodes[name] = append(graph.Nodes[name], node.ImportPath)
	}
}

// Packages returns the packages that were asked for, sorted.
func (g *Graph) Packages() []string {
	var packages []string
	for name := range g.Nodes {
		packages = append(packages, name)
	}
	slices.Sort(packages)
	return packages
}

// Chain returns a shortest chain of imports from a package that was asked for
// (or from one of its test variants) to a package for which target is true,
// both ends included, and nil if it links none. Among equally short chains the
// one that the go command lists first is taken.
func (g *Graph) Chain(name string, target func(importPath string) bool) []string {
	queue := slices.Clone(g.Nodes[name])
	from := map[string]string{}
	for _, node := range queue {
		from[node] = ""
	}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		if target(node) {
			return chainTo(node, from)
		}
		for _, imported := range g.Imports[node] {
			if _, seen := from[imported]; !seen {
				from[imported] = node
				queue = append(queue, imported)
			}
		}
	}
	return nil
}

func chainTo(node string, from map[string]string) []string {
	var chain []string
	for ; node != ""; node = from[node] {
		chain = append(chain, node)
	}
	slices.Reverse(chain)
	return chain
}

// Below returns a target for [Graph.Chain]: the packages with one of these
// import paths, and those below them.
func Below(prefixes ...string) func(importPath string) bool {
	return func(importPath string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool {
			return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
		})
	}
}
