package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesAreCalledAsInDocuments(t *testing.T) {
	node := func(name, machine string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: machine}}}
	}
	names := NamesOf([]corev1.Node{node("c-worker2", "l40s"), node("c-control-plane", "dgx-h100"), node("c-worker", "l40s"), node("c-other", "")})
	printed := "POD NODE\na c-worker\nb c-worker2,c-worker\nc c-control-plane c-other\n"
	if got, want := names.Printed(printed), "POD NODE\na l40s-0\nb l40s-1,l40s-0\nc dgx-h100-0 c-other\n"; got != want {
		t.Errorf("printed is %q, not %q", got, want)
	}
	if got := (Names{}).Printed(printed); got != printed {
		t.Errorf("without names, printed is %q", got)
	}
	root, to := t.TempDir(), t.TempDir()
	write := map[string]string{"README.md": "l40s-0", "x/rule.yaml": "pool: l40s-0\nproduct: l40s\n"}
	for name, content := range write {
		path := filepath.Join(root, Folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := names.Copy(root, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"README.md": "l40s-0", "x/rule.yaml": "pool: c-worker\nproduct: l40s\n"} {
		content, err := os.ReadFile(filepath.Join(to, Folder, name))
		if err != nil || string(content) != want {
			t.Errorf("%s is %q (%v), not %q", name, content, err, want)
		}
	}
}

// What ../suite/examples_test.go tries there is what the list says.
func TestAnExampleRunsOnKindOrItsReadmeSaysWhyNot(t *testing.T) {
	all, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../suite/examples_test.go"
	suite, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		document, err := os.ReadFile(filepath.Join("../..", Folder, e.Name, readme))
		if err != nil {
			t.Fatal(err)
		}
		says := strings.Contains(string(document), "[kind](../../../docs/kind.md) it does not run: ")
		tried := strings.Count(string(suite), `exampleOnKind(t, "`+e.Name+`")`)
		switch {
		case e.OnKind && tried != 1:
			t.Errorf("example %s: by the list it runs on kind, and %s has %d tests of it", e.Name, file, tried)
		case !e.OnKind && tried != 0:
			t.Errorf("example %s: by the list it does not run on kind, and %s tries it", e.Name, file)
		case e.OnKind == says:
			t.Errorf("example %s: by the list it runs on kind: %t; its README says why it does not: %t", e.Name, e.OnKind, says)
		}
	}
}
