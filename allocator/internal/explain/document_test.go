package explain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const document = "../../../docs/explain.md"

// TestTheDocumentShowsWhatExplanationsSay: each page in the document stands in a
// file of testdata, word for word, JSON in what an example prints, and each sentence
// in its table.
func TestTheDocumentShowsWhatExplanationsSay(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases.Write(content)
	}
	pages := strings.Split(string(text), "```text\n")[1:]
	if len(pages) < 2 {
		t.Errorf("%s shows %d pages", document, len(pages))
	}
	for _, page := range pages {
		if page, _, _ = strings.Cut(page, "```"); !strings.Contains(cases.String(), page) {
			t.Errorf("%s shows what no case says:\n%s", document, page)
		}
	}
	example, err := os.ReadFile("../../example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "```json\n")[1:]
	if len(documents) == 0 {
		t.Errorf("%s shows no JSON", document)
	}
	for _, shown := range documents {
		shown, _, _ = strings.Cut(shown, "```")
		commented := "\t// " + strings.ReplaceAll(strings.TrimSuffix(shown, "\n"), "\n", "\n\t// ") + "\n"
		if !strings.Contains(string(example), commented) {
			t.Errorf("%s shows JSON that no example prints:\n%s", document, shown)
		}
	}
	for cause, sentence := range sentences {
		argument := "ATTRIBUTE"
		if cause == BadPool {
			argument = "STATE"
		}
		if row := "| `" + string(cause) + "` | " + strings.Replace(sentence, "%s", argument, 1) + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("%s lacks the line %s", document, row)
		}
	}
}
