package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse holds Parse to: it never panics, what is wrong is a *FileError with a
// line for each problem, and what it accepts is a machine that keeps the
// invariants of a node and reads back from its resolved file.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, err := machineFiles.ReadFile("machines/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range invalidFiles(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse("fuzz.yaml", text)
		if err != nil {
			checkFileError(t, err)
			return
		}
		checkInstance(t, m)
		resolved, err := m.Resolved().YAML()
		if err != nil {
			t.Fatal(err)
		}
		if len(resolved) > maxFileBytes {
			return // the models that a file refers to can make it too long
		}
		again, err := Parse("resolved.yaml", resolved)
		if err != nil {
			t.Fatalf("%v\nof the file\n%s", err, resolved)
		}
		equalInstances(t, m, again)
	})
}

func checkFileError(t *testing.T, err error) {
	var file *FileError
	if !errors.As(err, &file) {
		t.Fatalf("%T is not a *FileError: %v", err, err)
	}
	if len(file.Problems) == 0 || len(file.Problems) > maxProblems {
		t.Errorf("%d problems", len(file.Problems))
	}
	for _, p := range file.Problems {
		if p.Line < 1 || p.Column < 1 || p.Message == "" {
			t.Errorf("a problem without a place or a message: %+v", p)
		}
	}
}

// invalidFiles are the inputs of the text cases.
func invalidFiles(f *testing.F) []string {
	var inputs []string
	paths, err := filepath.Glob("testdata/invalid/*.txt")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no text cases: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\nparse\n") {
			input, _, _ := strings.Cut(part, "----\n")
			inputs = append(inputs, input)
		}
	}
	return inputs
}
