package publish_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// mustBeValid holds pools to the rules of the API server and of schedulers.
func mustBeValid(t interface{ Errorf(string, ...any) }, pools []publish.Pool, minor int) {
	if minor == 0 {
		minor = 37
	}
	for _, pool := range pools {
		for i := range pool.Slices {
			if problem := rules(&pool.Slices[i], minor); problem != "" {
				t.Errorf("slice %s: %s", pool.Slices[i].Name, problem)
			}
		}
		if problem := poolRules(&pool); len(pool.Slices) > 0 && problem != "" {
			t.Errorf("pool of %s: %s", pool.Driver, problem)
		}
	}
}

// namesOf are the devices of a driver.
func namesOf(pools []publish.Pool, driver string) (names []string) {
	for _, pool := range pools {
		if pool.Driver == driver {
			for _, d := range devicesOf([]publish.Pool{pool}) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

func TestADeviceThatCannotBePublishedDoesNotHideTheOthers(t *testing.T) {
	options := publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic}
	options.Features.DeviceTaints = true
	gpu0 := publish.DeviceID{Driver: "gpu.dray.dev", Device: "gpu-0"}
	seventeen := make([]resourceapi.DeviceTaint, 17)
	for i := range seventeen {
		seventeen[i] = resourceapi.DeviceTaint{Key: fmt.Sprintf("t%d", i), Effect: resourceapi.DeviceTaintEffectNoSchedule}
	}
	onGPU0 := func(name string) bool { return name == "gpu-0" || strings.HasPrefix(name, "gpu-0-") }
	for _, c := range []struct {
		name   string
		change func(*hardware.Node)
		state  publish.State
		gone   func(device string) bool
		want   []string // in the error
	}{
		{"17 taints", func(*hardware.Node) {}, publish.State{Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{gpu0: seventeen}},
			func(name string) bool { return name == "gpu-0" },
			[]string{"node n: driver gpu.dray.dev: device gpu-0: taints: 17 are more than 16"}},
		{"a long profile", func(n *hardware.Node) { n.GPUs[0].MIG.Profiles[0].Name = strings.Repeat("1", 60) + "g" }, publish.State{},
			func(name string) bool { return strings.HasPrefix(name, "gpu-4-mig-1g10gb-19-") },
			[]string{"driver gpu.dray.dev: device gpu-4-mig-111", ": name: "}},
		{"more counters than a set has", func(n *hardware.Node) {
			for _, p := range []int{0, 1} {
				n.GPUs[1].MIG.Profiles[p].Placements = append(n.GPUs[1].MIG.Profiles[p].Placements, hardware.Placement{Start: 9, Size: 30})
			}
		}, publish.State{}, func(name string) bool { return name == "gpu-5" || strings.HasPrefix(name, "gpu-5-") },
			[]string{"driver gpu.dray.dev: device gpu-5: sharedCounters[gpu-5-counter-set].counters: there are "}},
		{"33 regions", func(n *hardware.Node) { n.FPGAs[0].Regions = regions(33) }, publish.State{},
			func(name string) bool { return strings.HasPrefix(name, "fpga-0000-01-00-0") },
			[]string{"node n: driver fpga.dray.dev: device fpga-0000-01-00-0: sharedCounters[fpga-0000-01-00-0-counter-set].counters: there are 33"}},
		{"a GPU that is one of another minor", func(n *hardware.Node) { n.GPUs[4].Minor = n.GPUs[0].Minor }, publish.State{}, onGPU0,
			[]string{"driver gpu.dray.dev: device gpu-4: sharedCounters: "}},
		{"a placement without slices", func(n *hardware.Node) { n.GPUs[4].MIG.Profiles[0].Placements[0].Size = 0 }, publish.State{}, onGPU0,
			[]string{"driver gpu.dray.dev: device gpu-0: mig.profiles["}},
		{"an attribute of all of a GPU", func(n *hardware.Node) { n.GPUs[4].Brand = strings.Repeat("x", 1<<20) }, publish.State{}, onGPU0,
			[]string{"driver gpu.dray.dev: device gpu-0: attributes[brand]: \"xxx", "more devices)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			publisher, err := publish.New(options)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := publisher.Node("n", mixedNode(t), publish.State{})
			if err != nil {
				t.Fatal(err)
			}
			node := mixedNode(t)
			c.change(node)
			pools, err := publisher.Node("n", node, c.state)
			if err == nil || len(err.Error()) > 4096 {
				t.Fatalf("error %.5000v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "no such counter set") {
				t.Errorf("devices are named beside their counter set: %v", err)
			}
			if e := (*publish.Error)(nil); !errors.As(err, &e) || e.Node != "n" || e.Driver == "" || e.Device == "" || e.Field == "" {
				t.Errorf("%v does not name node, driver, device and field", err)
			}
			mustBeValid(t, pools, 0)
			for _, driver := range []string{"gpu.dray.dev", "nic.dray.dev", "fpga.dray.dev"} {
				want := slices.DeleteFunc(namesOf(whole, driver), c.gone)
				if got := namesOf(pools, driver); !slices.Equal(got, want) {
					t.Errorf("%s has\n%q, want\n%q", driver, got, want)
				}
			}
		})
	}
}

// mixedNode has GPUs, network functions, and FPGA cards with two regions.
func mixedNode(t *testing.T) *hardware.Node {
	node := readNode(t, "dgx-h100")
	node.NICs = functions(2).NICs
	node.FPGAs = append(node.FPGAs,
		hardware.FPGA{PCIFunction: hardware.PCIFunction{Address: hardware.PCIAddress{Bus: 1}}, Regions: regions(2)},
		hardware.FPGA{PCIFunction: hardware.PCIFunction{Address: hardware.PCIAddress{Bus: 2}}, Regions: regions(2)})
	return node
}

func regions(n int) (list []hardware.FPGARegion) {
	for id := range n {
		list = append(list, hardware.FPGARegion{ID: id, Interface: interfaces[0]})
	}
	return list
}

func TestWhatIsLeftOfABrokenNodeIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t}
		node, options := r.node(), r.options()
		publisher, err := publish.New(options)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := publisher.Node("n", node, publish.State{}) // 1.34 may leave out some of it
		state := publish.State{Taints: map[publish.DeviceID][]resourceapi.DeviceTaint{}}
		for _, pool := range whole {
			for _, d := range devicesOf([]publish.Pool{pool}) {
				if r.within("taint", 0, 9) == 0 {
					state.Taints[publish.DeviceID{Driver: pool.Driver, Device: d.Name}] = make([]resourceapi.DeviceTaint, r.within("taints", 1, 17))
				}
			}
		}
		for i := range node.GPUs {
			switch gpu := &node.GPUs[i]; r.within("break gpu", 0, 9) {
			case 0:
				gpu.Minor = r.within("minor", 0, len(node.GPUs)-1)
			case 1:
				gpu.Brand = strings.Repeat("x", 65)
			case 2:
				gpu.MemoryBytes = 1 << 63
			case 3:
				gpu.ComputeCapability = "none"
			}
		}
		for i := range node.FPGAs {
			if r.chance("break fpga") {
				node.FPGAs[i].Regions = regions(r.within("regions", 0, 40))
			}
		}
		for i := range node.AMDGPUs {
			if r.chance("break amd gpu") {
				node.AMDGPUs[i].Card, node.AMDGPUs[i].Render = 0, 128
			}
		}
		pools, err := publisher.Node("n", node, state)
		mustBeValid(t, pools, options.Minor)
		if err == nil {
			for _, pool := range whole {
				if got := namesOf(pools, pool.Driver); options.Minor > 34 && len(state.Taints) == 0 && len(got) < len(namesOf(whole, pool.Driver)) {
					t.Fatalf("%s has fewer devices without an error", pool.Driver)
				}
			}
		}
		for _, pool := range pools {
			used := map[string]bool{}
			for _, d := range devicesOf([]publish.Pool{pool}) {
				for _, c := range d.ConsumesCounters {
					used[c.CounterSet] = true
				}
			}
			if sets := setsOf([]publish.Pool{pool}); len(state.Taints) == 0 && len(sets) != len(used) {
				t.Fatalf("%s has %d counter sets, of which devices consume %d", pool.Driver, len(sets), len(used))
			}
		}
	})
}

func TestAWrongPoolLeavesThoseOfOtherDrivers(t *testing.T) {
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("n", mixedNode(t), publish.State{Generations: map[string]int64{"gpu.dray.dev": -1}})
	if err == nil || err.Error() != "node n: driver gpu.dray.dev: pool.generation: -1 is negative" {
		t.Errorf("error %v", err)
	}
	if len(namesOf(pools, "fpga.dray.dev")) != 2 || slices.ContainsFunc(pools, func(p publish.Pool) bool { return p.Driver == "gpu.dray.dev" }) {
		t.Errorf("pools %v", pools)
	}
}

func TestAPoolOfWhichAllIsLeftOutHasNoSlices(t *testing.T) {
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node := mixedNode(t)
	node.GPUDriver.Version = "none"
	pools, err := publisher.Node("n", node, publish.State{})
	if err == nil || strings.Count(err.Error(), "attributes[driverVersion]") != 8 {
		t.Errorf("error %v", err)
	}
	i := slices.IndexFunc(pools, func(p publish.Pool) bool { return p.Driver == "gpu.dray.dev" })
	if i < 0 || len(pools[i].Slices) != 0 {
		t.Errorf("pools %v", pools)
	}
}

func TestADeviceOfAFabricThatCannotBePublishedIsLeftOut(t *testing.T) {
	features := publish.DefaultFeatures()
	features.BindingConditions = true
	publisher, err := publish.New(publish.Options{Features: features})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Fabric(&hardware.FabricPool{Name: "f", NodeLabels: map[string]string{"a": "b"}, Devices: []hardware.FabricDevice{
		{Name: "one", Type: "gpu"}, {Name: "two", Type: "disk"}, {Name: "three_", Type: "gpu"}, {Name: "four", Type: "gpu"}}}, publish.State{})
	if err == nil || !strings.Contains(err.Error(), "device two: attributes[type]") || !strings.Contains(err.Error(), "device three_: name") {
		t.Errorf("error %v", err)
	}
	if got := namesOf(pools, "gpu.dray.dev"); !slices.Equal(got, []string{"one", "four"}) {
		t.Errorf("devices %q", got)
	}
}

// Files hold anything: what is no text is made one, and what is long is cut.
func TestTextsOfFilesFitAndAreUTF8(t *testing.T) {
	node := mixedNode(t)
	card := &node.FPGAs[0]
	card.Model, card.Serial, card.Shell = strings.Repeat("m", 1<<20), "\xff1", strings.Repeat("é", 40)
	node.NICs[0].Interface, node.NICs[0].IDs.VendorName = "e\xfe0", "\xffvendor"
	node.GPUs[0].ProductName = "GPU\xff"
	publisher, err := publish.New(publish.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("n", node, publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, d := range devicesOf(pools) {
		for _, a := range d.Attributes {
			if a.StringValue != nil {
				values[*a.StringValue] = true
			}
		}
	}
	for value := range values {
		if !utf8.ValidString(value) {
			t.Errorf("%q is published", value)
		}
	}
	for _, want := range []string{strings.Repeat("m", 64), "\uFFFD1", strings.Repeat("é", 32), "e\uFFFD0", "\uFFFDvendor", "GPU\uFFFD"} {
		if !values[want] {
			t.Errorf("%q is not published", want)
		}
	}
}
