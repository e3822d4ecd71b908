package repolint

import "testing"

func TestGoSamplesAreCompiled(t *testing.T) {
	tree := Tree{
		"README.md": "# A\n\n```go\npackage a\n\nimport \"fmt\"\n\nfunc f() {\n\tfmt.Println(1)\n}\n\nfunc g() {}\n```\n\n" +
			"```go\nfmt.Println(\n```\n\n```sh\nfunc h\n```\n",
		"a/example_test.go": "package a_test\n\nimport \"fmt\"\n\nfunc f() {\n\tfmt.Println(1)\n}\n",
		"a/a.go":            "package a\n\nfunc g() {}\n",
	}
	expect(t, CheckSamples(tree),
		"README.md:12: Go sample is in no test: func g() {}",
		"README.md:16: Go sample is not a file of Go: README.md:1:1: expected 'package'",
	)
}
