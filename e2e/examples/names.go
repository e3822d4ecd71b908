package examples

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Names translates between the names of a cluster's nodes and those that READMEs and
// manifests have for them: MACHINE-INDEX, as [Fleet] calls its nodes. The zero value
// translates nothing.
type Names struct{ printed, applied *strings.Replacer }

// NamesOf numbers the nodes of each machine in the order of their names, from 0. Machines
// are those of the label that the examples ask for; a node without it keeps its name.
func NamesOf(nodes []corev1.Node) Names {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	var pairs [][2]string // on the cluster, in documents
	count := map[string]int{}
	for _, node := range nodes {
		if machine := node.Labels[corev1.LabelInstanceTypeStable]; machine != "" {
			pairs = append(pairs, [2]string{node.Name, fmt.Sprintf("%s-%d", machine, count[machine])})
			count[machine]++
		}
	}
	return Names{printed: replacer(pairs, 0, 1), applied: replacer(pairs, 1, 0)}
}

// replacer replaces the longest name that is there: one can be the beginning of another.
func replacer(pairs [][2]string, from, to int) *strings.Replacer {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Compare(len(b[from]), len(a[from])) })
	var words []string
	for _, pair := range pairs {
		words = append(words, pair[from], pair[to])
	}
	return strings.NewReplacer(words...)
}

// Printed is what a command printed on the cluster, with the names of documents.
func (n Names) Printed(text string) string {
	if n.printed == nil {
		return text
	}
	return n.printed.Replace(text)
}

// Copy copies the examples of the repository at root into another folder, below [Folder]
// there, with the cluster's names in manifests.
func (n Names) Copy(root, to string) error {
	to = filepath.Join(to, Folder)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(root, Folder))); err != nil {
		return fmt.Errorf("copy of the examples: %w", err)
	}
	if n.applied == nil {
		return nil
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(n.applied.Replace(string(content))), 0o600)
	})
}
