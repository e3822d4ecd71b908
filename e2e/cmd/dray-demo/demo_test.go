package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dray-dev/dray/e2e/examples"
)

func TestOnlyExamplesThatThereAreCanBeChosen(t *testing.T) {
	some, err := chosen(options{repository: "../../..", only: []string{"taints", "cel-selection"}})
	if err != nil || len(some) != 2 || some[0].Name != "taints" || some[1].Name != "cel-selection" {
		t.Errorf("chosen are %v, error %v; want taints and cel-selection", some, err)
	}
	if _, err := chosen(options{repository: "../../..", only: []string{"taint"}}); err == nil || !strings.Contains(err.Error(), "--only taint: there is no such folder") {
		t.Errorf("error %v, want one that names the flag", err)
	}
}

// A folder is emptied only if it was a cluster's.
func TestAFolderOfSomebodyElseIsNotEmptied(t *testing.T) {
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter")
	if err := os.WriteFile(letter, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err == nil || !strings.Contains(err.Error(), "not the folder of a cluster") {
		t.Errorf("error %v, want one that says whose folder it is not", err)
	}
	if _, err := os.Stat(letter); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, marker), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := empty(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the cluster's folder is still there: %v", err)
	}
	if err := empty(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
}

func TestTheProgramsThatReadersTypeMustBeThere(t *testing.T) {
	_, err := readersShell(options{binaries: t.TempDir(), repository: "."}, "kubeconfig", "dir")
	if err == nil || !strings.Contains(err.Error(), "make demo builds it") {
		t.Errorf("error %v, want one that says how to build them", err)
	}
}

// The documents that continuous integration has the demonstration run.
func TestADocumentWithoutCommandsIsRefused(t *testing.T) {
	documents, err := readDocuments(options{repository: "../../..", documents: []string{"docs/getting-started.md", "docs/local-cluster.md"}})
	if err != nil || len(documents) != 2 || len(documents[0].steps) < 5 || len(documents[1].steps) < 5 {
		t.Errorf("documents are %v, error %v; want two with some commands each", documents, err)
	}
	for file, want := range map[string]string{"docs/none.md": "no such file", "LICENSE": "has no commands"} {
		if _, err := readDocuments(options{repository: "../../..", documents: []string{file}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", file, err, want)
		}
	}
}

func TestScenesComeAfterTheOtherExamplesAndThoseThatNameMachinesLast(t *testing.T) {
	names := func(all []examples.Example) (names []string) {
		for _, e := range all {
			names = append(names, e.Name)
		}
		return names
	}
	others, some := apart([]examples.Example{{Name: "a", Machines: []string{"l40s"}}, {Name: "broken-gpu"}, {Name: "b"}, {Name: "does-not-fit"}, {Name: "c", Machines: []string{"t4"}}, {Name: "d"}})
	if got := names(others); !slices.Equal(got, []string{"b", "d", "a", "c"}) {
		t.Errorf("the others are %v", got)
	}
	if got := names(some); !slices.Equal(got, []string{"does-not-fit", "broken-gpu"}) {
		t.Errorf("the scenes are %v", got)
	}
}

func TestProgressIsSaidInOrder(t *testing.T) {
	var out strings.Builder
	said := progress{out: &out, lines: make([]string, 3)}
	for _, step := range []struct {
		i    int
		want string
	}{{1, ""}, {0, "a0a1"}, {2, "a0a1a2"}} {
		said.done(step.i, fmt.Sprint("a", step.i))
		if out.String() != step.want {
			t.Errorf("after %d it has said %q, not %q", step.i, out.String(), step.want)
		}
	}
}
