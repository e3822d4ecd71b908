package fleet_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

func load(t testing.TB, name string) *machine.Machine {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func spec(t testing.TB, counts ...string) fleet.Spec {
	t.Helper()
	s := fleet.Spec{Seed: 1, Publish: publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic}}
	for _, text := range counts {
		name, count, err := fleet.ParseCount(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Machines = append(s.Machines, fleet.Count{Machine: load(t, name), Count: count})
	}
	return s
}

func written(t testing.TB, s fleet.Spec, format fleet.Format, objects fleet.Objects) (string, fleet.Totals) {
	t.Helper()
	f, err := fleet.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	totals, err := f.Write(&out, format, objects, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), totals
}

var all = fleet.Objects{Classes: true, Nodes: true, Slices: true}

func TestTheSameSpecGivesTheSameBytes(t *testing.T) {
	s := spec(t, "dgx-h100=3", "gb200-nvl72=1", "fabric-pool=1", "fpga=2")
	s.Shuffle = true
	first, _ := written(t, s, fleet.JSON, all)
	second, _ := written(t, s, fleet.JSON, all)
	if first != second {
		t.Error("two runs differ")
	}
	s.Seed = 2
	if other, _ := written(t, s, fleet.JSON, all); other == first {
		t.Error("another seed changes nothing")
	}
}

func TestEveryMachineCanBeInAFleet(t *testing.T) {
	s := spec(t)
	nodes := 0
	for _, name := range machine.Names() {
		m, err := machine.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Machines = append(s.Machines, fleet.Count{Machine: m, Count: 2})
		nodes += 2 * m.NodeCount()
	}
	_, totals := written(t, s, fleet.JSON, all)
	if totals.Nodes != nodes || totals.FabricPools != 2 {
		t.Errorf("totals are %+v, want %d nodes and 2 fabric pools", totals, nodes)
	}
}

// Both formats must say the same, and every document must be an object that
// names its kind.
func TestYAMLAndJSONSayTheSame(t *testing.T) {
	s := spec(t, "l40s=1", "mi300x=1", "fabric-pool=1")
	lines, totals := written(t, s, fleet.JSON, all)
	documents, _ := written(t, s, fleet.YAML, all)
	var fromJSON, fromYAML []any
	for line := range strings.Lines(lines) {
		fromJSON = append(fromJSON, decode(t, []byte(line)))
	}
	for _, document := range strings.Split(documents, "---\n")[1:] {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		fromYAML = append(fromYAML, decode(t, text))
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Error(diff)
	}
	classes, err := publish.DeviceClasses(s.Publish)
	if err != nil || len(classes) == 0 {
		t.Fatalf("%d classes, %v", len(classes), err)
	}
	if len(fromJSON) != len(classes)+totals.Nodes+totals.Slices {
		t.Errorf("%d objects, want %d classes, %d nodes and %d slices", len(fromJSON), len(classes), totals.Nodes, totals.Slices)
	}
}

// decode reads an object strictly, by its kind.
func decode(t testing.TB, text []byte) runtime.Object {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	var object runtime.Object
	switch head.APIVersion + " " + head.Kind {
	case "v1 Node":
		object = &corev1.Node{}
	case "resource.k8s.io/v1 DeviceClass":
		object = &resourceapi.DeviceClass{}
	case "resource.k8s.io/v1 ResourceSlice":
		object = &resourceapi.ResourceSlice{}
	default:
		t.Fatalf("an object of %s %s", head.APIVersion, head.Kind)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestNamesLabelsAndZonesFollowTheTemplates(t *testing.T) {
	s := spec(t, "l40s=3", "gb200-nvl72=1")
	s.Name = "{{.Machine}}-{{.Zone}}-{{.Number}}"
	s.Zones = []string{"a", "b"}
	s.Labels = map[string]string{
		"example.com/row": "r{{.Index}}",
		"example.com/nvl": "{{with .Clique}}yes{{end}}",
	}
	f, err := fleet.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for member, err := range f.Members() {
		if err != nil {
			t.Fatal(err)
		}
		if node := member.Node; len(got) < 4 || strings.HasSuffix(node.Name, "-17") {
			got = append(got, fmt.Sprintf("%s zone=%s row=%s nvl=%s", node.Name, node.Labels[corev1.LabelTopologyZone],
				node.Labels["example.com/row"], node.Labels["example.com/nvl"]))
		}
	}
	want := []string{
		"l40s-a-0 zone=a row=r0 nvl=",
		"l40s-b-1 zone=b row=r1 nvl=",
		"l40s-a-2 zone=a row=r2 nvl=",
		"gb200-nvl72-b-3-tray-00 zone=b row=r0 nvl=yes",
		"gb200-nvl72-b-3-tray-17 zone=b row=r0 nvl=yes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestZonesAreTemplatesThatAreDealtInTurn(t *testing.T) {
	s := spec(t, "l40s=3", "t4=2")
	s.Zones = []string{"{{.Machine}}-a", `{{if lt .Number 2}}early{{else}}late-{{.Index}}{{end}}`}
	f, err := fleet.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for member, err := range f.Members() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, member.Node.Labels[corev1.LabelTopologyZone])
	}
	if diff := cmp.Diff([]string{"l40s-a", "early", "l40s-a", "late-0", "t4-a"}, got); diff != "" {
		t.Error(diff)
	}
}

// What a node has comes from its machine, unless the fleet says otherwise. A
// fraction of a CPU is fine.
func TestNodesHaveTheCPUsAndMemoryOfTheirMachine(t *testing.T) {
	for _, test := range []struct {
		capacity corev1.ResourceList
		want     string
	}{
		{nil, "cpu 224, memory 2Ti, pods 110"},
		{corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")}, "cpu 1500m, memory 1Gi, pods 110"},
	} {
		s := spec(t, "dgx-h100")
		s.Capacity = test.capacity
		f, err := fleet.New(s)
		if err != nil {
			t.Fatal(err)
		}
		for member := range f.Members() {
			c := member.Node.Status.Capacity
			if got := fmt.Sprintf("cpu %s, memory %s, pods %s", c.Cpu(), c.Memory(), c.Pods()); got != test.want {
				t.Errorf("capacity is %s, want %s", got, test.want)
			}
		}
	}
}

// A device plugin runs on some nodes only.
func TestMachinesOfOneKindCanHaveMoreCapacity(t *testing.T) {
	s := spec(t, "l40s", "t4")
	s.Capacity = corev1.ResourceList{"example.com/a": resource.MustParse("1"), "example.com/b": resource.MustParse("1")}
	s.Machines[1].Capacity = corev1.ResourceList{"example.com/b": resource.MustParse("2")}
	f, err := fleet.New(s)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"l40s-0": "1 and 1", "t4-0": "1 and 2"}
	for member := range f.Members() {
		c := member.Node.Status.Capacity
		a, b := c["example.com/a"], c["example.com/b"]
		if got := a.String() + " and " + b.String(); got != want[member.Node.Name] {
			t.Errorf("node %s has %s, want %s", member.Node.Name, got, want[member.Node.Name])
		}
	}
}

func TestNodesOfARackShareACliqueAndRacksDoNot(t *testing.T) {
	f, err := fleet.New(spec(t, "gb200-nvl72=2"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]int{}
	for member := range f.Members() {
		nodes[member.Node.Labels[fleet.CliqueLabel]]++
	}
	if len(nodes) != 2 {
		t.Errorf("2 racks have the cliques %v", nodes)
	}
	for clique, count := range nodes {
		if count != 18 {
			t.Errorf("clique %s has %d nodes, want 18", clique, count)
		}
	}
}

func TestBadSpecsAreRefusedBeforeAnythingIsMade(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.Spec)
		want   string
	}{
		"nothing":       {func(s *fleet.Spec) { s.Machines = nil }, "no machines"},
		"no machine":    {func(s *fleet.Spec) { s.Machines[0].Machine = nil }, "machines[0]"},
		"none of it":    {func(s *fleet.Spec) { s.Machines[0].Count = 0 }, "count: 0 is not from 1"},
		"too many":      {func(s *fleet.Spec) { s.Machines[0].Count = fleet.MaxInstances + 1 }, "is not from 1 to"},
		"template":      {func(s *fleet.Spec) { s.Name = "{{.Index" }, "name: \"{{.Index\" is not a template"},
		"unknown field": {func(s *fleet.Spec) { s.Name = "{{.Rack}}" }, "Rack"},
		"same names":    {func(s *fleet.Spec) { s.Name = "node" }, "two nodes would be called \"node\""},
		"bad name":      {func(s *fleet.Spec) { s.Name = "Node_{{.Index}}" }, "would be called \"Node_0\""},
		"bad label":     {func(s *fleet.Spec) { s.Labels = map[string]string{"a b": "c"} }, "label \"a b\""},
		"bad value":     {func(s *fleet.Spec) { s.Labels = map[string]string{"a": "{{.Node}}/x"} }, "label a: node l40s-0"},
		"empty zone":    {func(s *fleet.Spec) { s.Zones = []string{""} }, "zones[0]: the name of a zone is missing"},
		"bad zone":      {func(s *fleet.Spec) { s.Zones = []string{"ok", "not ok"} }, "zones[1]"},
		"unused zone":   {func(s *fleet.Spec) { s.Zones = []string{"a", "b", "not ok"} }, "zones[2]"},
		"zone template": {func(s *fleet.Spec) { s.Zones = []string{"{{.Index"} }, "zones[0]: \"{{.Index\" is not a template"},
		"zone of zone":  {func(s *fleet.Spec) { s.Zones = []string{"{{.Zone}}"} }, "zones[0]: the name of a zone is missing"},
		"options":       {func(s *fleet.Spec) { s.Publish.Minor = 12 }, "minor"},
		"not kept":      {func(s *fleet.Spec) { s.Publish.Features.PartitionableDevices = false }, "partitionableDevices"},
		"long name":     {func(s *fleet.Spec) { s.Name = strings.Repeat("n", 63) + "{{.Index}}" }, "label kubernetes.io/hostname cannot hold"},
		"long pool": {func(s *fleet.Spec) {
			s.Machines[0].Machine = load(t, "fabric-pool")
			s.Name = strings.Repeat("n", 63) + "{{.Index}}"
		}, "which no label can be"},
		"resource":       {func(s *fleet.Spec) { s.Capacity = corev1.ResourceList{"a b": resource.MustParse("1")} }, "capacity[a b]"},
		"negative":       {func(s *fleet.Spec) { s.Capacity = corev1.ResourceList{"memory": resource.MustParse("-1")} }, "capacity[memory]: -1"},
		"half a pod":     {func(s *fleet.Spec) { s.Capacity = corev1.ResourceList{"pods": resource.MustParse("1500m")} }, "capacity[pods]: 1500m is not a whole"},
		"of one machine": {func(s *fleet.Spec) { s.Machines[0].Capacity = corev1.ResourceList{"a.b/c": resource.MustParse("-1")} }, "machines[0] (l40s): capacity[a.b/c]: -1"},
		"half a device":  {func(s *fleet.Spec) { s.Capacity = corev1.ResourceList{"a.b/c": resource.MustParse("0.5")} }, "capacity[a.b/c]: 500m is not a whole"},
		"shadowed label": {func(s *fleet.Spec) { s.Labels = map[string]string{corev1.LabelHostname: "x"} }, "kubernetes.io/hostname"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, "l40s=2")
			test.change(&s)
			_, err := fleet.New(s)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// The pools of a node and those of a fabric of its name would be one pool, with
// slices of the same names.
func TestNodesAndFabricPoolsDoNotShareNames(t *testing.T) {
	s := spec(t, "l40s=1", "fabric-pool=1")
	s.Name = "x-{{.Index}}"
	_, err := fleet.New(s)
	if err == nil || !strings.Contains(err.Error(), `a node and a fabric pool would be called "x-0"`) {
		t.Errorf("error %v", err)
	}
}

func TestAMachineCanBeThereTwice(t *testing.T) {
	f, err := fleet.New(spec(t, "l40s=2", "t4=1", "l40s=1"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for member := range f.Members() {
		names = append(names, member.Node.Name)
	}
	if diff := cmp.Diff([]string{"l40s-0", "l40s-1", "t4-0", "l40s-2"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestCountsAreParsedStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"dgx-h100=4000": "dgx-h100 4000", "l40s": "l40s 1",
		"": "", "=3": "", "l40s=": "", "l40s=0": "", "l40s=-1": "", "l40s=1e3": "", "l40s=9999999": "",
	} {
		name, count, err := fleet.ParseCount(text)
		if got := fmt.Sprint(name, " ", count); want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%q parses as %s, %v; want %q", text, got, err, want)
		}
	}
}

// A writer that fails in the middle must end the fleet with its error.
func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	f, err := fleet.New(spec(t, "dgx-h100=50"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(full{}, fleet.JSON, all, nil); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("error %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

func BenchmarkFleetNode(b *testing.B) {
	f, err := fleet.New(spec(b, "dgx-h100=1000"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for range f.Members() {
		}
	}
}
