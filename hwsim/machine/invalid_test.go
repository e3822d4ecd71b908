package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

func TestProblemsNameFileLineAndField(t *testing.T) {
	datadriven.Walk(t, "testdata/invalid", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			_, err := Parse("my.yaml", []byte(d.Input))
			if err == nil {
				return "valid\n"
			}
			var file *FileError
			if !errors.As(err, &file) {
				t.Fatalf("%s: %T is not a *FileError: %v", d.Pos, err, err)
			}
			return err.Error() + "\n"
		})
	})
}

func TestProblemsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("name: a\nkind: node\nroots:\n- functions:\n")
	for n := range 200 {
		fmt.Fprintf(&text, "  - {model: none, address: 0000:%02x:00.0}\n", n)
	}
	_, err := Parse("my.yaml", []byte(text.String()))
	var file *FileError
	if !errors.As(err, &file) || len(file.Problems) != maxProblems || file.Omitted != 200-maxProblems {
		t.Fatalf("got %v", err)
	}
	if want := "my.yaml: and 150 more"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error does not end with %q:\n%v", want, err)
	}
}

func TestProblemsQuoteOnlyTheEndsOfLongTexts(t *testing.T) {
	long := strings.Repeat("ü", maxFileBytes/4)
	for _, text := range []string{"name: " + long, long + ": a", "name: a\nkind: " + long} {
		_, err := Parse("my.yaml", []byte(text))
		if err == nil || len(err.Error()) > 3*maxMessage || !utf8.ValidString(err.Error()) {
			t.Errorf("%.20s…: %.3000v", text, err)
		}
	}
}

func TestAByteOrderMarkIsNoPartOfTheFirstField(t *testing.T) {
	text, err := machineFiles.ReadFile("machines/t4.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("my.yaml", append([]byte("\ufeff"), text...)); err != nil {
		t.Error(err)
	}
}

func TestHugeAndDeepFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 10000),
		"braces":   strings.Repeat("{a: ", 10000),
		"dashes":   strings.Repeat("- ", 10000) + "x",
		"keys":     strings.Repeat("? ", 10000) + "x",
		"indent":   deepBlocks(maxDepth + 10),
		"bytes":    "name: a\n#" + strings.Repeat("x", maxFileBytes),
	} {
		_, err := Parse("my.yaml", []byte(text))
		if err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func deepBlocks(levels int) string {
	var b strings.Builder
	for n := range levels {
		b.WriteString(strings.Repeat(" ", n) + "a:\n")
	}
	return b.String() + strings.Repeat(" ", levels) + "a: b\n"
}
