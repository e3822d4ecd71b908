package repolint

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

const whyLinks = "a reader follows it and finds nothing: correct the link, or write the file"

// CheckLinks reports relative links in Markdown files that lead to no file or
// directory of the tree, or to no heading or line in it. Links to other hosts
// are not followed: the tests run without a network.
func CheckLinks(tree Tree) []Finding {
	parsed := documents(tree)
	var findings []Finding
	for _, name := range tree.paths(isMarkdown) {
		for _, line := range parsed[name].html {
			findings = append(findings, Finding{name, line, "link or anchor in raw HTML",
				"write it as Markdown, so that it can be checked"})
		}
		for _, link := range parsed[name].links {
			if problem := followLink(tree, parsed, name, link.target); problem != "" {
				findings = append(findings, Finding{name, link.line, problem, whyLinks})
			}
		}
	}
	return findings
}

// followLink returns what is wrong with a link, or "".
func followLink(tree Tree, parsed map[string]document, from, link string) string {
	target, err := url.Parse(link)
	if err != nil {
		return fmt.Sprintf("link %q is not a URL", link)
	}
	if target.Scheme != "" || target.Host != "" {
		return ""
	}
	if strings.HasPrefix(target.Path, "/") {
		return fmt.Sprintf("link %q begins at a root that differs between hosts; begin at this file", link)
	}
	file := from
	if target.Path != "" {
		file = path.Join(path.Dir(from), target.Path)
	}
	content, isFile := tree[file]
	if !isFile && !tree.hasDir(file) {
		return fmt.Sprintf("link %q leads to %s, which is not in the repository", link, file)
	}
	if target.Fragment == "" {
		return ""
	}
	if document, ok := parsed[file]; ok {
		if !document.anchors[target.Fragment] {
			return fmt.Sprintf("link %q: %s has no heading #%s", link, file, target.Fragment)
		}
		return ""
	}
	if !isFile || !hasLine(content, target.Fragment) {
		return fmt.Sprintf("link %q: %s has no place #%s", link, file, target.Fragment)
	}
	return ""
}

// hasLine says whether a fragment such as L12 names a line of the content.
func hasLine(content, fragment string) bool {
	digits, ok := strings.CutPrefix(fragment, "L")
	number, err := strconv.Atoi(digits)
	return ok && err == nil && number >= 1 && number <= lineAt(content, len(strings.TrimSuffix(content, "\n")))
}

// CheckMakeCommands reports each `make target` in a code span or code block of
// a Markdown file for which the Makefile has no such target, and each target of
// the Makefile that `make help` does not show or that a file of its name would
// switch off.
func CheckMakeCommands(tree Tree) []Finding {
	targets, findings := readMakefile(tree["Makefile"])
	parsed := documents(tree)
	for _, name := range tree.paths(isMarkdown) {
		for _, code := range parsed[name].code {
			for _, target := range makeTargets(code.text) {
				if !slices.Contains(targets, target) {
					findings = append(findings, Finding{name, code.line, fmt.Sprintf("`make %s` is no target", target),
						"every command in the documents runs as written: correct it, or add the target to the Makefile"})
				}
			}
		}
	}
	return findings
}

// readMakefile returns the targets that a user may name.
func readMakefile(content string) (targets []string, findings []Finding) {
	phony := map[string]bool{}
	lines := strings.Split(content, "\n")
	for _, line := range lines {
		if names, ok := strings.CutPrefix(line, ".PHONY:"); ok {
			for name := range strings.FieldsSeq(names) {
				phony[name] = true
			}
		}
	}
	for i, line := range lines {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || !isTarget(name) || strings.HasPrefix(rest, "=") {
			continue
		}
		targets = append(targets, name)
		if !strings.Contains(rest, "## ") {
			findings = append(findings, Finding{"Makefile", i + 1, fmt.Sprintf("target %s has no description", name),
				"`make help` prints what stands after ## on the line of the target"})
		}
		if !phony[name] {
			findings = append(findings, Finding{"Makefile", i + 1, fmt.Sprintf("target %s is not phony", name),
				"a file or directory of that name would make it do nothing: add it to .PHONY"})
		}
	}
	return targets, findings
}

// makeTargets returns the targets of the make commands on one line of shell.
func makeTargets(line string) []string {
	line, _, _ = strings.Cut(line, "#")
	for _, separator := range []string{"&&", "||", ";", "|", "(", ")"} {
		line = strings.ReplaceAll(line, separator, " ; ")
	}
	var targets []string
	for command := range strings.SplitSeq(line, ";") {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(command), "$ "))
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:] // a variable for the command's environment
		}
		if len(words) == 0 || words[0] != "make" {
			continue
		}
		for _, word := range words[1:] {
			if isTarget(word) {
				targets = append(targets, word)
			}
		}
	}
	return targets
}

// isTarget says whether a word has the form of a target: lower-case words
// joined by hyphens, as in this repository.
func isTarget(word string) bool {
	return word != "" && word[0] >= 'a' && word[0] <= 'z' &&
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
