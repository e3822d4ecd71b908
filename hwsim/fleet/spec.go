package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Spec is what a fleet is made of.
type Spec struct {
	// Machines in the order in which they appear. One that is there several times
	// is counted on.
	Machines []Count
	// Seed sets apart fleets whose nodes have the same names: UUIDs, serial numbers
	// and hardware addresses follow from it.
	Seed uint64
	// Shuffle mixes the machines, by the seed, instead of keeping their order.
	Shuffle bool
	// Zones are dealt to instances in turn; a rack is in one zone. Each is a template
	// over Place.
	Zones []string
	// Name is a template (text/template over Place) of the names of instances; the
	// nodes of a rack add their place to it. Empty is DefaultName.
	Name string
	// Labels of nodes: keys, and templates of values. A value that comes out empty
	// leaves the label out.
	Labels map[string]string
	// Capacity that nodes have besides CPUs, memory and pods, or instead of the
	// machine's.
	Capacity corev1.ResourceList
	// Publish says how devices are published.
	Publish publish.Options
}

// Count is a number of instances of a machine. A rack is one instance.
type Count struct {
	Machine *machine.Machine
	Count   int
	// Capacity that these nodes have besides the Spec's, or instead of it: what a device
	// plugin of theirs would offer.
	Capacity corev1.ResourceList
}

// DefaultName is the template of names where a Spec has none.
const DefaultName = "{{.Machine}}-{{.Index}}"

// MaxInstances bounds a fleet, so that a slip of the finger is an error and not a
// full disk. Kubernetes itself supports 5,000 nodes.
const MaxInstances = 1_000_000

// ParseCount splits "dgx-h100=4000" into a machine's name and a count; a name
// alone is one instance.
func ParseCount(text string) (name string, count int, err error) {
	name, number, found := strings.Cut(text, "=")
	if name == "" {
		return "", 0, fmt.Errorf("%q: it must look like dgx-h100=4000, a machine and how many of it", text)
	}
	if !found {
		return name, 1, nil
	}
	count, err = strconv.Atoi(number)
	if err != nil || count < 1 || count > MaxInstances {
		return "", 0, fmt.Errorf("%q: %q is not a number from 1 to %d", text, number, MaxInstances)
	}
	return name, count, nil
}

func (s *Spec) check() error {
	if len(s.Machines) == 0 {
		return errors.New("fleet: no machines: name at least one")
	}
	total := 0
	for i, count := range s.Machines {
		if count.Machine == nil {
			return fmt.Errorf("fleet: machines[%d]: there is no machine", i)
		}
		if count.Count < 1 || count.Count > MaxInstances {
			return fmt.Errorf("fleet: machines[%d] (%s): count: %d is not from 1 to %d",
				i, count.Machine.Name(), count.Count, MaxInstances)
		}
		if err := checkCapacity(count.Capacity); err != nil {
			return fmt.Errorf("fleet: machines[%d] (%s): %w", i, count.Machine.Name(), err)
		}
		total += count.Count
	}
	if total > MaxInstances {
		return fmt.Errorf("fleet: %d instances are more than %d", total, MaxInstances)
	}
	if err := checkCapacity(s.Capacity); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

func checkCapacity(capacity corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
			return fmt.Errorf("capacity[%s]: not the name of a resource: %s", name, problems[0])
		}
		quantity := capacity[name]
		if quantity.Sign() < 0 {
			return fmt.Errorf("capacity[%s]: %s is less than nothing", name, quantity.String())
		}
		if _, whole := quantity.AsInt64(); isCounted(name) && !whole {
			return fmt.Errorf("capacity[%s]: %s is not a whole number", name, quantity.String())
		}
	}
	return nil
}

// isCounted says whether the API server takes whole numbers of a resource only:
// pods, and everything that is not Kubernetes' own.
func isCounted(name corev1.ResourceName) bool {
	domain, _, found := strings.Cut(string(name), "/")
	return name == corev1.ResourcePods || found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// instance is one machine of the fleet.
type instance struct {
	machine *machine.Machine
	// index counts instances of the machine, number those of the fleet.
	index, number int
	capacity      corev1.ResourceList
}

func (s *Spec) name() string { return cmp.Or(s.Name, DefaultName) }
