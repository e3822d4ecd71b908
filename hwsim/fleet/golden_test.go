package fleet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Each machine has a file with the slices that it publishes with everything
// switched on, whole and in a compact form: of a device stands what differs from
// the one before it in the slice, "-name" for what that had and this has not. Of
// a rack it is the first tray. After a change that is meant, run with -rewrite and
// read the difference.
func TestMachinesPublishTheSlicesInTheirFiles(t *testing.T) {
	for _, name := range machine.Names() {
		t.Run(name, func(t *testing.T) {
			datadriven.RunTest(t, "testdata/slices/"+name+".txt", func(t *testing.T, d *datadriven.TestData) string {
				s := spec(t, name)
				s.Name = "node"
				s.Publish = publish.Options{
					Features: publish.Features{
						PartitionableDevices: true, DeviceTaints: true, CompatibilityGroups: true, ListAttributes: true,
						BindingConditions: true, ConsumableCapacity: true,
					},
					MIG: publish.MIGDynamic, VGPU: true, AMDPartitions: true,
				}
				for _, argument := range d.CmdArgs {
					if argument.Key == "nics" && argument.Vals[0] == "bandwidth" {
						s.Publish.NICs = publish.NICSharedBandwidth
					}
				}
				f, err := fleet.New(s)
				if err != nil {
					t.Fatal(err)
				}
				for member, err := range f.Members() {
					if err != nil {
						t.Fatal(err)
					}
					return compact(member.Pools)
				}
				return "nothing\n"
			})
		})
	}
}

func compact(pools []publish.Pool) string {
	var out strings.Builder
	for _, pool := range pools {
		for i := range pool.Slices {
			slice := &pool.Slices[i]
			fmt.Fprintf(&out, "slice %s: pool %s of %s, one of %d\n", slice.Name, slice.Spec.Pool.Name, slice.Spec.Driver,
				slice.Spec.Pool.ResourceSliceCount)
			if slice.Spec.NodeSelector != nil {
				fmt.Fprintf(&out, "  nodes %v\n", slice.Spec.NodeSelector.NodeSelectorTerms)
			}
			for _, set := range slice.Spec.SharedCounters {
				fmt.Fprintf(&out, "  set %s:%s\n", set.Name, difference(nil, counters("", set.Counters)))
			}
			var before map[string]string
			for d := range slice.Spec.Devices {
				facts := factsOf(&slice.Spec.Devices[d])
				fmt.Fprintf(&out, "  %s:%s\n", slice.Spec.Devices[d].Name, difference(before, facts))
				before = facts
			}
		}
	}
	return out.String()
}

func counters(prefix string, list map[string]resourceapi.Counter) map[string]string {
	facts := map[string]string{}
	for name, counter := range list {
		facts[prefix+name] = counter.Value.String()
	}
	return facts
}

// factsOf are all fields of a device, by a short name.
func factsOf(d *resourceapi.Device) map[string]string {
	facts := map[string]string{}
	for name, a := range d.Attributes {
		facts[string(name)] = valueOf(&a)
	}
	for name, c := range d.Capacity {
		text := c.Value.String()
		if p := c.RequestPolicy; p != nil {
			text += fmt.Sprintf("(default %s", p.Default)
			if r := p.ValidRange; r != nil {
				text += fmt.Sprintf(", min %s, max %s, step %s", r.Min, r.Max, r.Step)
			}
			for _, value := range p.ValidValues {
				text += ", " + value.String()
			}
			text += ")"
		}
		facts["#"+string(name)] = text
	}
	for _, use := range d.ConsumesCounters {
		maps.Copy(facts, counters(use.CounterSet+"/", use.Counters))
		if len(use.CompatibilityGroups) > 0 {
			facts[use.CounterSet+"/groups"] = strings.Join(use.CompatibilityGroups, ",")
		}
	}
	for name, set := range map[string]bool{
		"shared":      d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations,
		"bindsToNode": d.BindsToNode != nil && *d.BindsToNode,
	} {
		if set {
			facts[name] = "true"
		}
	}
	if len(d.BindingConditions) > 0 {
		facts["conditions"] = strings.Join(d.BindingConditions, ",") + "/" + strings.Join(d.BindingFailureConditions, ",")
	}
	return facts
}

func valueOf(a *resourceapi.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return fmt.Sprintf("%q", *a.StringValue)
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return "v" + *a.VersionValue
	}
	return fmt.Sprint(a.StringValues, a.IntValues, a.BoolValues, a.VersionValues)
}

func difference(before, now map[string]string) string {
	var out strings.Builder
	names := maps.Clone(now)
	maps.Copy(names, before)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value, has := now[name]
		switch old, had := before[name]; {
		case !has:
			out.WriteString(" -" + name)
		case !had || old != value:
			out.WriteString(" " + name + "=" + value)
		}
	}
	return out.String()
}
