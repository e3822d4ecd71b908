package index

import (
	"math/rand/v2"
	"testing"

	"github.com/dray-dev/dray/allocator/internal/bitset"
)

func domainOf(devices ...int) Domain {
	pools := make([]*Pool, len(devices))
	for i, n := range devices {
		pools[i] = &Pool{Devices: n}
	}
	return NewDomain(pools)
}

func TestPositionAndLocateAreInverse(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, seed))
	sizes := []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 300}
	for range 300 {
		devices := make([]int, r.IntN(6))
		for i := range devices {
			devices[i] = sizes[r.IntN(len(sizes))]
		}
		d := domainOf(devices...)
		last := -1
		for pool, n := range devices {
			for device := range n {
				position := d.Position(pool, device)
				if gotPool, gotDevice := d.Locate(position); gotPool != pool || gotDevice != device {
					t.Fatalf("seed %d, pools of %v: device %d of pool %d is at %d, where pool %d has device %d", seed, devices, device, pool, position, gotPool, gotDevice)
				}
				if position <= last || position >= d.Width() {
					t.Fatalf("seed %d, pools of %v: position %d of device %d of pool %d after %d, width %d", seed, devices, position, device, pool, last, d.Width())
				}
				last = position
			}
		}
		if len(d.WordPool) != d.Words() || len(d.NewSet()) != d.Words() {
			t.Fatalf("seed %d, pools of %v: %d words, %d pools of words, sets of %d", seed, devices, d.Words(), len(d.WordPool), len(d.NewSet()))
		}
	}
}

// The search takes the bits of a set as positions and pools take theirs as
// device numbers: both have to mean the same device.
func TestPartIsThePoolsOwnSet(t *testing.T) {
	d := domainOf(3, 0, 70, 1)
	s := d.NewSet()
	for pool, n := range []int{3, 0, 70, 1} {
		part := d.Part(s, pool)
		if want := bitset.Words(n); len(part) != want {
			t.Errorf("the part of pool %d has %d words, want %d", pool, len(part), want)
		}
		for device := range n {
			part.Add(device)
			if !s.Has(d.Position(pool, device)) {
				t.Errorf("device %d of pool %d added to its part is not in the set", device, pool)
			}
		}
	}
	if s.Count() != 74 {
		t.Errorf("the set has %d members, want 74", s.Count())
	}
}
