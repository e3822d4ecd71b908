package allocatortest

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// PublicAnswer is what becomes of the pod of a public case.
type PublicAnswer struct {
	// Outcome is Allocated, Unschedulable or Refused; anything else is an
	// answer that no case expects.
	Outcome string
	Node    string
	Results []resourceapi.AllocationResult
	// HeldShares are the shares that other claims hold.
	HeldShares []types.UID
	// Text is all that is said about a pod that cannot run.
	Text string
}

// HeldShares returns the share IDs of the claims that hold devices.
func (s *Scenario) HeldShares() []types.UID {
	var ids []types.UID
	for _, claim := range s.Allocated {
		for _, device := range claim.Status.Allocation.Devices.Results {
			if device.ShareID != nil {
				ids = append(ids, *device.ShareID)
			}
		}
	}
	return ids
}

// Unsaid returns the keywords that a text lacks, in whatever case.
func (e *PublicExpectation) Unsaid(text string) []string {
	var unsaid []string
	for _, keyword := range e.Reason {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(keyword)) {
			unsaid = append(unsaid, keyword)
		}
	}
	return unsaid
}

// Differences says in what an answer is not the expected one, the text left
// aside: see Unsaid. An acceptable outcome other than the right one has the
// devices of upstream, if it is upstream's.
func (e *PublicExpectation) Differences(a PublicAnswer) []string {
	switch {
	case a.Outcome == e.Outcome && a.Outcome == Allocated:
		return e.compareAllocation(a)
	case a.Outcome == e.Outcome:
		return nil
	case !slices.Contains(e.AlsoAcceptable, a.Outcome):
		return []string{fmt.Sprintf("outcome is %s, want %s (%s)", a.Outcome, strings.Join(append([]string{e.Outcome}, e.AlsoAcceptable...), " or "), a.Text)}
	case a.Outcome == Allocated && e.Upstream != nil && e.Upstream.Outcome == Allocated:
		return compareDevices(devicesOf(a.Results, ""), e.Upstream.Devices)
	}
	return nil
}

func (e *PublicExpectation) compareAllocation(a PublicAnswer) []string {
	var differences []string
	if a.Node != e.Node {
		differences = append(differences, fmt.Sprintf("node is %s, want %s", a.Node, e.Node))
	}
	valid := [][]string{e.Devices}
	if !e.FirstFit {
		valid = append(valid, e.AnyOf...)
	}
	differences = append(differences, compareDevices(devicesOf(a.Results, ""), valid...)...)
	for request, devices := range e.ByRequest {
		for _, difference := range compareDevices(devicesOf(a.Results, request), devices) {
			differences = append(differences, fmt.Sprintf("request %s: %s", request, difference))
		}
	}
	differences = append(differences, e.Checks.compare(a)...)
	slices.Sort(differences)
	return differences
}

// devicesOf returns driver/pool/device of all results, or those for a request.
func devicesOf(results []resourceapi.AllocationResult, request string) []string {
	var devices []string
	for _, result := range results {
		for _, d := range result.Devices.Results {
			if request == "" || d.Request == request {
				devices = append(devices, d.Driver+"/"+d.Pool+"/"+d.Device)
			}
		}
	}
	return devices
}

// compareDevices compares in any order, but as often: twice is two shares.
func compareDevices(got []string, valid ...[]string) []string {
	for _, want := range valid {
		if slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			return nil
		}
	}
	return []string{fmt.Sprintf("devices are %q, want one of %q", got, valid)}
}

func (c *PublicChecks) compare(a PublicAnswer) []string {
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	ids := slices.Clone(a.HeldShares)
	requests := make(map[string]int)
	for _, result := range a.Results {
		if c.Config != nil && !apiequality.Semantic.DeepEqual(c.Config, result.Devices.Config) {
			differ("config is %v, want %v", result.Devices.Config, c.Config)
		}
		if c.NodeSelector != nil && !apiequality.Semantic.DeepEqual(c.NodeSelector, result.NodeSelector) {
			differ("node selector is %v, want %v", result.NodeSelector, c.NodeSelector)
		}
		for i := range result.Devices.Results {
			d := &result.Devices.Results[i]
			requests[d.Request]++
			differences = append(differences, c.compareDevice(d)...)
			if c.ShareID == "" {
				continue
			}
			if d.ShareID == nil || slices.Contains(ids, *d.ShareID) {
				differ("device %s: share ID is %q, want one that nobody else has", d.Device, ptr.Deref(d.ShareID, ""))
			}
			ids = append(ids, ptr.Deref(d.ShareID, ""))
		}
	}
	if c.Requests != nil && !apiequality.Semantic.DeepEqual(c.Requests, requests) {
		differ("devices by request are %v, want %v", requests, c.Requests)
	}
	return differences
}

func (c *PublicChecks) compareDevice(d *resourceapi.DeviceRequestAllocationResult) []string {
	var differences []string
	differ := func(what string, got, want any) {
		differences = append(differences, fmt.Sprintf("device %s: %s is %v, want %v", d.Device, what, got, want))
	}
	if c.AdminAccess && !ptr.Deref(d.AdminAccess, false) {
		differ("admin access", false, true)
	}
	if c.ConsumedCapacity != nil && !apiequality.Semantic.DeepEqual(c.ConsumedCapacity, d.ConsumedCapacity) {
		differ("consumed capacity", d.ConsumedCapacity, c.ConsumedCapacity)
	}
	if c.Tolerations != nil && !apiequality.Semantic.DeepEqual(c.Tolerations, d.Tolerations) {
		differ("tolerations", d.Tolerations, c.Tolerations)
	}
	if c.SpecialClaimRequest != "" && d.Request != c.SpecialClaimRequest {
		differ("request", d.Request, c.SpecialClaimRequest)
	}
	return differences
}
