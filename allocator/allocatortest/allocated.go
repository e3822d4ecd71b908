package allocatortest

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// addAllocated lets earlier claims hold some of the devices. It runs before
// pools are spoiled, so that a claim may hold what is no longer published.
func (b *builder) addAllocated() {
	fill := pick(b.T, []int{0, 0, 0, 10, 20})
	switch {
	case b.wants(NearFull):
		fill = between(b.T, 55, 85)
	case b.wants(OvercommittedCounters):
		fill = 40
	}
	var results []resourceapi.DeviceRequestAllocationResult
	for _, p := range b.pools {
		for _, slice := range p.slices {
			for i := range slice.Spec.Devices {
				results = append(results, b.allocationsOf(p, &slice.Spec.Devices[i], fill)...)
			}
		}
	}
	if b.chance(10) {
		results = append(results, resourceapi.DeviceRequestAllocationResult{Driver: gpuDriver, Pool: "node-a", Device: "gone"})
	}
	for start := 0; start < len(results); {
		end := min(len(results), start+between(b.T, 1, 3))
		b.holdDevices(results[start:end])
		start = end
	}
}

func (b *builder) allocationsOf(p *poolPlan, device *resourceapi.Device, fill int) []resourceapi.DeviceRequestAllocationResult {
	whole := resourceapi.DeviceRequestAllocationResult{Driver: p.driver, Pool: p.name, Device: device.Name}
	var results []resourceapi.DeviceRequestAllocationResult
	multiple := ptr.Deref(device.AllowMultipleAllocations, false)
	if b.wants(LiveShares) && multiple {
		fill = max(fill, 60)
	}
	if p.reach == reachSpread && p.style.counterSets > 0 {
		fill = max(fill, 35)
	}
	// A driver may change its mind while a device is in use.
	shared := multiple != (b.wantsAny(MultipleAllocations, AdminAccess) && b.chance(6))
	switch {
	case !b.chance(fill):
	case shared:
		for range between(b.T, 1, 2) {
			share := whole
			share.ShareID = ptr.To(types.UID("share")) // made unique by holdDevices
			share.ConsumedCapacity = b.consumedBy(device)
			results = append(results, share)
		}
	default:
		results = append(results, whole)
	}
	if len(results) > 0 && shared && b.chance(4) {
		results = append(results, whole) // once alone, once shared
	}
	if b.chance(3) {
		admin := whole
		admin.AdminAccess = ptr.To(true)
		results = append(results, admin)
	}
	return results
}

func (b *builder) holdDevices(results []resourceapi.DeviceRequestAllocationResult) {
	claim := newClaim(fmt.Sprintf("holder-%d", len(b.s.Allocated)))
	for i := range results {
		results[i].Request = fmt.Sprintf("r%d", i)
		if results[i].ShareID != nil {
			results[i].ShareID = ptr.To(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", len(b.s.Allocated), i)))
		}
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{
			Name: results[i].Request,
			Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: anyClass, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
				AdminAccess: results[i].AdminAccess,
			},
		})
	}
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: results}}
	b.s.Allocated = append(b.s.Allocated, claim)
}
