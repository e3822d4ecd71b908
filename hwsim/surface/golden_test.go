package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// FileTree and Tree are for the tests outside of the package, which have the nodes
// and set FixedNodes.
type FileTree = tree

var (
	Tree       = build
	FixedNodes func(name string) *FileTree
)

// TestTreesAreAsKernelsAndDriversMakeThem shows pieces of the fixed nodes'
// surfaces: "tree node=mig" and in the input the beginnings of the names to show.
func TestTreesAreAsKernelsAndDriversMakeThem(t *testing.T) {
	datadriven.Walk(t, "testdata/trees", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "node", &name)
			tree := FixedNodes(name)
			lines := map[string]string{}
			for name, content := range tree.files {
				lines[name] = fmt.Sprintf(" = %s", strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n    "))
				if strings.ContainsRune(content, 0) {
					lines[name] = fmt.Sprintf(" = %d bytes", len(content))
				}
			}
			for name, target := range tree.links {
				lines[name] = " -> " + relative(name, target)
			}
			var text strings.Builder
			for _, name := range slices.Sorted(maps.Keys(lines)) {
				if slices.ContainsFunc(strings.Fields(d.Input), func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
					text.WriteString(strings.TrimRight(name+lines[name], " ") + "\n")
				}
			}
			return text.String()
		})
	})
}
