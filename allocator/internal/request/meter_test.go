package request

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// What is worked out once for requests and devices that are alike is what each
// request takes of each device by itself: candidates, faults, what is left and
// what a share takes, in one unit that is thousandths exactly if all of it fits.
func TestSharedReckoningIsEachOnesOwn(t *testing.T) {
	const seed, rounds = 1, 3000
	rng := rand.New(rand.NewPCG(seed, 0))
	var seen struct{ faulty, dropped, full, narrow, wide, common int }
	scratch := new(Scratch)
	for round := range rounds {
		var devices []resourceapi.Device
		for i := range 1 + rng.IntN(5) {
			devices = append(devices, randomDevice(rng, fmt.Sprint("d", i)))
		}
		s := on(slice("p", devices...))
		s.state.AggregatedCapacity = schedulerapi.NewConsumedCapacityCollection()
		for _, d := range devices {
			if rng.IntN(3) == 0 {
				consumed := map[resourceapi.QualifiedName]resource.Quantity{"memory": anyOf(rng, "0", "1", "2500m", "1n", "1e17", "1e3000")}
				s.state.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(schedulerapi.MakeDeviceID("driver", "p", d.Name), consumed))
			}
		}
		s.features.FractionalCapacityRange = rng.IntN(2) == 0
		var requests []resourceapi.DeviceRequest
		for i := range 1 + rng.IntN(4) {
			requests = append(requests, randomRequest(rng, fmt.Sprint("r", i)))
		}
		b, err := s.bindIn(t, scratch, claim("c", requests...))
		if err != nil {
			var input *InputError
			if !errors.As(err, &input) {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			continue // A request for all met a fault, or wants too many devices.
		}
		seen.common += len(requests) - len(b.Claims.asks)
		for position, share := range b.Problem.ShareOf {
			if share >= 0 && b.Problem.Shares[share].Wide == nil {
				seen.narrow++
			} else if share >= 0 {
				seen.wide++
			}
			device := position
			if device >= len(devices) {
				continue
			}
			lists, demanding := [][]index.Exact{nil, nil}, []int{}
			for i := range requests {
				a, bound := &b.Claims.Claims[0].Requests[i].Alternatives[0], &b.Problem.Claims[0].Requests[i].Alternatives[0]
				want, value, consumed, amounts := b.reckonAlone(a, device)
				got := fate{bound.Candidates.Has(position), bound.Faulty.Has(position), bound.Full != nil && bound.Full.Has(position)}
				if got != want {
					t.Fatalf("seed %d, round %d: request %+v of device %+v: got %+v, want %+v", seed, round, requests[i].Exactly, devices[device], got, want)
				}
				seen.faulty, seen.full = seen.faulty+oneIf(want.faulty), seen.full+oneIf(want.full)
				seen.dropped += oneIf(!want.faulty && !want.candidate)
				if share >= 0 && amounts != nil {
					lists[0], lists[1] = value, consumed
					lists, demanding = append(lists, amounts), append(demanding, i)
				}
			}
			if share < 0 {
				continue
			}
			vectors := index.NewAmounts(lists...)
			for i := range lists[0] {
				vectors[0].Sub(i, vectors[1], i)
			}
			if got, want := fmt.Sprint(b.Problem.Shares[share]), fmt.Sprint(vectors[0]); got != want {
				t.Fatalf("seed %d, round %d: of %+v is left %s, want %s", seed, round, devices[device], got, want)
			}
			for n, i := range demanding {
				if got, want := fmt.Sprint(b.Problem.Claims[0].Requests[i].Alternatives[0].Demands[share]), fmt.Sprint(vectors[2+n]); got != want {
					t.Fatalf("seed %d, round %d: request %+v takes %s of %+v, want %s", seed, round, requests[i].Exactly, got, devices[device], want)
				}
			}
		}
	}
	for name, n := range map[string]int{"faulty": seen.faulty, "dropped": seen.dropped, "full": seen.full, "narrow": seen.narrow, "wide": seen.wide, "common": seen.common} {
		if n < 50 {
			t.Errorf("%s came %d times in %d rounds: too few to prove anything", name, n, rounds)
		}
	}
}

// fate is what becomes of a device for one request.
type fate struct{ candidate, faulty, full bool }

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// reckonAlone works out one request and device of the only pool. amounts is nil
// where the request takes nothing of the device.
func (b *Bound) reckonAlone(a *Alternative, device int) (f fate, value, consumed, amounts []index.Exact) {
	pool := b.Node.Pools[0]
	metered := bitset.Set{pool.MultiAllocatable[0] | b.usage[0].Shared[0] | pool.Metered[0]}
	if requests(a.Capacity) == nil && !metered.Has(device) {
		return fate{candidate: true}, nil, nil, nil
	}
	taken, ok, err := consume(pool.At(device), a.Capacity, b.Claims.Features.FractionalCapacityRange)
	if err == nil && ok {
		value, consumed, amounts, err = b.exact(pool, device, taken)
	}
	if err != nil {
		return fate{faulty: true}, nil, nil, nil
	}
	if !ok {
		return fate{}, nil, nil, nil
	}
	if amounts == nil {
		value, consumed, amounts = []index.Exact{}, []index.Exact{}, []index.Exact{} // A device without capacity.
	}
	empty, now := covers(value, nil, amounts), covers(value, consumed, amounts)
	switch multi := pool.MultiAllocatable.Has(device); {
	case multi:
		f.candidate = !a.All || empty
	case a.All && empty:
		f.candidate, f.full = true, !now
	default:
		f.candidate = now && !b.usage[0].Shared.Has(device)
	}
	if b.usage[0].Shared.Has(device) && !pool.MultiAllocatable.Has(device) {
		f.candidate = false // docs/deviations.md 4.
	}
	return f, value, consumed, amounts
}

func anyOf(rng *rand.Rand, texts ...string) resource.Quantity {
	return resource.MustParse(texts[rng.IntN(len(texts))])
}

// randomDevice is one of few, so that devices are alike now and then.
func randomDevice(rng *rand.Rand, name string) resourceapi.Device {
	d := device(name)
	if rng.IntN(3) > 0 {
		multi(&d)
	}
	d.Capacity = make(map[resourceapi.QualifiedName]resourceapi.DeviceCapacity)
	if rng.IntN(8) > 0 {
		d.Capacity["memory"] = resourceapi.DeviceCapacity{Value: anyOf(rng, "4", "4", "4", "4000m", "10", "1e18", "3e15"), RequestPolicy: randomPolicy(rng)}
	}
	if rng.IntN(4) == 0 {
		d.Capacity["links"] = resourceapi.DeviceCapacity{Value: anyOf(rng, "2", "2", "1n", "1e3000", "-1")}
	}
	return d
}

func randomPolicy(rng *rand.Rand) *resourceapi.CapacityRequestPolicy {
	preset, least, most, step := anyOf(rng, "1", "1000m", "2"), anyOf(rng, "1", "500m"), anyOf(rng, "4", "2"), anyOf(rng, "1", "250m", "0")
	switch rng.IntN(6) {
	case 0:
		return &resourceapi.CapacityRequestPolicy{Default: &preset}
	case 1:
		return &resourceapi.CapacityRequestPolicy{Default: &preset, ValidValues: []resource.Quantity{least, most}}
	case 2:
		return &resourceapi.CapacityRequestPolicy{Default: &preset, ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: &least, Max: &most, Step: &step}}
	case 3:
		return &resourceapi.CapacityRequestPolicy{ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: &least}}
	}
	return nil
}

func randomRequest(rng *rand.Rand, name string) resourceapi.DeviceRequest {
	var edits []func(*resourceapi.ExactDeviceRequest)
	if rng.IntN(3) > 0 {
		quantity := anyOf(rng, "1", "1", "1", "1000m", "3", "1500m", "1n", "1e15", "5")
		edits = append(edits, func(r *resourceapi.ExactDeviceRequest) {
			r.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": quantity}}
		})
	}
	if rng.IntN(4) == 0 {
		edits = append(edits, allDevices)
	}
	return exactly(name, edits...)
}
