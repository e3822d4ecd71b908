package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The rules of the package hold for the examples of this repository.
func TestEveryFolderAndManifestIsRunByAReadme(t *testing.T) {
	all, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("the list has no examples")
	}
	for _, e := range all {
		if e.Title == "" || len(e.Steps) == 0 || len(e.Namespaces) == 0 {
			t.Errorf("example %s: title %q, %d commands, %d namespaces: want some of each", e.Name, e.Title, len(e.Steps), len(e.Namespaces))
		}
		applied := map[string]int{}
		for _, step := range e.Steps {
			words := strings.Fields(step.Command)
			for i, word := range words {
				if word != "-f" || len(words) == i+1 || strings.Contains(step.Command, "--subresource") {
					continue
				}
				switch words[1] {
				case "apply":
					applied[words[i+1]]++
				case "delete":
					applied[words[i+1]]--
				}
			}
		}
		for file, left := range applied {
			if left != 0 {
				t.Errorf("example %s: %s is applied %d times more than deleted", e.Name, file, left)
			}
		}
	}
}

func TestWhatNoReadmeRunsIsRefused(t *testing.T) {
	write := func(root string, files map[string]string) {
		for name, content := range files {
			path := filepath.Join(root, Folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := "| [a](a/README.md) | about a | no |\n"
	readme := "# A\n```console\n$ kubectl apply -f deploy/examples/a/a.yaml\n```\n"
	for _, c := range []struct {
		name, want string
		files      map[string]string
	}{
		{"a folder", "deploy/examples/b: the list in deploy/examples/README.md has no row for it",
			map[string]string{"README.md": list, "a/README.md": readme, "b/README.md": "# B\n"}},
		{"a manifest", "deploy/examples/a/b.yaml: no command of deploy/examples/a/README.md applies it",
			map[string]string{"README.md": list, "a/README.md": readme, "a/b.yaml": "kind: Pod\n"}},
		{"a row without a folder", "example a: ", map[string]string{"README.md": list}},
		{"a manifest that is none", "a.yaml: ", map[string]string{"README.md": list, "a/README.md": readme, "a/a.yaml": "{"}},
	} {
		root := t.TempDir()
		write(root, c.files)
		if _, err := Load(root); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}
