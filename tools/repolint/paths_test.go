package repolint

import "testing"

// The texts are put together here, so that this file itself passes.
func TestTextsOfOneMachine(t *testing.T) {
	tree := Tree{
		"docs/a.md":    "fine\nsee /" + "work/main and /" + "tmp/out\n",
		"script.sh":    "cd \"/" + "root/dray\"\ncp x /" + "tmp/y\n",
		"fine.sh":      "cd ../work/main; cat a/root/b; ls ${DIR}/home/x\n",
		"Makefile":     "export GO" + "PROXY := https://mirror.example.com\n",
		"tools/get.go": "// from https://proxy." + "golang.org/x\n",
		"image.png":    "\x00/" + "root/x",
		"go.sum":       "sum." + "golang.org",
	}
	expect(t, CheckPaths(tree, PathRules),
		`Makefile:1: setting of a module proxy "GO`+`PROXY"`,
		`docs/a.md:2: machine path "/`+`work/"`,
		`docs/a.md:2: temporary path "/`+`tmp/o"`,
		`script.sh:1: machine path "/`+`root/"`,
		`tools/get.go:1: module proxy or package registry "proxy.`+`golang.org"`,
	)
}
