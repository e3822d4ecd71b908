package difftest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePageOfDeviationsAgreesWithThePredicates: a difference from upstream
// needs an entry that people can read, a case that shows it, and a predicate by
// which this package tells it from a bug. Whoever removes one of them has to
// remove the others.
func TestThePageOfDeviationsAgreesWithThePredicates(t *testing.T) {
	page, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	predicates := []deviation{
		allOverUnusablePool, sliceCountDisagreement, adminAccessTakesNoCounters, liveShareBlocksExclusiveUse, newestGenerationOnly,
	}
	var numbers []string
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		number, _, numbered := strings.Cut(section, ". ")
		if !numbered || strings.Trim(number, "0123456789") != "" {
			continue
		}
		numbers = append(numbers, number)
		for _, field := range []string{"\n- Upstream: ", "\n- Case", "\n- Predicate: "} {
			if !strings.Contains(section, field) {
				t.Errorf("deviation %s has no line %q", number, strings.TrimSpace(field))
			}
		}
		if !slices.ContainsFunc(folders(section), exists) {
			t.Errorf("deviation %s links to no case that exists", number)
		}
		if !slices.ContainsFunc(predicates, func(d deviation) bool { return strings.HasPrefix(string(d), number+" ") }) {
			t.Errorf("deviation %s has no predicate here", number)
		}
	}
	for _, d := range predicates {
		if number, _, _ := strings.Cut(string(d), " "); !slices.Contains(numbers, number) {
			t.Errorf("predicate %q has no entry on the page", d)
		}
	}
}

var link = regexp.MustCompile(`\]\((\.\./[^)#]+)\)`)

// folders are what a section links to, as paths from the page.
func folders(section string) []string {
	var paths []string
	for _, match := range link.FindAllStringSubmatch(section, -1) {
		paths = append(paths, match[1])
	}
	return paths
}

// exists says whether a folder of a case is there; docs is two levels up.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join("../../docs", path, "expect.yaml"))
	return err == nil
}
