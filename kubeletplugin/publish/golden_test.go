package publish_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestGoldens publishes the machines of testdata/nodes with the options that a
// command names, and compares a compact form of the slices. Run it with -rewrite
// after a change that is meant, and read the difference.
//
//	publish node=<file> [options]   what a node publishes
//	fabric pool=<file> [options]    what a fabric publishes
//	classes [options]               DeviceClasses
//
// Options are those of parseOption, and detail=names, which leaves out all but
// names.
func TestGoldens(t *testing.T) {
	datadriven.Walk(t, "testdata/goldens", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			options, state, detail := parseOptions(t, d)
			if d.Cmd == "classes" {
				classes, err := publish.DeviceClasses(options)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				return formatClasses(classes)
			}
			publisher, err := publish.New(options)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			var pools []publish.Pool
			switch d.Cmd {
			case "publish":
				pools, err = publisher.Node("node-1", readNode(t, argument(d, "node")), state)
			case "fabric":
				var fabric hardware.FabricPool
				readYAML(t, argument(d, "pool"), &fabric)
				pools, err = publisher.Fabric(&fabric, state)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return format(pools, detail)
		})
	})
}

func argument(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return ""
}

func readNode(t testing.TB, name string) *hardware.Node {
	t.Helper()
	node := &hardware.Node{}
	readYAML(t, name, node)
	return node
}

func readYAML(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "nodes", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func parseOptions(t testing.TB, d *datadriven.TestData) (options publish.Options, state publish.State, detail string) {
	options.Features = publish.DefaultFeatures()
	state = publish.State{Generations: map[string]int64{}, Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{}, Withdrawn: map[publish.DeviceID]bool{}}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "node", "pool":
		case "detail":
			detail = a.Vals[0]
		case "generation": // driver, number
			var n int64
			fmt.Sscan(a.Vals[1], &n)
			state.Generations[a.Vals[0]] = n
		case "withdraw": // driver, device
			state.Withdrawn[publish.DeviceID{Driver: a.Vals[0], Device: a.Vals[1]}] = true
		case "taint": // driver, device, key, effect
			id := publish.DeviceID{Driver: a.Vals[0], Device: a.Vals[1]}
			state.Taints[id] = append(state.Taints[id], resourceapi.DeviceTaint{Key: a.Vals[2], Effect: resourceapi.DeviceTaintEffect(a.Vals[3])})
		default:
			parseOption(t, d, &options, a.Key, a.Vals)
		}
	}
	return options, state, detail
}

func parseOption(t testing.TB, d *datadriven.TestData, o *publish.Options, key string, values []string) {
	var value string
	if len(values) > 0 {
		value = values[0]
	}
	switch key {
	case "minor":
		fmt.Sscan(value, &o.Minor)
	case "mig":
		o.MIG = map[string]publish.MIGMode{"off": publish.MIGOff, "static": publish.MIGStatic, "dynamic": publish.MIGDynamic}[value]
	case "nics":
		o.NICs = map[string]publish.NICModel{"functions": publish.NICFunctions, "vfs": publish.NICVirtualFunctions, "shared": publish.NICSharedBandwidth}[value]
	case "peers":
		o.Drivers = publish.PeerDrivers(o.NICs)
	case "simulated":
		o.Simulated = true
	case "numa-list":
		o.NUMANodeList = true
	case "vgpu":
		o.VGPU = true
	case "amd-partitions":
		o.AMDPartitions = true
	case "host-imex":
		o.HostManagedIMEX = true
	case "bitstream": // name, model, interface, function
		o.Bitstreams = append(o.Bitstreams, publish.Bitstream{Name: values[0], Model: strings.ReplaceAll(values[1], "_", " "), Interface: values[2], Function: values[3]})
	case "extended": // class, resource
		o.ExtendedResources = map[string]string{values[0]: values[1]}
	case "resource-name": // interface, name
		o.ResourceNames = map[string]string{values[0]: values[1]}
	case "features":
		o.Features = publish.Features{}
		for _, feature := range values {
			switch feature {
			case "partitions":
				o.Features.PartitionableDevices = true
			case "taints":
				o.Features.DeviceTaints = true
			case "groups":
				o.Features.CompatibilityGroups = true
			case "lists":
				o.Features.ListAttributes = true
			case "binding":
				o.Features.BindingConditions = true
			case "capacity":
				o.Features.ConsumableCapacity = true
			case "extended":
				o.Features.ExtendedResources = true
			case "none":
			default:
				d.Fatalf(t, "unknown feature %s", feature)
			}
		}
	default:
		d.Fatalf(t, "unknown option %s", key)
	}
}

func format(pools []publish.Pool, detail string) string {
	var b strings.Builder
	for _, pool := range pools {
		fmt.Fprintf(&b, "%s pool %s\n", pool.Driver, pool.Name)
		for i := range pool.Slices {
			s := &pool.Slices[i]
			where := "nodes with"
			if s.Spec.NodeName != nil {
				where = "node " + *s.Spec.NodeName
			} else {
				for _, e := range s.Spec.NodeSelector.NodeSelectorTerms[0].MatchExpressions {
					where += fmt.Sprintf(" %s %s %v", e.Key, e.Operator, e.Values)
				}
			}
			fmt.Fprintf(&b, " %s: generation %d, %d slices, %s\n", s.Name, s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount, where)
			for _, set := range s.Spec.SharedCounters {
				fmt.Fprintf(&b, "  set %s: %s\n", set.Name, formatCounters(set.Counters))
			}
			if detail == "names" {
				var names []string
				for _, device := range s.Spec.Devices {
					names = append(names, device.Name)
				}
				if len(names) > 0 {
					fmt.Fprintf(&b, "  %s\n", strings.Join(names, " "))
				}
				continue
			}
			for j := range s.Spec.Devices {
				formatDevice(&b, &s.Spec.Devices[j])
			}
		}
	}
	return b.String()
}

func formatDevice(b *strings.Builder, d *resourceapi.Device) {
	fmt.Fprintf(b, "  %s\n", d.Name)
	for _, name := range sortedKeys(d.Attributes) {
		kind, value := valueOf(d.Attributes[name])
		fmt.Fprintf(b, "   %s: %s %s\n", name, kind, value)
	}
	for _, name := range sortedKeys(d.Capacity) {
		c := d.Capacity[name]
		fmt.Fprintf(b, "   capacity %s: %s", name, c.Value.String())
		if p := c.RequestPolicy; p != nil {
			fmt.Fprintf(b, ", default %s", p.Default)
			for _, v := range p.ValidValues {
				fmt.Fprintf(b, ", valid %s", v.String())
			}
			if r := p.ValidRange; r != nil {
				fmt.Fprintf(b, ", %s to %s by %s", r.Min, r.Max, r.Step)
			}
		}
		b.WriteByte('\n')
	}
	for _, c := range d.ConsumesCounters {
		fmt.Fprintf(b, "   consumes %s: %s", c.CounterSet, formatCounters(c.Counters))
		if len(c.CompatibilityGroups) > 0 {
			fmt.Fprintf(b, "; groups %s", strings.Join(c.CompatibilityGroups, " "))
		}
		b.WriteByte('\n')
	}
	for _, taint := range d.Taints {
		fmt.Fprintf(b, "   taint %s=%s:%s\n", taint.Key, taint.Value, taint.Effect)
	}
	if d.AllowMultipleAllocations != nil {
		fmt.Fprintf(b, "   allows multiple allocations: %t\n", *d.AllowMultipleAllocations)
	}
	if d.BindsToNode != nil {
		fmt.Fprintf(b, "   binds to node: %t; %v, or %v\n", *d.BindsToNode, d.BindingConditions, d.BindingFailureConditions)
	}
}

func formatCounters(counters map[string]resourceapi.Counter) string {
	var parts []string
	for _, name := range sortedKeys(counters) {
		c := counters[name]
		parts = append(parts, name+" "+c.Value.String())
	}
	return strings.Join(parts, ", ")
}

func formatClasses(classes []resourceapi.DeviceClass) string {
	var b strings.Builder
	for _, class := range classes {
		fmt.Fprintf(&b, "%s\n", class.Name)
		for _, s := range class.Spec.Selectors {
			fmt.Fprintf(&b, "  %s\n", s.CEL.Expression)
		}
		if class.Spec.ExtendedResourceName != nil {
			fmt.Fprintf(&b, "  extended resource %s\n", *class.Spec.ExtendedResourceName)
		}
	}
	return b.String()
}

// valueOf returns the API's name of an attribute's type, and the value.
func valueOf(a resourceapi.DeviceAttribute) (kind, value string) {
	switch {
	case a.StringValue != nil:
		return "string", fmt.Sprintf("%q", *a.StringValue)
	case a.IntValue != nil:
		return "int", fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return "bool", fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return "version", *a.VersionValue
	case a.IntValues != nil:
		return "ints", fmt.Sprint(a.IntValues)
	}
	return "none", ""
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
