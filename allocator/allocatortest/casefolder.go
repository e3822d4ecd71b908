package allocatortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/allocator"
)

const (
	inputFile  = "input.yaml"
	expectFile = "expect.yaml"
)

// What becomes of a pod, in the words of expect.yaml.
const (
	Allocated     = "allocated"
	Unschedulable = "unschedulable"
	Refused       = "error"
)

// CaseFields are what expect.yaml of every case folder has.
type CaseFields struct {
	Case         string   `json:"case"`
	FeatureGates []string `json:"featureGates,omitempty"` // off by default, and on here
	Outcome      string   `json:"outcome"`                // allocated, unschedulable or error: nodes tried in order of their names
	Node         string   `json:"node,omitempty"`         // the node of an allocation
	Devices      []string `json:"devices,omitempty"`      // its driver/pool/device
	Source       string   `json:"source,omitempty"`
	Notes        string   `json:"notes,omitempty"`
	// Upstream is there where v1.37.2 itself answers in another way.
	Upstream *UpstreamAnswer `json:"upstream_v1_37_2,omitempty"`
}

// Expectation is expect.yaml of an allocator case, which names claims where a
// public case ([PublicExpectation]) names a pod.
type Expectation struct {
	CaseFields

	// Claims are those of input.yaml to allocate together and in this order,
	// as namespace/name.
	Claims []string `json:"claims"`
	// Features are the allocator's switches, all of them.
	Features allocator.Features `json:"features"`
	// PerNode is the right answer for each node, in order of their names.
	PerNode []NodeExpectation `json:"perNode,omitempty"`
}

// UpstreamAnswer is what v1.37.2 does where it is not right.
type UpstreamAnswer struct {
	Outcome string   `json:"outcome"`
	Devices []string `json:"devices,omitempty"`
	Reason  []string `json:"reason,omitempty"` // parts of the error text
}

// NodeExpectation is the right answer for one node.
type NodeExpectation struct {
	Node    string                         `json:"node"`
	Class   Class                          `json:"class"`
	Error   string                         `json:"error,omitempty"`
	Results []resourceapi.AllocationResult `json:"results,omitempty"` // with numbered share IDs
}

// AsOutcome returns the expectation in the form in which answers are compared.
func (n NodeExpectation) AsOutcome() Outcome {
	return Outcome{Class: n.Class, Text: n.Error, Results: n.Results}
}

// ExpectOutcomes fills an expectation from the right answer for each node,
// given in the order of the scenario's nodes.
func ExpectOutcomes(name string, s *Scenario, outcomes []Outcome) *Expectation {
	e := &Expectation{
		CaseFields: CaseFields{Case: name, FeatureGates: gatesOf(s.Features), Outcome: Unschedulable},
		Features:   s.Features,
	}
	for _, claim := range s.Claims {
		e.Claims = append(e.Claims, claim.Namespace+"/"+claim.Name)
	}
	decided := false
	for i, outcome := range outcomes {
		node := s.Nodes[i].Name
		e.PerNode = append(e.PerNode, NodeExpectation{Node: node, Class: outcome.Class, Error: outcome.Text, Results: numberShares(outcome.Results)})
		if decided {
			continue
		}
		switch outcome.Class {
		case Fits:
			e.Outcome, e.Node, decided = Allocated, node, true
			for _, result := range outcome.Results {
				for _, d := range result.Devices.Results {
					e.Devices = append(e.Devices, d.Driver+"/"+d.Pool+"/"+d.Device)
				}
			}
		case DoesNotFit, FailedOnNode:
		default:
			e.Outcome, decided = Refused, true
		}
	}
	return e
}

// WriteCase writes a scenario and what is expected of it into a folder, which
// is created. What is read back by [ReadCase] is the same scenario.
func WriteCase(dir string, s *Scenario, e *Expectation) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("case folder: %w", err)
	}
	var input bytes.Buffer
	for _, object := range s.objects() {
		text, err := asYAML(object)
		if err != nil {
			return fmt.Errorf("case folder %s: %w", dir, err)
		}
		input.WriteString("---\n")
		input.Write(text)
	}
	if err := os.WriteFile(filepath.Join(dir, inputFile), input.Bytes(), 0o644); err != nil {
		return fmt.Errorf("case folder: %w", err)
	}
	expect, err := yaml.Marshal(e)
	if err != nil {
		return fmt.Errorf("case folder %s: %w", dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir, expectFile), expect, 0o644); err != nil {
		return fmt.Errorf("case folder: %w", err)
	}
	return nil
}

func (s *Scenario) objects() []any {
	var objects []any
	for _, o := range s.Nodes {
		objects = append(objects, withoutStamp(o, func(n *corev1.Node) { n.UID, n.ResourceVersion = "", "" }))
	}
	for _, o := range s.Classes {
		objects = append(objects, withoutStamp(o, func(c *resourceapi.DeviceClass) { c.UID, c.ResourceVersion = "", "" }))
	}
	for _, o := range s.Slices {
		objects = append(objects, withoutStamp(o, func(s *resourceapi.ResourceSlice) { s.UID, s.ResourceVersion = "", "" }))
	}
	for _, claims := range [][]*resourceapi.ResourceClaim{s.Allocated, s.Claims} {
		for _, o := range claims {
			objects = append(objects, withoutStamp(o, func(c *resourceapi.ResourceClaim) { c.UID, c.ResourceVersion = "", "" }))
		}
	}
	return objects
}

// withoutStamp drops what reading a case computes anew.
func withoutStamp[T interface{ DeepCopy() T }](object T, drop func(T)) T {
	object = object.DeepCopy()
	drop(object)
	return object
}

// asYAML leaves out what encoding/json writes for empty structs. Numbers stay
// text on the way: a float64 does not hold every int64.
func asYAML(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	dropEmpty(tree)
	return yaml.Marshal(tree)
}

func dropEmpty(tree map[string]any) {
	status, isMap := tree["status"].(map[string]any)
	if !isMap {
		return
	}
	for _, name := range []string{"daemonEndpoints", "nodeInfo"} {
		delete(status, name)
	}
	if len(status) == 0 {
		delete(tree, "status")
	}
	if spec, isMap := tree["spec"].(map[string]any); isMap && len(spec) == 0 {
		delete(tree, "spec")
	}
}
