package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Place is what the templates of names and labels can use.
type Place struct {
	// Machine is the machine's name.
	Machine string
	// Index counts the instances of the machine from 0, Number those of the fleet.
	Index, Number int
	// Zone is empty if the fleet has none, and while it is made.
	Zone string
	// Node, Instance, Member and Clique are for labels only. Instance is the name of
	// the rack, or of the node itself; Member the place in the rack, from 0; Clique
	// "<cluster UUID>.<ID>" of the NVLink fabric, or empty.
	Node, Instance string
	Member         int
	Clique         string

	architecture string
	capacity     corev1.ResourceList
	memoryGiB    int
}

// names makes names and labels.
type names struct {
	name  *template.Template
	zones []*template.Template
	// keys of labels, sorted, and the templates of their values.
	keys   []string
	values []*template.Template
	out    strings.Builder
}

// reserved labels are made from the machine.
var reserved = map[string]bool{
	corev1.LabelHostname: true, corev1.LabelInstanceTypeStable: true, corev1.LabelOSStable: true,
	corev1.LabelArchStable: true, corev1.LabelTopologyZone: true, CliqueLabel: true,
}

func newNames(spec *Spec) (*names, error) {
	n := &names{}
	var err error
	if n.name, err = parse("name", spec.name()); err != nil {
		return nil, err
	}
	for i, zone := range spec.Zones {
		t, err := parse(fmt.Sprintf("zones[%d]", i), zone)
		if err != nil {
			return nil, err
		}
		n.zones = append(n.zones, t)
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return nil, fmt.Errorf("fleet: label %q: %s", key, problems[0])
		}
		if reserved[key] {
			return nil, fmt.Errorf("fleet: label %q: every node has its own already", key)
		}
		value, err := parse("label "+key, spec.Labels[key])
		if err != nil {
			return nil, err
		}
		n.keys = append(n.keys, key)
		n.values = append(n.values, value)
	}
	return n, nil
}

func parse(what, text string) (*template.Template, error) {
	t, err := template.New(what).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("fleet: %s: %q is not a template: %w", what, text, err)
	}
	return t, nil
}

func (n *names) fill(t *template.Template, place *Place) (string, error) {
	n.out.Reset()
	if err := t.Execute(&n.out, place); err != nil {
		return "", fmt.Errorf("fleet: %w", err)
	}
	return n.out.String(), nil
}

// zone returns the zone of an instance, empty if the fleet has none.
func (n *names) zone(place *Place) (string, error) {
	if len(n.zones) == 0 {
		return "", nil
	}
	return n.fillZone(place.Number%len(n.zones), place)
}

func (n *names) fillZone(i int, place *Place) (string, error) {
	zone, err := n.fill(n.zones[i], place)
	if err != nil {
		return "", err
	}
	if zone == "" {
		return "", fmt.Errorf("fleet: zones[%d]: the name of a zone is missing", i)
	}
	if problems := validation.IsValidLabelValue(zone); len(problems) > 0 {
		return "", fmt.Errorf("fleet: zones[%d]: %q cannot be the value of a label: %s", i, zone, strings.Join(problems, "; "))
	}
	return zone, nil
}

// instance returns the name of an instance.
func (n *names) instance(place *Place) (string, error) {
	name, err := n.fill(n.name, place)
	if err != nil {
		return "", err
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", fmt.Errorf("fleet: name: instance %d of %s would be called %q: %s",
			place.Index, place.Machine, name, problems[0])
	}
	return name, nil
}

// addLabels adds the labels of a node.
func (n *names) addLabels(labels map[string]string, place *Place) error {
	for i, key := range n.keys {
		value, err := n.fill(n.values[i], place)
		if err != nil {
			return err
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Errorf("fleet: label %s: node %s would have the value %q: %s", key, place.Node, value, problems[0])
		}
		if value != "" {
			labels[key] = value
		}
	}
	return nil
}
