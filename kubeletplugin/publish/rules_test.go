package publish_test

import (
	"fmt"
	"regexp"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

var semver = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// rules are what an API server of a minor version checks, written down a second
// time from its own validation and as slowly as that does it. They return the
// first rule that is broken, or "".
func rules(slice *resourceapi.ResourceSlice, minor int) string {
	spec := &slice.Spec
	if problems := validation.IsDNS1123Subdomain(slice.Name); len(problems) > 0 {
		return "name " + slice.Name + ": " + problems[0]
	}
	if (spec.NodeName != nil) == (spec.NodeSelector != nil) {
		return "either a node name or a selector"
	}
	if spec.NodeSelector != nil && len(spec.NodeSelector.NodeSelectorTerms) != 1 {
		return "exactly one term"
	}
	if spec.Pool.ResourceSliceCount <= 0 || spec.Pool.Generation < 0 {
		return "count and generation"
	}
	if minor >= 35 && spec.SharedCounters != nil && spec.Devices != nil {
		return "either counters or devices"
	}
	if len(spec.SharedCounters) == 0 && len(spec.Devices) == 0 {
		return "an empty slice"
	}
	advanced, inSlice := false, 0
	for i := range spec.Devices {
		d := &spec.Devices[i]
		if problem := deviceRules(d, minor); problem != "" {
			return d.Name + ": " + problem
		}
		advanced = advanced || len(d.Taints) > 0 || len(d.ConsumesCounters) > 0
		for _, a := range d.Attributes {
			advanced = advanced || a.IntValues != nil
		}
		own := 0
		for _, c := range d.ConsumesCounters {
			own += len(c.Counters)
			if minor == 34 && setRules(spec.SharedCounters, &c) != "" {
				return d.Name + ": " + setRules(spec.SharedCounters, &c)
			}
		}
		inSlice += own
		if minor == 34 && own > 32 {
			return d.Name + ": more than 32 counters"
		}
	}
	if n := len(spec.Devices); n > 128 || minor >= 35 && advanced && n > 64 {
		return fmt.Sprintf("%d devices", n)
	}
	if minor == 34 && inSlice > 1024 {
		return fmt.Sprintf("%d counters in devices", inSlice)
	}
	return counterSetRules(spec.SharedCounters, minor)
}

func counterSetRules(sets []resourceapi.CounterSet, minor int) string {
	if minor >= 35 && len(sets) > 8 {
		return fmt.Sprintf("%d counter sets", len(sets))
	}
	total := 0
	for _, set := range sets {
		total += len(set.Counters)
		if len(set.Counters) == 0 || len(set.Counters) > 32 || len(validation.IsDNS1123Label(set.Name)) > 0 {
			return "counter set " + set.Name
		}
		for name := range set.Counters {
			if len(validation.IsDNS1123Label(name)) > 0 {
				return "counter " + name
			}
		}
	}
	if minor == 34 && total > 32 {
		return fmt.Sprintf("%d shared counters", total)
	}
	return ""
}

// setRules is what a device may consume of the sets.
func setRules(sets []resourceapi.CounterSet, c *resourceapi.DeviceCounterConsumption) string {
	for _, set := range sets {
		if set.Name != c.CounterSet {
			continue
		}
		for name, counter := range c.Counters {
			if available, ok := set.Counters[name]; !ok || available.Value.Cmp(counter.Value) < 0 {
				return "counter " + name + " of set " + set.Name
			}
		}
		return ""
	}
	return "no counter set " + c.CounterSet
}

func deviceRules(d *resourceapi.Device, minor int) string {
	if len(validation.IsDNS1123Label(d.Name)) > 0 {
		return "name"
	}
	if len(d.Attributes)+len(d.Capacity) > 32 {
		return "attributes and capacities"
	}
	values := 0
	for name, a := range d.Attributes {
		if !qualified(string(name)) {
			return "attribute " + string(name)
		}
		kind, _ := valueOf(a)
		switch kind {
		case "none":
			return "attribute " + string(name) + " has no value"
		case "string":
			if len(*a.StringValue) > 64 {
				return "attribute " + string(name) + " is too long"
			}
		case "version":
			if !semver.MatchString(*a.VersionValue) {
				return "attribute " + string(name) + " is no version"
			}
		case "ints":
			if minor < 36 || len(a.IntValues) == 0 {
				return "attribute " + string(name) + " is a list"
			}
			values += len(a.IntValues) - 1
		}
		values++
	}
	if values > 48 {
		return "attribute values"
	}
	for name, c := range d.Capacity {
		if !qualified(string(name)) {
			return "capacity " + string(name)
		}
		if c.RequestPolicy != nil && (d.AllowMultipleAllocations == nil || !*d.AllowMultipleAllocations) {
			return "a policy of a device that is not shared"
		}
	}
	for _, c := range d.ConsumesCounters {
		if len(c.Counters) == 0 || len(c.Counters) > 32 || len(c.CompatibilityGroups) > 2 {
			return "consumption of " + c.CounterSet
		}
		for _, group := range c.CompatibilityGroups {
			if minor < 37 || len(validation.IsDNS1123Label(group)) > 0 {
				return "group " + group
			}
		}
	}
	if n := len(d.Taints); n > 16 || minor == 34 && n > 4 || minor >= 35 && len(d.ConsumesCounters) > 2 {
		return "taints or consumptions"
	}
	return ""
}

func qualified(name string) bool {
	domain, id, ok := strings.Cut(name, "/")
	if !ok {
		domain, id = "a.b", name
	}
	return len(domain) <= 63 && len(validation.IsDNS1123Subdomain(domain)) == 0 && len(id) <= 32 &&
		regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(id)
}

// poolRules are what a scheduler wants of all slices of a pool.
func poolRules(pool *publish.Pool) string {
	names, sets := map[string]bool{}, []resourceapi.CounterSet{}
	for i := range pool.Slices {
		s := &pool.Slices[i]
		if s.Spec.Pool.ResourceSliceCount != int64(len(pool.Slices)) || s.Spec.Pool.Generation != pool.Slices[0].Spec.Pool.Generation ||
			s.Spec.Pool.Name != pool.Name || s.Spec.Driver != pool.Driver {
			return "slice " + s.Name + " is of another pool, generation or count"
		}
		if i > 0 && s.Name <= pool.Slices[i-1].Name {
			return "slice " + s.Name + " is out of order"
		}
		for _, set := range s.Spec.SharedCounters {
			if names["set "+set.Name] {
				return "two sets " + set.Name
			}
			names["set "+set.Name] = true
			sets = append(sets, set)
		}
		for _, d := range s.Spec.Devices {
			if names[d.Name] {
				return "two devices " + d.Name
			}
			names[d.Name] = true
		}
	}
	for _, d := range devicesOf([]publish.Pool{*pool}) {
		for _, c := range d.ConsumesCounters {
			if problem := setRules(sets, &c); problem != "" {
				return d.Name + ": " + problem
			}
		}
	}
	return ""
}
