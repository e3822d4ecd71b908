// Package result writes what a search found as the API has it.
//
// It decides nothing: which device goes to which request is settled, this is
// about the other fields of an AllocationResult. The rules are those of
// upstream's allocator; what consumers read from each field is said where it is
// filled.
package result

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// Write returns one result for each claim, in the order of the claims. shareID
// gives a new ID at each call. The results share tolerations, conditions and
// configuration with claims, classes and slices.
func Write(b *request.Bound, solution *search.Solution, shareID func() types.UID) ([]resourceapi.AllocationResult, error) {
	results := make([]resourceapi.AllocationResult, len(b.Claims.Claims))
	for i, claim := range b.Claims.Claims {
		w := writer{Bound: b, claim: claim, picks: solution.Picks[i], chosen: solution.Chosen[i]}
		results[i].Devices.Results = w.devices(shareID)
		results[i].Devices.Config = w.config()
		selector, err := w.nodeSelector()
		if err != nil {
			return nil, err
		}
		results[i].NodeSelector = selector
	}
	return results, nil
}

// writer writes the result of one claim.
type writer struct {
	*request.Bound
	claim  *request.Claim
	picks  []search.Pick
	chosen []int
}

func (w *writer) devices(shareID func() types.UID) []resourceapi.DeviceRequestAllocationResult {
	results := make([]resourceapi.DeviceRequestAllocationResult, len(w.picks))
	for i, pick := range w.picks {
		alternative := &w.claim.Requests[pick.Request].Alternatives[pick.Alternative]
		device, slice := w.device(pick)
		r := &results[i]
		r.Request = alternative.FullName()
		r.Driver, r.Pool, r.Device = slice.Spec.Driver, slice.Spec.Pool.Name, device.Name
		// The taint eviction controller reads the tolerations from here.
		r.Tolerations = alternative.Tolerations
		if alternative.Admin {
			admin := true
			r.AdminAccess = &admin
		}
		if pick.Share {
			id := shareID()
			r.ShareID = &id
			r.ConsumedCapacity = w.Consumed(alternative, device)
		}
		// Empty unless the feature is on: such slices are not used otherwise.
		r.SkipNodeOperations = slice.Spec.SkipNodeOperations
		if w.Claims.Features.DeviceBindingAndStatus {
			r.BindingConditions = device.BindingConditions
			r.BindingFailureConditions = device.BindingFailureConditions
		}
	}
	return results
}

func (w *writer) device(pick search.Pick) (*resourceapi.Device, *resourceapi.ResourceSlice) {
	pool, device := w.Node.Locate(pick.Position)
	return w.Node.Pools[pool].Device(device)
}

// alternative is the request, or the subrequest taken for it.
func (w *writer) alternative(requestNumber int) *request.Alternative {
	return &w.claim.Requests[requestNumber].Alternatives[w.chosen[requestNumber]]
}
