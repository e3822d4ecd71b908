package examples

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/dray-dev/dray/e2e/console"
)

// Folder is where the examples are, from the root of the repository.
const Folder = "deploy/examples"

const readme = "README.md"

// An Example is a folder of [Folder].
type Example struct {
	// Name is the folder's.
	Name string
	// Title is the heading of its README, without the mark.
	Title string
	// OnKind says that it runs on the kind cluster of the suite as well, as the list has it.
	OnKind bool
	// Steps are the commands of its README.
	Steps []console.Step
	// Namespaces are those that its manifests make, sorted.
	Namespaces []string
	// Machines are those whose nodes its pods ask for by name, sorted; nil if some pod
	// does not, and can go to any node that has devices for it.
	Machines []string
}

// entry is a row of the list: a link to the README of a folder, what it shows, and whether
// it runs on kind.
var entry = regexp.MustCompile(`(?m)^\| \[([a-z0-9-]+)\]\(([a-z0-9-]+)/README\.md\) \|[^|\n]*\| (yes|no) \|$`)

// Load returns the examples of the repository at root, in the order of their list. It
// fails if a folder or a manifest is not run by any README.
func Load(root string) ([]Example, error) {
	base := filepath.Join(root, Folder)
	list, err := os.ReadFile(filepath.Join(base, readme))
	if err != nil {
		return nil, fmt.Errorf("list of examples: %w", err)
	}
	var all []Example
	var problems []error
	for _, row := range entry.FindAllStringSubmatch(string(list), -1) {
		example, err := load(root, row[2])
		example.OnKind = row[3] == "yes"
		problems = append(problems, err)
		all = append(all, example)
	}
	folders, err := os.ReadDir(base)
	if err != nil {
		return nil, fmt.Errorf("folder of examples: %w", err)
	}
	for _, folder := range folders {
		if folder.IsDir() && !slices.ContainsFunc(all, func(e Example) bool { return e.Name == folder.Name() }) {
			problems = append(problems, fmt.Errorf("%s/%s: the list in %s/%s has no row for it: add one", Folder, folder.Name(), Folder, readme))
		}
	}
	return all, errors.Join(problems...)
}

func load(root, name string) (Example, error) {
	example := Example{Name: name}
	folder := filepath.Join(Folder, name)
	file := filepath.Join(folder, readme)
	document, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return example, fmt.Errorf("example %s: %w", name, err)
	}
	first, _, _ := strings.Cut(string(document), "\n")
	example.Title = strings.TrimSpace(strings.TrimLeft(first, "#"))
	if example.Steps, err = console.Parse(file, document); err != nil {
		return example, err
	}
	manifests, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
	if err != nil {
		return example, fmt.Errorf("example %s: %w", name, err)
	}
	var problems []error
	var pods []podSpec
	for _, manifest := range manifests {
		path := filepath.ToSlash(filepath.Join(folder, filepath.Base(manifest)))
		if !slices.ContainsFunc(example.Steps, func(s console.Step) bool { return strings.Contains(s.Command, path) }) {
			problems = append(problems, fmt.Errorf("%s: no command of %s applies it", path, file))
		}
		problems = append(problems, eachObject(manifest, func(object *unstructured.Unstructured) {
			if object.GetKind() == "Namespace" {
				example.Namespaces = append(example.Namespaces, object.GetName())
			}
			pods = append(pods, podsOf(object)...)
		}))
	}
	slices.Sort(example.Namespaces)
	example.Machines = machinesOf(pods)
	return example, errors.Join(problems...)
}

// eachObject calls do with the objects of a manifest.
func eachObject(manifest string, do func(*unstructured.Unstructured)) error {
	content, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var object unstructured.Unstructured
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", manifest, err)
		}
		do(&object)
	}
}

// podSpec is that of a pod, or of a template of pods.
type podSpec map[string]any

func podsOf(object *unstructured.Unstructured) []podSpec {
	for _, path := range [][]string{{"spec", "template", "spec"}, {"spec"}} {
		spec, found, err := unstructured.NestedMap(object.Object, path...)
		if _, isPod := spec["containers"]; err == nil && found && isPod {
			return []podSpec{spec}
		}
	}
	return nil
}

// machinesOf are the machines of [Example].
func machinesOf(pods []podSpec) []string {
	var machines []string
	for _, pod := range pods {
		machine, found, err := unstructured.NestedString(pod, "nodeSelector", corev1.LabelInstanceTypeStable)
		if err != nil || !found {
			return nil
		}
		machines = append(machines, machine)
	}
	slices.Sort(machines)
	return slices.Compact(machines)
}
