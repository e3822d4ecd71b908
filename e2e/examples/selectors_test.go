package examples

import (
	"fmt"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// seed of the fleet: expressions must not depend on it.
const seed = 1

// published is a device that the demonstration's cluster has.
type published struct {
	where string // driver/pool/device
	cel.Device
}

// manifests are what the examples apply, as far as expressions go.
type manifests struct {
	devices []published
	classes map[string]*resourceapi.DeviceClassSpec
	// own are the classes of manifests.
	own      []string
	requests []request
}

// request is one of a claim or a template, or an alternative of one.
type request struct {
	where string
	resourceapi.ExactDeviceRequest
	// among is the request that it is an alternative of, itself where it is none: one
	// of them must match.
	among string
}

func (m *manifests) publish(slice *resourceapi.ResourceSlice) {
	for _, device := range slice.Spec.Devices {
		m.devices = append(m.devices, published{
			fmt.Sprintf("%s/%s/%s", slice.Spec.Driver, slice.Spec.Pool.Name, device.Name),
			cel.Device{Driver: slice.Spec.Driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}})
	}
}

func (m *manifests) ask(where string, claim *resourceapi.DeviceClaim) {
	for _, r := range claim.Requests {
		among := where + ", request " + r.Name
		if r.Exactly != nil {
			m.requests = append(m.requests, request{among, *r.Exactly, among})
		}
		for _, sub := range r.FirstAvailable {
			m.requests = append(m.requests, request{among + "/" + sub.Name, resourceapi.ExactDeviceRequest{
				DeviceClassName: sub.DeviceClassName, Selectors: sub.Selectors, DerivedAttributes: sub.DerivedAttributes}, among})
		}
	}
}

// readAll are the devices of the fleet with its driver, of what is published beside it
// and of the manifests themselves, and the classes and requests of all manifests.
func readAll(t *testing.T) *manifests {
	t.Helper()
	m := &manifests{classes: map[string]*resourceapi.DeviceClassSpec{}}
	spec, err := Fleet(seed)
	if err != nil {
		t.Fatal(err)
	}
	spec.Publish = publish.Options{Simulated: true, MIG: publish.MIGDynamic, Features: publish.DefaultFeatures()}
	classes, err := publish.DeviceClasses(spec.Publish)
	if err != nil {
		t.Fatal(err)
	}
	for i := range classes {
		m.classes[classes[i].Name] = &classes[i].Spec
	}
	made, err := fleet.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for member, err := range made.Members() {
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range member.Pools {
			for i := range pool.Slices {
				if pool.Driver == publish.DrayDrivers().GPU {
					m.publish(&pool.Slices[i])
				}
			}
		}
	}
	err = others(seed, func(_ string, slice *resourceapi.ResourceSlice) error {
		m.publish(slice)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	eachDocument(t, "../../deploy/examples", func(path string, document []byte) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil && !runtime.IsMissingKind(err) {
			t.Fatalf("%s: %v", path, err)
		}
		switch object := object.(type) {
		case *resourceapi.ResourceSlice:
			m.publish(object)
		case *resourceapi.DeviceClass:
			m.classes[object.Name] = &object.Spec
			m.own = append(m.own, object.Name)
		case *resourceapi.ResourceClaim:
			m.ask(path+": claim "+object.Name, &object.Spec.Devices)
		case *resourceapi.ResourceClaimTemplate:
			m.ask(path+": template "+object.Name, &object.Spec.Spec.Devices)
		}
	})
	return m
}

// matching are the devices that selectors match. One that is in error on a device fails
// the test: it would end the attempt of the pod whose claim the scheduler looks at.
func matching(t *testing.T, where string, selectors []resourceapi.DeviceSelector, devices []published) []published {
	t.Helper()
	for _, selector := range selectors {
		expression := compile(t, where, selector.CEL.Expression, cel.Options{})
		devices = slices.DeleteFunc(slices.Clone(devices), func(d published) bool {
			matches, _, err := expression.DeviceMatches(t.Context(), d.Device)
			if err != nil {
				t.Errorf("%s: %s is in error on device %s: %v", where, selector.CEL.Expression, d.where, err)
			}
			return !matches
		})
	}
	return devices
}

func compile(t *testing.T, where, expression string, options cel.Options) cel.CompilationResult {
	t.Helper()
	compiled := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}).CompileCELExpression(expression, options)
	if compiled.Error != nil {
		t.Fatalf("%s: %s: %v", where, expression, compiled.Error)
	}
	// The API server refuses what could cost more, on a device as large as there can be.
	if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		t.Errorf("%s: %s can cost %d, and the API allows %d", where, expression, compiled.MaxCost, resourceapi.CELSelectorExpressionMaxCost)
	}
	return compiled
}

// Classes are asked about every device of a node, requests about those of their class.
func TestExpressionsOfExamplesHoldOnEveryDeviceAndMatchSome(t *testing.T) {
	m := readAll(t)
	if len(m.devices) < 500 || len(m.requests) < 20 {
		t.Fatalf("%d devices and %d requests were read: something is left out", len(m.devices), len(m.requests))
	}
	ofClass := map[string][]published{}
	for name, class := range m.classes {
		ofClass[name] = matching(t, "class "+name, class.Selectors, m.devices)
	}
	for _, name := range m.own {
		if len(ofClass[name]) == 0 {
			t.Errorf("class %s matches no device of the fleet", name)
		}
	}
	matches := map[string]int{}
	for _, r := range m.requests {
		devices, ok := ofClass[r.DeviceClassName]
		if !ok {
			t.Errorf("%s: there is no class %s", r.where, r.DeviceClassName)
		}
		devices = matching(t, r.where, r.Selectors, devices)
		matches[r.among] += len(devices)
		for _, derived := range r.DerivedAttributes {
			expression := compile(t, r.where, derived.Expression, cel.Options{DerivedAttribute: true})
			for _, d := range devices {
				if _, _, err := expression.EvaluateDerivedAttribute(t.Context(), d.Device); err != nil {
					t.Errorf("%s: attribute %s is in error on device %s: %v", r.where, derived.Name, d.where, err)
				}
			}
		}
	}
	for _, r := range m.requests {
		if matches[r.among] == 0 {
			t.Errorf("%s: no device of the fleet matches", r.where)
		}
	}
}
