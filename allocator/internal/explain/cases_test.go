package explain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	resourceapi "k8s.io/api/resource/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// TestCases shows what explanations say. The commands of a file:
//
//	cluster [on=(Feature,...)] [off=(Feature,...)]
//	    YAML documents of nodes, classes, slices and claims; what Kubernetes 1.37
//	    has on by default is on. A claim without an allocation is to be allocated.
//	text [node=NAME]      the page for a terminal
//	json [node=NAME]      the value
//	reason [node=NAME]    the sentence for the node's status
//	mentions [node=NAME]  checks that the page has the words, one on each line
//	all                   the page for all nodes
//
// Without a name it is the first node. -rewrite rewrites the files.
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := &caseRun{}
		datadriven.RunTest(t, path, c.run)
	})
}

type caseRun struct {
	scenario  *allocatortest.Scenario
	allocator *allocator.Allocator
}

func (c *caseRun) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "cluster" {
		c.scenario = readCluster(t, d)
		c.allocator = newAllocator(t, c.scenario)
		return ""
	}
	if d.Cmd == "all" {
		all, err := c.allocator.ExplainCluster(context.Background(), c.scenario.Nodes, c.scenario.Claims)
		if err != nil {
			t.Fatal(err)
		}
		return all.Text()
	}
	node := c.scenario.Nodes[0]
	if d.HasArg("node") {
		var name string
		d.ScanArgs(t, "node", &name)
		node = c.scenario.Node(name)
	}
	e := explainOn(t, c.allocator, c.scenario, node)
	checkForm(t, e)
	switch d.Cmd {
	case "text":
		return e.Text()
	case "json":
		return encode(t, e) + "\n"
	case "reason":
		return e.Reason() + "\n"
	case "mentions":
		for word := range strings.Lines(d.Input) {
			if word = strings.TrimSpace(word); !strings.Contains(e.Text(), word) {
				t.Errorf("%s: the page does not have %q:\n%s", d.Pos, word, e.Text())
			}
		}
		return ""
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func readCluster(t *testing.T, d *datadriven.TestData) *allocatortest.Scenario {
	t.Helper()
	s := &allocatortest.Scenario{Features: allocator.Features{
		AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true,
		DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
	}}
	for _, arg := range d.CmdArgs {
		for _, feature := range arg.Vals {
			field := reflect.ValueOf(&s.Features).Elem().FieldByName(feature)
			if !field.IsValid() {
				t.Fatalf("%s: unknown feature %s", d.Pos, feature)
			}
			field.SetBool(arg.Key == "on")
		}
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(d.Input)))
	for i := 1; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = readObject(s, document)
		}
		if err != nil {
			t.Fatalf("%s: document %d: %v", d.Pos, i, err)
		}
	}
	s.Stamp()
	return s
}

func readObject(s *allocatortest.Scenario, document []byte) error {
	var header struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(document, &header); err != nil {
		return err
	}
	switch header.Kind {
	case "Node":
		return decode(document, &s.Nodes)
	case "DeviceClass":
		return decode(document, &s.Classes)
	case "ResourceSlice":
		return decode(document, &s.Slices)
	case "ResourceClaim":
		var claims []*resourceapi.ResourceClaim
		if err := decode(document, &claims); err != nil {
			return err
		}
		setDefaults(claims[0])
		if claims[0].Status.Allocation != nil {
			s.Allocated = append(s.Allocated, claims[0])
		} else {
			s.Claims = append(s.Claims, claims[0])
		}
		return nil
	}
	return fmt.Errorf("kind %q has no place here", header.Kind)
}

func decode[T any](document []byte, list *[]*T) error {
	object := new(T)
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

// setDefaults does what the API server does to a claim.
func setDefaults(claim *resourceapi.ResourceClaim) {
	fill := func(mode *resourceapi.DeviceAllocationMode, count *int64) {
		if *mode == "" {
			*mode = resourceapi.DeviceAllocationModeExactCount
		}
		if *mode == resourceapi.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if request.Exactly != nil {
			fill(&request.Exactly.AllocationMode, &request.Exactly.Count)
		}
		for j := range request.FirstAvailable {
			fill(&request.FirstAvailable[j].AllocationMode, &request.FirstAvailable[j].Count)
		}
	}
}
