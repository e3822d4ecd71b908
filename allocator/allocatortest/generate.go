package allocatortest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/draoptionalnodeoperations"
	"pgregory.net/rapid"
)

// Scenarios generates scenarios that are small enough for an exhaustive
// search: rarely more than ten devices are visible from a node.
func Scenarios() *rapid.Generator[*Scenario] { return scenarios }

var scenarios = ScenariosAbout(0)

// ScenariosAbout generates scenarios in which some features are planned, beside
// those that are drawn. A planned feature does not always come about.
func ScenariosAbout(features FeatureSet) *rapid.Generator[*Scenario] {
	return rapid.Custom(func(t *rapid.T) *Scenario { return draw(t, features) })
}

func draw(t *rapid.T, features FeatureSet) *Scenario {
	b := &builder{T: t, plan: drawPlan(t, features), s: &Scenario{}, styles: make(map[string]deviceStyle)}
	b.s.Features = b.plan.features
	b.drivers = []string{gpuDriver}
	if b.wants(SeveralDrivers) {
		b.drivers = append(b.drivers, netDriver)
		if b.chance(25) {
			b.drivers = append(b.drivers, accDriver)
		}
	}
	b.hugeCounters = b.wants(Counters) && b.chance(8)
	b.addNodes()
	b.addPools()
	b.addClasses()
	b.addClaims()
	b.addAllocated()
	b.spoilPools()
	b.shuffleSlices()
	b.s.Stamp()
	return b.s
}

// FromSeed returns the scenario that belongs to a seed.
func FromSeed(seed uint64) *Scenario { return scenarios.Example(int(seed)) }

// builder carries what the parts of one scenario have to know of each other.
type builder struct {
	*rapid.T
	*plan
	s       *Scenario
	drivers []string
	pools   []*poolPlan
	styles  map[string]deviceStyle // by driver
	visible int                    // most devices that one node sees
	crowded bool                   // there are more devices than fit into a claim
	// hugeCounters is set if counters pass the range of an int64.
	hugeCounters bool
}

func (b *builder) chance(percent int) bool { return chance(b.T, percent) }

// oneOf draws from the features that are planned among the given ones.
func (b *builder) oneOf(features ...Feature) (Feature, bool) {
	planned := (b.want & SetOf(features...)).Each()
	if len(planned) == 0 {
		return 0, false
	}
	return pick(b.T, planned), true
}

func (b *builder) addNodes() {
	count := 1 + below(b.T, 3)
	for i := range count {
		name := "node-" + string(rune('a'+i))
		node := &corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hostLabel: name, zoneLabel: "zone-" + string(rune('1'+i%2))}},
		}
		if b.wants(SkipNodeOperations) && b.chance(75) {
			node.Status.DeclaredFeatures = []string{"Another", draoptionalnodeoperations.DRAOptionalNodeOperationsFeatureGate}
		}
		b.s.Nodes = append(b.s.Nodes, node)
	}
}

func (b *builder) addClasses() {
	for _, driver := range b.drivers {
		class := b.class(classOf[driver], selectDriver(driver))
		if b.wants(Selectors) && b.chance(20) {
			class.Spec.Selectors = append(class.Spec.Selectors, celSelector(pick(b.T, selectorsFor(driver))))
		}
	}
	b.class(anyClass)
	if b.wants(SelectorError) {
		b.class(checkedClass, touchySelectorsFor(gpuDriver)[0])
	}
	if b.wants(CompileError) {
		b.class(brokenClass, pick(b.T, uncompilableSelectors))
	}
}

func (b *builder) class(name string, selectors ...string) *resourceapi.DeviceClass {
	class := &resourceapi.DeviceClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "DeviceClass"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	for _, expression := range selectors {
		class.Spec.Selectors = append(class.Spec.Selectors, celSelector(expression))
	}
	if b.wants(ClassConfig) && b.chance(80) {
		for i := range 1 + below(b.T, 2) {
			class.Spec.Config = append(class.Spec.Config, resourceapi.DeviceClassConfiguration{
				DeviceConfiguration: opaque(pick(b.T, b.drivers), fmt.Sprintf("%s-%d", name, i)),
			})
		}
	}
	b.s.Classes = append(b.s.Classes, class)
	return class
}

func celSelector(expression string) resourceapi.DeviceSelector {
	return resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}
}

func opaque(driver, setting string) resourceapi.DeviceConfiguration {
	return resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
		Driver:     driver,
		Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"setting":%q}`, setting)},
	}}
}

// shuffleSlices makes the list as unordered as an informer's.
func (b *builder) shuffleSlices() {
	for i := len(b.s.Slices) - 1; i > 0; i-- {
		j := below(b.T, i+1)
		b.s.Slices[i], b.s.Slices[j] = b.s.Slices[j], b.s.Slices[i]
	}
}
