package publish_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// devicesOf are all devices of pools, in the order in which a scheduler reads
// them.
func devicesOf(pools []publish.Pool) []resourceapi.Device {
	var devices []resourceapi.Device
	for _, pool := range pools {
		for i := range pool.Slices {
			devices = append(devices, pool.Slices[i].Spec.Devices...)
		}
	}
	return devices
}

func setsOf(pools []publish.Pool) map[string]map[string]resourceapi.Counter {
	sets := map[string]map[string]resourceapi.Counter{}
	for _, pool := range pools {
		for i := range pool.Slices {
			for _, set := range pool.Slices[i].Spec.SharedCounters {
				sets[set.Name] = set.Counters
			}
		}
	}
	return sets
}

// allocate takes devices one after the other by the scheduler's rules, an obvious
// form of them: sums of counters, and one intersection of groups for each set. It
// returns the first that does not fit, or "".
func allocate(t *testing.T, pools []publish.Pool, names ...string) (refused string) {
	t.Helper()
	sets, devices := setsOf(pools), devicesOf(pools)
	used := map[string]int64{}
	groups := map[string][]string{}
	for _, name := range names {
		i := slices.IndexFunc(devices, func(d resourceapi.Device) bool { return d.Name == name })
		if i < 0 {
			t.Fatalf("there is no device %s", name)
		}
		for _, c := range devices[i].ConsumesCounters {
			for counter, amount := range c.Counters {
				available := sets[c.CounterSet][counter]
				if used[c.CounterSet+"/"+counter]+amount.Value.Value() > available.Value.Value() {
					return name
				}
			}
			before, taken := groups[c.CounterSet]
			both := slices.DeleteFunc(slices.Clone(c.CompatibilityGroups), func(g string) bool { return taken && !slices.Contains(before, g) })
			if taken && len(both) == 0 && len(before)+len(c.CompatibilityGroups) > 0 {
				return name
			}
			groups[c.CounterSet] = both
			for counter, amount := range c.Counters {
				used[c.CounterSet+"/"+counter] += amount.Value.Value()
			}
		}
	}
	return ""
}

// vector is devices that are taken in turn. The last one is refused if it says so.
type vector struct {
	node, devices string
	refused       bool
}

// repeated is prefix0 … prefix(n-1).
func repeated(prefix string, n int) string {
	var names []string
	for i := range n {
		names = append(names, prefix+string(rune('0'+i)))
	}
	return strings.Join(names, " ")
}

func TestPartitionsFitAsTheHardwareAdmits(t *testing.T) {
	const a, h = "gpu-0-mig-", "gpu-4-mig-"
	seven := repeated(a+"1g5gb-19-", 7)
	for _, v := range []vector{
		{"a100", seven, false},
		{"a100", a + "3g20gb-9-0 " + a + "3g20gb-9-4", false},
		{"a100", a + "3g20gb-9-0 " + a + "3g20gb-9-4 " + a + "1g5gb-19-6", true},
		{"a100", a + "4g20gb-5-0 " + a + "3g20gb-9-4", false},
		{"a100", a + "2g10gb-14-0 " + a + "2g10gb-14-2 " + a + "2g10gb-14-4 " + a + "1g5gb-19-6", false},
		{"a100", a + "3g20gb-9-0 " + a + "4g20gb-5-0", true},
		{"a100", a + "1g5gb-me-20-0 " + a + "1g5gb-me-20-1", true},
		{"a100", a + "1g10gb-15-0 " + a + "1g10gb-15-2 " + a + "1g10gb-15-4 " + a + "1g10gb-15-6", false},
		{"a100", a + "1g5gb-19-1 " + a + "1g10gb-15-0", true},
		{"a100", a + "1g5gb-19-1 " + a + "1g10gb-15-2", false},
		{"a100", a + "1g5gb-19-1 " + a + "2g10gb-14-0", true},
		{"a100", a + "1g5gb-19-1 " + a + "4g20gb-5-0", true},
		{"a100", a + "1g5gb-19-1 " + a + "7g40gb-0-0", true},
		{"dgx-h100", h + "1g20gb-15-0 " + h + "1g20gb-15-2 " + h + "1g20gb-15-4 " + h + "1g20gb-15-6", false},
		{"dgx-h100", h + "1g10gb-me-20-6 " + repeated(h+"1g10gb-19-", 6), false},
		{"dgx-h100", h + "1g10gb-me-20-6 " + h + "1g10gb-me-20-0", true},
		{"dgx-h100", h + "1g10gb-19-0 gpu-4", true},
		{"dgx-h100", "gpu-4 " + h + "1g10gb-19-6", true},
		{"dgx-h100", "gpu-4 gpu-5-mig-7g80gb-0-0", false},
	} {
		pools := published(t, v.node, publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
		check(t, pools, v)
	}
}

func TestVirtualGPUsFitAsTheHardwareAdmits(t *testing.T) {
	const equal, mixed = "gpu-0-vgpu-nvidia-a100-", "gpu-1-vgpu-nvidia-a100-"
	features := publish.DefaultFeatures()
	features.CompatibilityGroups = true
	pools := published(t, "a100-mig-off", publish.Options{Features: features, VGPU: true, MIG: publish.MIGDynamic})
	for _, v := range []vector{
		{"", repeated(equal+"10c-", 4), false},
		{"", repeated(equal+"8c-", 5), false},
		{"", equal + "10c-0 " + equal + "20c-0", true},
		{"", equal + "10c-0 " + equal + "10c-1 gpu-0", true},
		{"", "gpu-0 " + equal + "8c-0", true},
		{"", repeated(mixed+"8c-", 4), false},
		{"", mixed + "10c-0 " + mixed + "20c-1 " + mixed + "8c-1", false},
		{"", mixed + "10c-0 " + mixed + "20c-0", true},
		{"", mixed + "20c-0 " + mixed + "20c-1 " + mixed + "8c-0", true},
		// Half of the GPU is free, but no half.
		{"", mixed + "10c-0 " + mixed + "10c-2 " + mixed + "20c-0", true},
		{"", mixed + "10c-0 " + mixed + "10c-2 " + mixed + "20c-1", true},
		{"", mixed + "10c-3 gpu-1", true},
	} {
		check(t, pools, v)
	}
	// The same types on a GPU that changes its mode without a reset.
	node := readNode(t, "a100-mig-off")
	for i := range node.GPUs {
		node.GPUs[i].Architecture = "Hopper"
	}
	publisher, err := publish.New(publish.Options{Features: features, VGPU: true, MIG: publish.MIGDynamic})
	if err != nil {
		t.Fatal(err)
	}
	if pools, err = publisher.Node("node-1", node, publish.State{}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []vector{
		{"", "gpu-0-mig-1g5gb-19-6 " + equal + "2-10c-0", false},
		{"", "gpu-0-mig-1g5gb-19-1 " + equal + "2-10c-0", true},
		{"", "gpu-0-mig-1g5gb-19-6 " + equal + "10c-0", true},
		{"", equal + "10c-0 " + equal + "2-10c-0", true},
		{"", "gpu-0-mig-1g5gb-19-6 gpu-0", true},
		{"", "gpu-0 gpu-1-mig-1g5gb-19-6", false},
	} {
		check(t, pools, v)
	}
}

// The slots of types of which at most 12 can be there cut a GPU into 16 pieces, and
// those of which 16 or 24 can be into 32: all that a set has room for, unless
// partitions have 15 counters of it.
func TestTypesWhoseSlotsTheCountersCannotTellApartAreLeftOut(t *testing.T) {
	node := readNode(t, "a100-mig-off")
	node.GPUs = node.GPUs[1:]
	vgpu := &hardware.VGPU{MixedSize: true}
	for _, most := range []int{32, 24, 16, 12, 8, 6, 4, 3, 2, 1, 0} {
		vgpu.Types = append(vgpu.Types, hardware.VGPUType{ID: len(vgpu.Types), Name: fmt.Sprintf("part %d", most),
			FramebufferBytes: 96 << 30 / uint64(max(most, 1)), MaxInstances: max(most, 1), MaxMixed: most, MIGProfileID: -1})
	}
	node.GPUs[0].VGPU = vgpu
	for _, c := range []struct {
		architecture string
		pieces       int
		want         []string
	}{
		{"Ampere", 32, []string{"part 1", "part 12", "part 16", "part 2", "part 24", "part 3", "part 4", "part 6", "part 8"}},
		{"Hopper", 15 + 16, []string{"part 1", "part 12", "part 2", "part 3", "part 4", "part 6", "part 8"}},
	} {
		node.GPUs[0].Architecture = c.architecture
		features := publish.DefaultFeatures()
		features.CompatibilityGroups = true
		publisher, err := publish.New(publish.Options{Features: features, VGPU: true, MIG: publish.MIGDynamic})
		if err != nil {
			t.Fatal(err)
		}
		pools, err := publisher.Node("node-1", node, publish.State{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, slice := range pools[0].Slices {
			for _, set := range slice.Spec.SharedCounters {
				if len(set.Counters) != c.pieces {
					t.Errorf("%s: %d counters, not %d", c.architecture, len(set.Counters), c.pieces)
				}
			}
			for _, device := range slice.Spec.Devices {
				if strings.Contains(device.Name, "-vgpu-") {
					got = append(got, *device.Attributes["profile"].StringValue)
				}
			}
		}
		if got = slices.Compact(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: types are %q, want %q", c.architecture, got, c.want)
		}
	}
}

func check(t *testing.T, pools []publish.Pool, v vector) {
	t.Helper()
	names := strings.Fields(v.devices)
	want := ""
	if v.refused {
		want = names[len(names)-1]
	}
	if got := allocate(t, pools, names...); got != want {
		t.Errorf("%s: refused is %q, want %q", v.devices, got, want)
	}
}

func published(t testing.TB, node string, options publish.Options) []publish.Pool {
	t.Helper()
	publisher, err := publish.New(options)
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("node-1", readNode(t, node), publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	return pools
}
