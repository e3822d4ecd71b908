package repolint

import "testing"

func TestPackageDocs(t *testing.T) {
	expect(t, CheckPackageDocs(Tree{
		"a/a.go":          "// Package a is documented.\npackage a\n",
		"a/b.go":          "package a\n",
		"a/a_test.go":     "// anything\npackage a_test\n",
		"onlytests/a.go":  "package onlytests\n",
		"suite/a_test.go": "// Package suite\n// is tests alone.\npackage suite_test\n",
		"cmd/x/main.go":   "// Command x does it.\npackage main\n",
		"cmd/y/main.go":   "// Y does it.\npackage main\n",
		"cmd/z/main.go":   "// this does it.\npackage main\n",
		"bare/b.go":       "package bare\n",
		"bare/b_test.go":  "// Package bare is documented in the wrong place.\npackage bare\n",
		"wrong/w.go":      "// Package other is a copy.\npackage wrong\n",
		"short/s.go":      "// Package short\npackage short\n",
		"broken/b.go":     "// Package broken is.\npackag broken\n",
	}),
		"bare: package has no doc comment",
		"broken/b.go: does not parse",
		"broken: package has no doc comment",
		`cmd/z/main.go: package comment does not begin with "Command z"`,
		"onlytests: package has no doc comment",
		`short/s.go: package comment does not begin with "Package short"`,
		`wrong/w.go: package comment does not begin with "Package wrong"`,
	)
}
