package repolint

import (
	"slices"
	"testing"
)

func TestLinksThatLeadSomewhere(t *testing.T) {
	tree := Tree{
		"README.md": "# Dray\n\nSee [the tree](docs/architecture.md#one-claims-life), [code](allocator/a.go#L2),\n" +
			"[a directory](allocator), [itself](#dray), [elsewhere](https://example.com/missing) and [by name][design].\n\n" +
			"[design]: docs/architecture.md#use-of-make-test-1\n",
		"docs/architecture.md": "# One claim's life\n\n## Use of `make test`\n\n## Use of `make test`\n\n" +
			"    [not a link](in/code.md)\n\n| up |\n|---|\n| [home](../README.md) |\n",
		"allocator/a.go":              "package allocator\n// two\n",
		"allocator/testdata/input.md": "[broken](on/purpose.md)\n",
	}
	expect(t, CheckLinks(tree))
}

func TestLinksThatLeadNowhere(t *testing.T) {
	tree := Tree{
		"docs/a.md": "# A\n\n[gone](gone.md)\n\n[heading](b.md#no)\n\n![image](b.png)\n\n[root](/docs/b.md)\n\n" +
			"[above](../../b.md)\n\n[line](b.go#L9)\n\n[directory](.#a)\n\n<a href=\"b.md\">raw</a>\n\n[url](%zz)\n\n" +
			"| t |\n|---|\n| [cell](gone.md) |\n\n[by name][n]\n\n[n]: gone.md\n",
		"docs/b.md": "# B\n",
		"docs/b.go": "package b\n",
	}
	expect(t, CheckLinks(tree),
		"docs/a.md:17: link or anchor in raw HTML",
		`docs/a.md:3: link "gone.md" leads to docs/gone.md`,
		`docs/a.md:5: link "b.md#no": docs/b.md has no heading #no`,
		`docs/a.md:7: link "b.png" leads to docs/b.png`,
		`docs/a.md:9: link "/docs/b.md" begins at a root`,
		`docs/a.md:11: link "../../b.md" leads to ../b.md`,
		`docs/a.md:13: link "b.go#L9": docs/b.go has no place #L9`,
		`docs/a.md:15: link ".#a": docs has no place #a`,
		`docs/a.md:19: link "%zz" is not a URL`,
		`docs/a.md:23: link "gone.md" leads to docs/gone.md`,
		`docs/a.md:25: link "gone.md" leads to docs/gone.md`,
	)
}

func TestMakeCommandsNameTargets(t *testing.T) {
	tree := Tree{
		"Makefile": ".PHONY: test fuzz\nVARIABLE := x\ntest: ## runs tests\n\tgo test\nfuzz: test ## fuzzes\n",
		"README.md": "Run `make test` and `make fuzz FUZZTIME=10s`, and make sure; `make tset` is wrong.\n\n" +
			"```sh\n$ make test && make bench  # make nothing\nV=1 make -j2 lint\nmake\n```\n",
	}
	expect(t, CheckMakeCommands(tree),
		"README.md:1: `make tset` is no target",
		"README.md:4: `make bench` is no target",
		"README.md:5: `make lint` is no target",
	)
}

func TestMakefileTargetsAreDescribedAndPhony(t *testing.T) {
	expect(t, CheckMakeCommands(Tree{"Makefile": ".PHONY: test\n\ntest:\n\ttrue\nbuild: ## compiles\n"}),
		"Makefile:3: target test has no description",
		"Makefile:5: target build is not phony",
	)
}

// FuzzReadMarkdown looks for a document that makes the reader or the checks
// over it panic, or that makes them answer differently the second time.
func FuzzReadMarkdown(f *testing.F) {
	f.Add("# A\n\n[a](#a) `make test`\n")
	f.Add("| a |\n|---|\n| ![](b.md#L1) |\n<a id=\"x\">\n")
	f.Add("```\nA=1 make x; (make y)\n")
	f.Add("```go\npackage a\n\nfunc f() {}\n```\n")
	f.Fuzz(func(t *testing.T, content string) {
		tree := Tree{"a.md": content, "Makefile": content}
		if !slices.Equal(CheckLinks(tree), CheckLinks(tree)) {
			t.Error("two reads of the links differ")
		}
		if !slices.Equal(CheckMakeCommands(tree), CheckMakeCommands(tree)) {
			t.Error("two reads of the commands differ")
		}
		if !slices.Equal(CheckSamples(tree), CheckSamples(tree)) {
			t.Error("two reads of the samples differ")
		}
	})
}
