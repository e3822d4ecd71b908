package repolint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// PathRule forbids a text in tracked files.
type PathRule struct {
	Name    string         // what is forbidden, in words
	Pattern *regexp.Regexp // its first group, if any, is what is reported
	In      string         // pattern of path.Match for the file's base name, "*" for all
	Why     string
}

const whyNoMachinePaths = "it exists on one machine only: begin at the repository's root, or take a temporary directory"

// PathRules keep what is true on one machine only out of the repository.
var PathRules = []PathRule{
	{
		Name:    "machine path",
		Pattern: regexp.MustCompile(`(?m)(?:^|[^\w./})])(/(?:root|work|farm|home|Users)/)`),
		In:      "*",
		Why:     whyNoMachinePaths,
	},
	{
		Name:    "temporary path",
		Pattern: regexp.MustCompile(`(?m)(?:^|[^\w./})])(/(?:tmp|var/tmp)/\w)`),
		In:      "*.md",
		Why:     whyNoMachinePaths,
	},
	{
		Name:    "module proxy or package registry",
		Pattern: regexp.MustCompile(`\b((?:proxy|sum|index)\.golang\.org|registry\.npmjs\.org|pypi\.org/simple|\w[\w.-]*(?:artifactory|goproxy)[\w-]*\.[\w.-]+)`),
		In:      "*",
		Why:     "where modules come from is the user's setting, and another one on each network",
	},
	{
		Name:    "setting of a module proxy",
		Pattern: regexp.MustCompile(`\b(GOPROXY|GONOSUMDB|GONOSUMCHECK|GOSUMDB|GOPRIVATE|GOINSECURE)\s*[:?]?=`),
		In:      "*",
		Why:     "where modules come from is the user's setting, and another one on each network",
	},
}

// CheckPaths reports every text of the tree's files that a rule forbids. Binary
// files and the checksums of modules are passed over.
func CheckPaths(tree Tree, rules []PathRule) []Finding {
	var findings []Finding
	names := tree.paths(func(name string) bool {
		return path.Base(name) != "go.sum" && path.Base(name) != "go.work.sum" && !strings.Contains(tree[name], "\x00")
	})
	for _, name := range names {
		for _, rule := range rules {
			if matched, _ := path.Match(rule.In, path.Base(name)); !matched {
				continue
			}
			for _, at := range rule.Pattern.FindAllStringSubmatchIndex(tree[name], -1) {
				at = at[len(at)-2:]
				findings = append(findings, Finding{name, lineAt(tree[name], at[0]),
					fmt.Sprintf("%s %q", rule.Name, tree[name][at[0]:at[1]]), rule.Why})
			}
		}
	}
	return findings
}
