package allocatortest

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// twoShares are the results of one claim.
const twoShares = `
devices:
  results:
  - {request: r, driver: d, pool: p, device: x, shareID: s1, adminAccess: true, consumedCapacity: {m: 1500m}, tolerations: [{key: k, tolerationSeconds: 3}]}
  - {request: q/a, driver: d, pool: p, device: x, shareID: s2, adminAccess: true, consumedCapacity: {m: "1.5"}, tolerations: [{key: k, tolerationSeconds: 3}]}
  config:
  - {source: FromClaim, requests: [r], opaque: {driver: d, parameters: {a: 1}}}
nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-a]}]}]}
`

// oneDevice has nothing but what it must have.
const oneDevice = `devices: {results: [{request: r, driver: d, pool: p, device: x}]}`

func TestEveryExpectationCanFail(t *testing.T) {
	read := func(text string) (results resourceapi.AllocationResult) {
		t.Helper()
		if err := yaml.UnmarshalStrict([]byte(text), &results); err != nil {
			t.Fatal(err)
		}
		return results
	}
	allocated := func(result string, held ...types.UID) PublicAnswer {
		return PublicAnswer{Outcome: Allocated, Node: "node-a", Results: []resourceapi.AllocationResult{read(result)}, HeldShares: held}
	}
	const both = "{outcome: allocated, node: node-a, devices: [d/p/x, d/p/x], "
	for name, test := range map[string]struct {
		expect       string
		right, wrong PublicAnswer
		want         string
	}{
		"outcome": {"{outcome: unschedulable}", PublicAnswer{Outcome: Unschedulable}, PublicAnswer{Outcome: Refused, Text: "because"}, "outcome is error, want unschedulable (because)"},
		"acceptable outcome": {"{outcome: unschedulable, alsoAcceptable: [error]}",
			PublicAnswer{Outcome: Refused}, allocated(twoShares), "outcome is allocated, want unschedulable or error"},
		"upstream's devices": {"{outcome: unschedulable, alsoAcceptable: [allocated], upstream_v1_37_2: {outcome: allocated, devices: [d/p/x]}}",
			allocated(oneDevice), allocated(twoShares), "devices are"},
		"node":        {"{outcome: allocated, node: node-a, devices: [d/p/x]}", allocated(oneDevice), PublicAnswer{Outcome: Allocated, Node: "node-m", Results: allocated(oneDevice).Results}, "node is node-m, want node-a"},
		"devices":     {both + "}", allocated(twoShares), allocated(oneDevice), "devices are"},
		"any of":      {"{outcome: allocated, node: node-a, devices: [d/p/z], anyOf: [[d/p/z], [d/p/x]]}", allocated(oneDevice), allocated(twoShares), "devices are"},
		"first fit":   {"{outcome: allocated, node: node-a, devices: [d/p/x], firstFit: true, anyOf: [[d/p/x, d/p/x]]}", allocated(oneDevice), allocated(twoShares), "devices are"},
		"by request":  {both + "byRequest: {q/a: [d/p/x]}}", allocated(twoShares), allocated(strings.Replace(twoShares, "q/a", "q/b", 1)), "request q/a: devices are"},
		"admin":       {both + "checks: {adminAccess: true}}", allocated(twoShares), allocated(strings.Replace(twoShares, "true", "false", 1)), "device x: admin access is false, want true"},
		"capacity":    {both + "checks: {consumedCapacity: {m: 1500m}}}", allocated(twoShares), allocated(strings.Replace(twoShares, "1500m", "1", 1)), "consumed capacity"},
		"tolerations": {both + "checks: {tolerations: [{key: k, tolerationSeconds: 3}]}}", allocated(twoShares), allocated(strings.Replace(twoShares, "tolerationSeconds: 3", "tolerationSeconds: 4", 1)), "tolerations"},
		"held share":  {both + "checks: {shareID: new}}", allocated(twoShares, "s3"), allocated(twoShares, "s3", "s2"), `share ID is "s2"`},
		"same share":  {both + "checks: {shareID: new}}", allocated(twoShares), allocated(strings.Replace(twoShares, "s2", "s1", 1)), `share ID is "s1"`},
		"no share":    {"{outcome: allocated, node: node-a, devices: [d/p/x], checks: {shareID: new}}", allocated(strings.Replace(oneDevice, "request", "shareID: s, request", 1)), allocated(oneDevice), `share ID is ""`},
		"config": {both + "checks: {config: [{source: FromClaim, requests: [r], opaque: {driver: d, parameters: {a: 1}}}]}}",
			allocated(twoShares), allocated(strings.Replace(twoShares, "requests: [r]", "requests: [s]", 1)), "config is"},
		"node selector": {both + "checks: {nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-a]}]}]}}}",
			allocated(twoShares), allocated(strings.Replace(twoShares, "[node-a]", "[node-m]", 1)), "node selector is"},
		"special request": {"{outcome: allocated, node: node-a, devices: [d/p/x], checks: {specialClaimRequest: r}}", allocated(oneDevice), allocated(strings.Replace(oneDevice, ": r,", ": s,", 1)), "request is s, want r"},
		"requests":        {both + "checks: {requests: {r: 1, q/a: 1}}}", allocated(twoShares), allocated(strings.Replace(twoShares, "q/a", "r", 1)), "devices by request are"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &PublicExpectation{}
			if err := yaml.UnmarshalStrict([]byte(test.expect), e); err != nil {
				t.Fatal(err)
			}
			if differences := e.Differences(test.right); len(differences) > 0 {
				t.Errorf("the right answer differs: %q", differences)
			}
			if differences := strings.Join(e.Differences(test.wrong), "\n"); !strings.Contains(differences, test.want) {
				t.Errorf("differences of the wrong answer are %q, want %q", differences, test.want)
			}
		})
	}
}

func TestKeywordsAreFoundInAnyCase(t *testing.T) {
	e := &PublicExpectation{Reason: []string{"counter", "NodeSelector", "32"}}
	if unsaid := strings.Join(e.Unsaid("Counter set of nodeselector"), " "); unsaid != "32" {
		t.Errorf("unsaid is %q, want 32", unsaid)
	}
}
