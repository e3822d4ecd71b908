package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyAWrittenDeviationIsAReason(t *testing.T) {
	const page = "# Deviations\n\n## 1. First things first\n\n```\n## 2. Only an example\n```\n\n### 3. Too deep\n## 14. Another\n"
	file := filepath.Join(t.TempDir(), "deviations.md")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	titles, err := deviationTitles(file, []change{{"a", 1, doesNotFit{}}, {"b", 14, doesNotFit{}}})
	if err != nil {
		t.Fatal(err)
	}
	if titles[1] != "First things first" || titles[14] != "Another" || len(titles) != 2 {
		t.Errorf("titles: %v", titles)
	}
	for _, unwritten := range []int{2, 3, 4} {
		_, err := deviationTitles(file, []change{{"some-case", unwritten, doesNotFit{}}})
		if err == nil || !strings.Contains(err.Error(), "some-case") {
			t.Errorf("deviation %d: %v", unwritten, err)
		}
	}
	if _, err := deviationTitles(filepath.Join(t.TempDir(), "none.md"), []change{{"a", 1, doesNotFit{}}}); err == nil {
		t.Error("no file: no error")
	}
	if _, err := deviationTitles("none.md", nil); err != nil {
		t.Errorf("no changes need no file: %v", err)
	}
}

func TestANumberStandsForOneDeviation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deviations.md")
	if err := os.WriteFile(file, []byte("## 1. One\n## 1. Other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := deviationTitles(file, deviating); err == nil || !strings.Contains(err.Error(), "number 1") {
		t.Errorf("got %v", err)
	}
}
