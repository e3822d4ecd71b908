package allocatortest

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// PublicExpectation is expect.yaml of a case that was made from a public
// report. LOG.md beside the folders says what each field means.
type PublicExpectation struct {
	CaseFields

	Pod            string   `json:"pod"`                      // namespace/name
	AlsoAcceptable []string `json:"alsoAcceptable,omitempty"` // outcomes
	// FirstFit: Devices is upstream's choice among several valid ones.
	FirstFit bool `json:"firstFit,omitempty"`
	// AnyOf are complete alternatives to Devices.
	AnyOf [][]string `json:"anyOf,omitempty"`
	// ByRequest has the devices for some of the request names in the results.
	ByRequest map[string][]string `json:"byRequest,omitempty"`
	Checks    PublicChecks        `json:"checks,omitempty"`
	// Reason has keywords of a good explanation.
	Reason     []string `json:"reason,omitempty"`
	MaxSeconds float64  `json:"maxSeconds,omitempty"` // 0 is no bound
}

// PublicChecks are further facts about the allocations. A fact that is not
// given is not checked.
type PublicChecks struct {
	// AdminAccess, ConsumedCapacity and Tolerations are those of every device.
	AdminAccess      bool                                            `json:"adminAccess,omitempty"`
	ConsumedCapacity map[resourceapi.QualifiedName]resource.Quantity `json:"consumedCapacity,omitempty"`
	Tolerations      []resourceapi.DeviceToleration                  `json:"tolerations,omitempty"`
	// ShareID is a sentence. If given, every device has an ID that nobody else has.
	ShareID string `json:"shareID,omitempty"`
	// Config and NodeSelector are those of every claim.
	Config       []resourceapi.DeviceAllocationConfiguration `json:"config,omitempty"`
	NodeSelector *corev1.NodeSelector                        `json:"nodeSelector,omitempty"`
	// SpecialClaimRequest is the request of all devices, in a claim that the
	// scheduler makes; Requests counts devices by such requests.
	SpecialClaimRequest string         `json:"specialClaimRequest,omitempty"`
	Requests            map[string]int `json:"requests,omitempty"`
}

// ReadPublicExpectation reads expect.yaml in a folder. Unknown fields are errors.
func ReadPublicExpectation(dir string) (*PublicExpectation, error) {
	text, err := os.ReadFile(filepath.Join(dir, expectFile))
	if err != nil {
		return nil, fmt.Errorf("public case: %w", err)
	}
	e := &PublicExpectation{}
	if err := yaml.UnmarshalStrict(text, e); err != nil {
		return nil, fmt.Errorf("public case %s: %s: %w", dir, expectFile, err)
	}
	return e, nil
}

// PublicInput is input.yaml of such a case: a cluster with one pod to place.
// Nothing is filled in yet that an API server would fill in.
type PublicInput struct {
	Namespaces []*corev1.Namespace
	Nodes      []*corev1.Node
	Classes    []*resourceapi.DeviceClass
	Slices     []*resourceapi.ResourceSlice
	TaintRules []*resourceapi.DeviceTaintRule
	Templates  []*resourceapi.ResourceClaimTemplate
	Claims     []*resourceapi.ResourceClaim // allocated ones hold devices
	Pods       []*corev1.Pod
}

// ReadPublicInput reads input.yaml in a folder. Unknown kinds and fields are
// errors; some cases are about one.
func ReadPublicInput(dir string) (*PublicInput, error) {
	text, err := os.ReadFile(filepath.Join(dir, inputFile))
	if err != nil {
		return nil, fmt.Errorf("public case: %w", err)
	}
	in := &PublicInput{}
	if err := eachDocument(text, in.readObject); err != nil {
		return nil, fmt.Errorf("public case %s: %s: %w", dir, inputFile, err)
	}
	return in, nil
}

func (in *PublicInput) readObject(kind string, document []byte) error {
	switch kind {
	case "Namespace":
		return decode(document, &in.Namespaces, &corev1.Namespace{})
	case "Node":
		return decode(document, &in.Nodes, &corev1.Node{})
	case "DeviceClass":
		return decode(document, &in.Classes, &resourceapi.DeviceClass{})
	case "ResourceSlice":
		return decode(document, &in.Slices, &resourceapi.ResourceSlice{})
	case "DeviceTaintRule":
		return decode(document, &in.TaintRules, &resourceapi.DeviceTaintRule{})
	case "ResourceClaimTemplate":
		return decode(document, &in.Templates, &resourceapi.ResourceClaimTemplate{})
	case "ResourceClaim":
		return decode(document, &in.Claims, &resourceapi.ResourceClaim{})
	case "Pod":
		return decode(document, &in.Pods, &corev1.Pod{})
	default:
		return fmt.Errorf("kind %s has no place in a public case", kind)
	}
}
