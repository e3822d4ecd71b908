package fleet_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// documented reads the tables of docs/attributes.md: the names of each kind of device,
// with those of the first table, which holds for all.
func documented(t *testing.T) (common []string, kinds map[string][]string) {
	document, err := os.ReadFile("../../docs/attributes.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds = map[string][]string{}
	kind := ""
	heading := regexp.MustCompile(`^## ([a-z.-]+\.dray\.dev): ([a-z-]+)$`)
	row := regexp.MustCompile("^\\| `([^`]+)`(?: to `([^`]+)`)? \\|")
	for _, line := range strings.Split(string(document), "\n") {
		if found := heading.FindStringSubmatch(line); found != nil {
			kind = found[1] + ": " + found[2]
			kinds[kind] = []string{}
			continue
		}
		found := row.FindStringSubmatch(line)
		switch {
		case found == nil:
		case kind == "":
			common = append(common, found[1])
		case found[2] != "":
			stem := found[1][:len(found[1])-1]
			for i := found[1][len(stem)]; i <= found[2][len(stem)]; i++ {
				kinds[kind] = append(kinds[kind], stem+string(i))
			}
		default:
			kinds[kind] = append(kinds[kind], found[1])
		}
	}
	return common, kinds
}

// headingOf says under which heading a device is documented.
func headingOf(driver string, device *resourceapi.Device) string {
	of := func(name resourceapi.QualifiedName) bool { _, ok := device.Attributes[name]; return ok }
	switch attribute, ok := device.Attributes["type"]; {
	case ok:
		return driver + ": " + *attribute.StringValue
	case device.AllowMultipleAllocations != nil:
		return driver + ": port"
	case of("sriovnetwork.k8snetworkplumbingwg.io/vfID"):
		return driver + ": vf"
	}
	return driver + ": interface"
}

var drivers = []string{"gpu.dray.dev", "nic.dray.dev", "fpga.dray.dev", "compute-domain.dray.dev"}

// waysToPublish have, together, every kind of device.
func waysToPublish() []publish.Options {
	everything := publish.DefaultFeatures()
	everything.CompatibilityGroups = true
	return []publish.Options{
		{Features: everything, MIG: publish.MIGDynamic, VGPU: true, AMDPartitions: true},
		{Features: everything, MIG: publish.MIGStatic, NICs: publish.NICVirtualFunctions},
		{Features: everything, NICs: publish.NICSharedBandwidth},
	}
}

func add(published map[string]map[string]bool, kind string, device *resourceapi.Device) {
	if published[kind] == nil {
		published[kind] = map[string]bool{}
	}
	for name := range device.Attributes {
		published[kind][string(name)] = true
	}
	for name := range device.Capacity {
		published[kind][string(name)] = true
	}
}

func TestTheDocumentNamesWhatMachinesPublish(t *testing.T) {
	common, kinds := documented(t)
	published := map[string]map[string]bool{}
	for _, options := range waysToPublish() {
		options.Simulated = true
		s := fleet.Spec{Seed: 1, Publish: options}
		for _, name := range machine.Names() {
			s.Machines = append(s.Machines, fleet.Count{Machine: load(t, name), Count: 1})
		}
		for _, driver := range drivers {
			for _, device := range publishedBy(t, s, driver) {
				if len(device.BindingConditions) == 0 {
					add(published, headingOf(driver, &device), &device)
				}
			}
		}
	}
	var problems []string
	for kind, names := range published {
		if kinds[kind] == nil {
			problems = append(problems, kind+" has no table")
		}
		for name := range names {
			if !slices.Contains(common, name) && !slices.Contains(kinds[kind], name) {
				problems = append(problems, fmt.Sprintf("%s: %s is published and not in its table", kind, name))
			}
		}
	}
	for kind, names := range kinds {
		for _, name := range names {
			if !published[kind][name] && !memorySlice.MatchString(name) {
				problems = append(problems, fmt.Sprintf("%s: %s is in its table and no machine publishes it", kind, name))
			}
		}
	}
	for _, problem := range slices.Sorted(slices.Values(problems)) {
		t.Error(problem)
	}
	if len(published) != len(kinds) {
		t.Errorf("%d kinds are published, %d are documented: %v", len(published), len(kinds), slices.Sorted(maps.Keys(published)))
	}
}

// No partition takes slices of memory in all ways that the range in the table allows.
var memorySlice = regexp.MustCompile(`^memorySlice\d$`)
