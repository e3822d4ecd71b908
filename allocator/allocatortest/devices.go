package allocatortest

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// deviceStyle is what the devices of one pool have in common.
type deviceStyle struct {
	attributes     []string // names that most devices have
	qualified      bool     // attribute names carry the driver's domain
	listRoots      bool     // pcieRoot is a list
	lists          bool     // "links" is a list
	capacities     []capacityKind
	multiple       bool // most devices allow multiple allocations
	counterSets    int
	grouped        bool
	tainted        bool
	noneTaints     bool
	conditions     bool
	bindsToNode    bool
	skipOperations bool
	skipped        []resourceapi.SkipNodeOperation
}

// styleFor lets most pools of a driver look alike.
func (b *builder) styleFor(driver string) deviceStyle {
	if style, drawn := b.styles[driver]; drawn && b.chance(70) {
		return style
	}
	style := b.drawStyle()
	if _, drawn := b.styles[driver]; !drawn {
		b.styles[driver] = style
	}
	return style
}

// drawStyle gives each planned feature to most pools, not to all, so that a
// search can also avoid it.
func (b *builder) drawStyle() deviceStyle {
	has := func(f Feature, percent int) bool { return b.wants(f) && b.chance(percent) }
	style := deviceStyle{
		qualified:   b.chance(10),
		listRoots:   b.wantsAny(ListMatch, ListDistinct) && b.chance(60),
		lists:       b.wantsAny(ListMatch, ListDistinct) && b.chance(80),
		multiple:    has(MultipleAllocations, 75),
		grouped:     has(CompatibilityGroups, 85),
		tainted:     has(BlockingTaints, 75),
		noneTaints:  has(NoneTaints, 75),
		conditions:  has(BindingConditions, 60),
		bindsToNode: has(BindsToNode, 60),
	}
	for _, name := range []string{"model", "numa", "fast", "version", "index", rootAttribute} {
		if b.chance(80) {
			style.attributes = append(style.attributes, name)
		}
	}
	if has(Counters, 80) {
		style.counterSets = 1
		if has(SeveralCounterSets, 80) {
			style.counterSets = 2
		}
	}
	if b.wantsAny(CapacityRequest, MultipleAllocations) {
		style.capacities = b.drawCapacityKinds()
	}
	if has(SkipNodeOperations, 60) {
		style.skipOperations = true
		style.skipped = pick(b.T, [][]resourceapi.SkipNodeOperation{
			{resourceapi.SkipNodeOperationAll},
			{resourceapi.SkipNodeOperationNodePrepareResources, resourceapi.SkipNodeOperationNodeUnprepareResources},
		})
	}
	return style
}

func (b *builder) device(p *poolPlan, i int) resourceapi.Device {
	device := resourceapi.Device{Name: fmt.Sprintf("dev-%d", i)}
	b.addAttributes(p, &device, i)
	b.addCapacities(p, &device)
	if p.style.multiple && b.chance(85) {
		device.AllowMultipleAllocations = ptr.To(true)
	} else if b.wants(MultipleAllocations) && b.chance(10) {
		device.AllowMultipleAllocations = ptr.To(false)
	}
	if p.style.counterSets > 0 && b.chance(85) {
		b.consumeCounters(p, &device, i)
	}
	b.addTaints(p, &device)
	if p.style.conditions && b.chance(70) {
		device.BindingConditions = []string{"example.com/attached"}
		if b.chance(60) {
			device.BindingFailureConditions = []string{"example.com/failed", "example.com/lost"}
		}
	}
	if p.style.bindsToNode && b.chance(60) {
		device.BindsToNode = ptr.To(true)
	}
	if p.reach == reachPerDevice {
		b.selectNodes(&device)
	}
	return device
}

func (b *builder) addAttributes(p *poolPlan, device *resourceapi.Device, i int) {
	set := func(name string, value resourceapi.DeviceAttribute) {
		if device.Attributes == nil {
			device.Attributes = make(map[resourceapi.QualifiedName]resourceapi.DeviceAttribute)
		}
		if p.style.qualified && name != rootAttribute {
			name = p.driver + "/" + name
		}
		device.Attributes[resourceapi.QualifiedName(name)] = value
	}
	for _, name := range p.style.attributes {
		if b.chance(8) {
			continue // this one lacks it
		}
		switch name {
		case "model":
			set(name, resourceapi.DeviceAttribute{StringValue: ptr.To(pick(b.T, models))})
		case "numa":
			set(name, resourceapi.DeviceAttribute{IntValue: ptr.To(int64(below(b.T, 2)))})
		case "fast":
			set(name, resourceapi.DeviceAttribute{BoolValue: ptr.To(b.chance(60))})
		case "version":
			set(name, resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(b.T, versions))})
		case "index":
			set(name, resourceapi.DeviceAttribute{IntValue: ptr.To(int64(i))})
		case rootAttribute:
			set(name, b.root(p))
		}
	}
	if p.style.lists {
		set("links", b.links())
	}
	if b.wants(BadVersion) && b.chance(30) {
		set("version", resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(b.T, badVersions))})
		if b.chance(15) {
			set("model", resourceapi.DeviceAttribute{}) // of a type that is not known
		}
		if b.chance(20) {
			set("firmware", resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(b.T, badVersions))})
		}
	}
}

func (b *builder) root(p *poolPlan) resourceapi.DeviceAttribute {
	first := below(b.T, 3)
	name := func(i int) string { return fmt.Sprintf("root-%d", i%3) }
	if !p.style.listRoots || b.chance(30) {
		return resourceapi.DeviceAttribute{StringValue: ptr.To(name(first))}
	}
	roots := []string{name(first)}
	for i := 1; i <= below(b.T, 3); i++ {
		roots = append(roots, name(first+i))
	}
	return resourceapi.DeviceAttribute{StringValues: roots}
}

func (b *builder) links() resourceapi.DeviceAttribute {
	first := below(b.T, 4)
	switch below(b.T, 10) {
	default:
		values := []int64{int64(first)}
		if b.chance(50) {
			values = append(values, int64(first+1)%4)
		}
		return resourceapi.DeviceAttribute{IntValues: values}
	case 6, 7:
		return resourceapi.DeviceAttribute{IntValue: ptr.To(int64(first))}
	case 8:
		return resourceapi.DeviceAttribute{BoolValues: []bool{b.chance(50), true}}
	case 9:
		return resourceapi.DeviceAttribute{VersionValues: versions[:1+below(b.T, 2)]}
	}
}

func (b *builder) consumeCounters(p *poolPlan, device *resourceapi.Device, i int) {
	sets := []int{i % p.style.counterSets}
	if p.style.counterSets > 1 && b.chance(40) {
		sets = []int{0, 1}
	}
	for _, set := range sets {
		consumption := resourceapi.DeviceCounterConsumption{
			CounterSet: counterSet(set),
			Counters:   counters("slots", pick(b.T, []string{"1", "1", "2"})),
		}
		if b.chance(50) {
			consumption.Counters["memory"] = resourceapi.Counter{Value: quantity(pick(b.T, []string{"10Gi", "20Gi", "10485760Ki"}))}
		}
		if b.wants(FractionalCounters) && b.chance(70) {
			consumption.Counters["share"] = resourceapi.Counter{Value: quantity(pick(b.T, []string{"500m", "250m", "0.5", "1", "300u", "1n"}))}
		}
		if b.hugeCounters && b.chance(60) {
			consumption.Counters["memory"] = resourceapi.Counter{Value: quantity(pick(b.T, []string{"6Ei", "5Ei", "1"}))}
		}
		if p.style.grouped && b.chance(85) {
			consumption.CompatibilityGroups = []string{pick(b.T, groups[:2])}
			if b.chance(40) {
				consumption.CompatibilityGroups = append(consumption.CompatibilityGroups, groups[2])
			}
		}
		device.ConsumesCounters = append(device.ConsumesCounters, consumption)
	}
}

func (b *builder) addTaints(p *poolPlan, device *resourceapi.Device) {
	taint := func(effect resourceapi.DeviceTaintEffect) {
		device.Taints = append(device.Taints, resourceapi.DeviceTaint{
			Key: pick(b.T, taintKeys), Value: pick(b.T, taintValues), Effect: effect,
		})
	}
	if p.style.tainted && b.chance(55) {
		taint(pick(b.T, blockEffects))
		if b.chance(15) {
			taint(pick(b.T, blockEffects))
		}
	}
	if p.style.noneTaints && b.chance(60) {
		taint(pick(b.T, harmlessEffects))
	}
}
