package allocatortest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
)

const publicInput = `
# A comment is no document.
---
{kind: Namespace, metadata: {name: ns}}
---
{kind: Node, metadata: {name: node-b, labels: {zone: east}}}
---
{kind: Node, metadata: {name: node-a, labels: {zone: east}}}
---
{kind: Node, metadata: {name: node-0, labels: {zone: west}}}
---
{kind: DeviceClass, metadata: {name: class}}
---
kind: ResourceSlice
metadata: {name: slice}
spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, allNodes: true, devices: [{name: x}, {name: z}]}
---
kind: DeviceTaintRule
metadata: {name: second}
spec: {deviceSelector: {}, taint: {key: second, effect: NoSchedule}}
---
kind: DeviceTaintRule
metadata: {name: first}
spec: {deviceSelector: {driver: d, pool: p, device: z}, taint: {key: first, effect: NoExecute}}
---
kind: DeviceTaintRule
metadata: {name: elsewhere}
spec: {deviceSelector: {pool: q}, taint: {key: elsewhere, effect: NoSchedule}}
---
kind: DeviceTaintRule
metadata: {name: nowhere}
spec: {taint: {key: nowhere, effect: NoSchedule}}
---
kind: ResourceClaimTemplate
metadata: {name: template, namespace: ns}
spec:
  metadata: {labels: {of: template}}
  spec:
    devices:
      requests:
      - {name: exact, exactly: {deviceClassName: class, tolerations: [{key: k}]}}
      - {name: list, firstAvailable: [{name: all, deviceClassName: class, allocationMode: All}, {name: one, deviceClassName: class}]}
---
kind: ResourceClaim
metadata: {name: free, namespace: ns}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: class, count: 2}}]}}
---
kind: ResourceClaim
metadata: {name: held, namespace: ns}
status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x, shareID: s}]}}}
---
kind: Pod
metadata: {name: app, namespace: ns}
spec:
  nodeSelector: {zone: east}
  resourceClaims: [{name: b, resourceClaimName: free}, {name: a, resourceClaimTemplateName: template}]
---
kind: Pod
metadata: {name: placed, namespace: ns}
spec: {resourceClaims: [{name: b, resourceClaimName: free}, {name: a, resourceClaimName: held}]}
---
{kind: Pod, metadata: {name: none, namespace: ns}}
---
{kind: Pod, metadata: {name: other, namespace: elsewhere}, spec: {resourceClaims: [{name: a, resourceClaimTemplateName: template}]}}
---
{kind: Pod, metadata: {name: lost, namespace: ns}, spec: {resourceClaims: [{name: a, resourceClaimName: lost}]}}
---
{kind: Pod, metadata: {name: empty, namespace: ns}, spec: {resourceClaims: [{name: a}]}}
`

func readPublic(t *testing.T, text string) (*PublicInput, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, inputFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadPublicInput(dir)
}

func TestPublicScenarioIsWhatASchedulerAsks(t *testing.T) {
	in, err := readPublic(t, publicInput)
	if err != nil {
		t.Fatal(err)
	}
	s, err := in.Scenario("ns/app", []string{"DRAListTypeAttributes"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	say := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	for _, node := range s.Nodes {
		say("node %s", node.Name)
	}
	for _, device := range s.Slices[0].Spec.Devices {
		for _, taint := range device.Taints {
			say("device %s has taint %s", device.Name, taint.Key)
		}
	}
	for _, claim := range s.Claims {
		say("claim %s %s %v", claim.Namespace, claim.Name, claim.Labels)
		for _, r := range claim.Spec.Devices.Requests {
			if e := r.Exactly; e != nil {
				say("request %s: %s %d %v", r.Name, e.AllocationMode, e.Count, e.Tolerations)
			}
			for _, sub := range r.FirstAvailable {
				say("request %s/%s: %s %d", r.Name, sub.Name, sub.AllocationMode, sub.Count)
			}
		}
	}
	say("held: %s %q", s.Allocated[0].Name, s.HeldShares())
	want := []string{
		"node node-a", "node node-b",
		"device x has taint second", "device z has taint first", "device z has taint second",
		"claim ns free map[]", "request r: ExactCount 2 []",
		"claim ns app-a-1 map[of:template]",
		fmt.Sprintf("request exact: ExactCount 1 %v", []resourceapi.DeviceToleration{{Key: "k", Operator: resourceapi.DeviceTolerationOpEqual}}),
		"request list/all: All 0", "request list/one: ExactCount 1",
		`held: held ["s"]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(in.Slices[0].Spec.Devices[1].Taints) > 0 || in.Templates[0].Spec.Spec.Devices.Requests[0].Exactly.Count > 0 {
		t.Error("the input was modified")
	}
	if stock := (allocator.Features{
		AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true,
		ListTypeAttributes: true, PartitionableDevices: true, PrioritizedList: true,
	}); s.Features != stock {
		t.Errorf("features are %+v, want %+v", s.Features, stock)
	}
	for _, pod := range []string{"ns/none", "ns/placed"} {
		if s, err := in.Scenario(pod, nil); err != nil || len(s.Claims) > 0 {
			t.Errorf("pod %s: got %v and error %v, want no claims", pod, s, err)
		}
	}
}

func TestPublicScenarioRefuses(t *testing.T) {
	in, err := readPublic(t, publicInput)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ pod, gate, want string }{
		{"ns/missing", "", "pod ns/missing is not in input.yaml"},
		{"elsewhere/other", "", "resourceClaims[0]: template template does not exist"},
		{"ns/lost", "", "resourceClaims[0]: claim lost does not exist"},
		{"ns/empty", "", "resourceClaims[0] names neither"},
		{"ns/app", "DRAPrioritizedList", "feature gate DRAPrioritizedList"},
	} {
		var gates []string
		if test.gate != "" {
			gates = []string{test.gate}
		}
		if _, err := in.Scenario(test.pod, gates); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("pod %s: error %v does not say %q", test.pod, err, test.want)
		}
	}
	for _, test := range []struct{ input, want string }{
		{"{kind: Secret}", "document 1: kind Secret has no place"},
		{"{kind: Node}\n---\n{kind: Pod, spec: {resourceClaims: [{source: {}}]}}", "document 2: "},
	} {
		if _, err := readPublic(t, test.input); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v does not say %q", test.input, err, test.want)
		}
	}
}
