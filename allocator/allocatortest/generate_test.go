package allocatortest

import (
	"reflect"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func BenchmarkScenarios(b *testing.B) {
	for i := range b.N {
		FromSeed(uint64(i))
	}
}

func TestSeedDecidesScenario(t *testing.T) {
	distinct := make(map[string]bool)
	for seed := range uint64(200) {
		s := FromSeed(seed)
		if again := FromSeed(seed); !reflect.DeepEqual(s, again) {
			t.Fatalf("seed %d gives two scenarios", seed)
		}
		if len(s.Slices) > 0 {
			distinct[s.Slices[0].ResourceVersion] = true
		}
	}
	if len(distinct) < 150 {
		t.Errorf("200 seeds give only %d different first slices", len(distinct))
	}
}

// TestObjectsAreSound checks what API validation would, in every drawn
// scenario, apart from the exceptions of the package comment.
func TestObjectsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scenarios().Draw(t, "scenario")
		uids := make(map[types.UID]bool)
		unique := func(uid types.UID, resourceVersion string) {
			if uid == "" || resourceVersion == "" || uids[uid] {
				t.Errorf("UID %q is not unique or resource version %q is empty", uid, resourceVersion)
			}
			uids[uid] = true
		}
		for _, node := range s.Nodes {
			unique(node.UID, node.ResourceVersion)
		}
		for _, slice := range s.Slices {
			unique(slice.UID, slice.ResourceVersion)
			checkSlice(t, slice)
		}
		for _, claim := range append(s.Allocated, s.Claims...) {
			unique(claim.UID, claim.ResourceVersion)
			checkClaim(t, claim)
		}
		for _, claim := range s.Claims {
			if claim.Status.Allocation != nil {
				t.Errorf("claim %s is to be allocated and has been", claim.Name)
			}
		}
	})
}

func checkSlice(t *rapid.T, slice *resourceapi.ResourceSlice) {
	spec := &slice.Spec
	ways := 0
	for _, set := range []bool{spec.NodeName != nil, spec.NodeSelector != nil, ptr.Deref(spec.AllNodes, false), ptr.Deref(spec.PerDeviceNodeSelection, false)} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		t.Errorf("slice %s says in %d ways which nodes it is for", slice.Name, ways)
	}
	if len(spec.SharedCounters) > 0 && len(spec.Devices) > 0 {
		t.Errorf("slice %s has counters and devices", slice.Name)
	}
	if spec.Pool.ResourceSliceCount < 1 || len(spec.Devices) > resourceapi.ResourceSliceMaxDevices {
		t.Errorf("slice %s: slice count %d, %d devices", slice.Name, spec.Pool.ResourceSliceCount, len(spec.Devices))
	}
	for _, device := range spec.Devices {
		if len(device.ConsumesCounters) > 3 || len(device.Taints) > 4 {
			t.Errorf("device %s consumes from %d sets and has %d taints", device.Name, len(device.ConsumesCounters), len(device.Taints))
		}
		for name, attribute := range device.Attributes {
			if values := valuesOf(attribute); values > 1 {
				t.Errorf("attribute %s of device %s has %d values", name, device.Name, values)
			}
		}
		for name, capacity := range device.Capacity {
			if p := capacity.RequestPolicy; p != nil && (p.Default == nil || p.ValidRange != nil && p.ValidValues != nil || p.ValidRange != nil && p.ValidRange.Min == nil) {
				t.Errorf("capacity %s of device %s has no sound policy", name, device.Name)
			}
		}
	}
}

func valuesOf(a resourceapi.DeviceAttribute) int {
	values := 0
	for _, set := range []bool{a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil} {
		if set {
			values++
		}
	}
	return values
}

func checkClaim(t *rapid.T, claim *resourceapi.ResourceClaim) {
	names := make(map[string]bool)
	for _, request := range claim.Spec.Devices.Requests {
		if names[request.Name] {
			t.Errorf("claim %s has request %s twice", claim.Name, request.Name)
		}
		names[request.Name] = true
		if (request.Exactly == nil) == (len(request.FirstAvailable) == 0) {
			t.Errorf("claim %s: request %s is exactly one of two things", claim.Name, request.Name)
		}
		for _, alternative := range request.FirstAvailable {
			name := request.Name + "/" + alternative.Name
			if names[name] {
				t.Errorf("claim %s has alternative %s twice", claim.Name, name)
			}
			names[name] = true
		}
	}
	for _, constraint := range claim.Spec.Devices.Constraints {
		for _, name := range constraint.Requests {
			if !names[name] {
				t.Errorf("claim %s has a constraint on %s, which does not exist", claim.Name, name)
			}
		}
	}
	for _, config := range claim.Spec.Devices.Config {
		for _, name := range config.Requests {
			if !names[name] {
				t.Errorf("claim %s has configuration for %s, which does not exist", claim.Name, name)
			}
		}
	}
}

func TestEveryFeatureIsUsed(t *testing.T) {
	var used FeatureSet
	for seed := range uint64(3000) {
		s := FromSeed(seed)
		for _, node := range s.Nodes {
			used |= Uses(s, node)
		}
	}
	for _, f := range AllFeatures() {
		if !used.Has(f) {
			t.Errorf("no scenario of 3000 uses %s", f)
		}
	}
}

func TestStampFollowsContent(t *testing.T) {
	s := FromSeed(1)
	before := s.Slices[0].DeepCopy()
	s.Stamp()
	if got := s.Slices[0].ResourceVersion; got != before.ResourceVersion {
		t.Errorf("resource version went from %s to %s without a change", before.ResourceVersion, got)
	}
	s.Slices[0].Spec.Pool.Generation++
	s.Stamp()
	if got := s.Slices[0]; got.ResourceVersion == before.ResourceVersion || got.UID != before.UID {
		t.Errorf("after a change: UID %s and %s, resource version %s and %s", before.UID, got.UID, before.ResourceVersion, got.ResourceVersion)
	}
}
