package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/draoptionalnodeoperations"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

func replaceClaims(w *world, r *rand.Rand) string {
	return "to allocate: " + w.nextClaims(r)
}

// nextClaims puts other claims in the place of those to be allocated.
func (w *world) nextClaims(r *rand.Rand) string {
	if r.IntN(5) < 2 {
		w.Claims = donor(r).Claims
		return fmt.Sprintf("%d claims of another cluster", len(w.Claims))
	}
	claim, what := w.probe(r)
	w.Claims = []*resourceapi.ResourceClaim{claim}
	return what
}

// probe is a claim whose answer follows nearly every change: for as many
// devices as there are, if requests may have alternatives, or else for all of
// them or the first few that are free.
func (w *world) probe(r *rand.Rand) (*resourceapi.ResourceClaim, string) {
	request := resourceapi.DeviceRequest{Name: "devices"}
	what := ""
	var tolerations []resourceapi.DeviceToleration
	if r.IntN(3) == 0 {
		tolerations = []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists, Key: taintKeys[0]}}
		what = ", some taints tolerated"
	}
	switch n := r.IntN(6); {
	case n < 3 && w.Features.PrioritizedList:
		for count := int64(6); count > 0; count-- {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprintf("take-%d", count), DeviceClassName: probeClass, Tolerations: tolerations,
				AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			})
		}
		what = "up to six devices" + what
	case n == 5:
		request.Exactly = &resourceapi.ExactDeviceRequest{DeviceClassName: probeClass, Tolerations: tolerations, AllocationMode: resourceapi.DeviceAllocationModeAll}
		what = "all devices" + what
	default:
		request.Exactly = &resourceapi.ExactDeviceRequest{
			DeviceClassName: probeClass, Tolerations: tolerations,
			AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1 + int64(r.IntN(3)),
		}
		what = fmt.Sprintf("any %d devices", request.Exactly.Count) + what
	}
	if request.Exactly != nil && w.Features.AdminAccess && r.IntN(2) == 0 {
		request.Exactly.AdminAccess = ptr.To(true)
		what += ", with admin access"
	}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe", UID: "claim-probe"}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{request}
	return claim, what
}

// allocateClaims does what a scheduler does with an answer: the claims hold
// their devices from now on, and the next ones come.
func allocateClaims(w *world, r *rand.Rand) string {
	var fits []int
	for i, answer := range w.answers {
		if answer.Class == allocatortest.Fits && i < len(w.Nodes) && len(answer.Results) == len(w.Claims) {
			fits = append(fits, i)
		}
	}
	if len(fits) == 0 {
		return ""
	}
	node := pick(r, fits)
	w.Allocated = slices.Clone(w.Allocated)
	for i, claim := range w.Claims {
		claim = claim.DeepCopy()
		claim.Status.Allocation = w.answers[node].Results[i].DeepCopy()
		for d := range claim.Status.Allocation.Devices.Results {
			// Share IDs are random; a history has to be the same each time.
			if result := &claim.Status.Allocation.Devices.Results[d]; result.ShareID != nil {
				w.serial++
				result.ShareID = ptr.To(types.UID(fmt.Sprintf("00000000-0000-4001-8000-%012d", w.serial)))
			}
		}
		w.Allocated = append(w.Allocated, claim)
	}
	did := fmt.Sprintf("%d on node %s", len(w.Claims), w.Nodes[node].Name)
	if r.IntN(2) == 0 {
		did += ", then to allocate: " + w.nextClaims(r)
	}
	return did
}

func releaseClaim(w *world, r *rand.Rand) string {
	if len(w.Allocated) == 0 {
		return ""
	}
	i := r.IntN(len(w.Allocated))
	w.Allocated = slices.Delete(slices.Clone(w.Allocated), i, i+1)
	return fmt.Sprintf("%d remain", len(w.Allocated))
}

func replaceAllocated(w *world, r *rand.Rand) string {
	w.Allocated = donor(r).Allocated
	return fmt.Sprintf("%d hold devices", len(w.Allocated))
}

// changeClass replaces a class by the one of that name in another cluster; if
// that one has none, the class is deleted. The class of the probes gets other
// configuration.
func changeClass(w *world, r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return w.configureProbe()
	}
	other := donor(r)
	var names []string
	for _, class := range slices.Concat(w.Classes, other.Classes) {
		names = append(names, class.Name)
	}
	if len(names) == 0 {
		return ""
	}
	name := pick(r, names)
	if name == probeClass {
		return w.configureProbe()
	}
	named := func(c *resourceapi.DeviceClass) bool { return c.Name == name }
	w.Classes = slices.DeleteFunc(slices.Clone(w.Classes), named)
	if i := slices.IndexFunc(other.Classes, named); i >= 0 {
		w.Classes = append(w.Classes, other.Classes[i])
		return name + " has other selectors and configuration"
	}
	return name + " deleted"
}

func (w *world) configureProbe() string {
	w.serial++
	for i, class := range w.Classes {
		if class.Name == probeClass {
			class = class.DeepCopy()
			class.Spec.Config = []resourceapi.DeviceClassConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{
				Opaque: &resourceapi.OpaqueDeviceConfiguration{
					Driver: "gpu.example.com", Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"setting":%d}`, w.serial)},
				},
			}}}
			w.Classes[i] = class
		}
	}
	return fmt.Sprintf("%s has configuration %d", probeClass, w.serial)
}

func changeNode(w *world, r *rand.Rand) string {
	i := r.IntN(len(w.Nodes))
	node := w.Nodes[i].DeepCopy()
	did := ""
	switch r.IntN(3) {
	case 0:
		const zone = "topology.kubernetes.io/zone"
		node.Labels[zone] = pick(r, []string{"zone-1", "zone-2", "zone-3"})
		did = "in " + node.Labels[zone]
	case 1:
		feature := draoptionalnodeoperations.DRAOptionalNodeOperationsFeatureGate
		if slices.Contains(node.Status.DeclaredFeatures, feature) {
			node.Status.DeclaredFeatures = nil
			did = "declares no features"
		} else {
			node.Status.DeclaredFeatures = []string{feature}
			did = "declares " + feature
		}
	default:
		did = "a fresh copy"
	}
	w.Nodes[i] = node
	return node.Name + ": " + did
}

func addOrRemoveNode(w *world, r *rand.Rand) string {
	if len(w.Nodes) > 1 && r.IntN(2) == 0 {
		i := r.IntN(len(w.Nodes))
		name := w.Nodes[i].Name
		w.Nodes = slices.Delete(w.Nodes, i, i+1)
		return name + " gone"
	}
	for _, name := range []string{"node-a", "node-b", "node-c", "node-d"} {
		if w.Node(name) == nil {
			node := w.Nodes[0].DeepCopy()
			node.Name, node.UID = name, types.UID("node-"+name)
			node.Labels[corev1.LabelHostname] = name
			w.Nodes = append(w.Nodes, node)
			return name + " new"
		}
	}
	return ""
}

func switchFeature(w *world, r *rand.Rand) string {
	features := reflect.ValueOf(&w.Features).Elem()
	i := r.IntN(features.NumField())
	field := features.Field(i)
	field.SetBool(!field.Bool())
	return fmt.Sprintf("%s is %v", features.Type().Field(i).Name, field.Bool())
}
