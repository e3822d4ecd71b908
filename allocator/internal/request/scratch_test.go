package request

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
)

// Nodes of all widths, with and without shares, sound claims and wrong ones come
// by in one memory, and each is bound as in a memory of its own.
func TestWhatWasBoundBeforeDoesNotShow(t *testing.T) {
	const seed, rounds = 1, 200
	rng := rand.New(rand.NewPCG(seed, 0))
	pools := func() (slices []*resourceapi.ResourceSlice) {
		for pool := range 1 + rng.IntN(3) {
			var devices []resourceapi.Device
			for i := range 1 + rng.IntN([]int{3, 70, 130}[rng.IntN(3)]) {
				edits := []func(*resourceapi.Device){capacity("memory", fmt.Sprint(1+rng.IntN(9)))}
				if rng.IntN(3) == 0 {
					edits = append(edits, multi)
				}
				devices = append(devices, device(fmt.Sprint("d", i), edits...))
			}
			slices = append(slices, slice(fmt.Sprint("p", pool), devices...))
		}
		return slices
	}
	requests := func() (list []resourceapi.DeviceRequest) {
		for i := range 1 + rng.IntN(3) {
			edits := []func(*resourceapi.ExactDeviceRequest){needs("memory", fmt.Sprint(rng.IntN(9)))}
			switch rng.IntN(6) {
			case 0:
				edits = append(edits, allDevices)
			case 1:
				edits = append(edits, count(-1)) // An error.
			case 2:
				edits = append(edits, that("true"))
			}
			list = append(list, exactly(fmt.Sprint("r", i), edits...))
		}
		return list
	}
	scratch := new(Scratch)
	shared, failed := 0, 0
	for round := range rounds {
		s, c := on(pools()...), claim("c", requests()...)
		s.features.ConsumableCapacity = rng.IntN(4) > 0
		want, wantErr := s.bind(t, c)
		got, err := s.bindIn(t, scratch, c)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("seed %d, round %d: got error %v, want %v", seed, round, err, wantErr)
		}
		if err != nil {
			failed++
			continue
		}
		shared += len(want.shareNames())
		if diff := cmp.Diff(want.shareNames(), got.shareNames()); diff != "" {
			t.Fatalf("seed %d, round %d: shares differ (-want +got)\n%s", seed, round, diff)
		}
		for i := range want.Problem.Claims[0].Requests {
			w, g := &want.Problem.Claims[0].Requests[i].Alternatives[0], &got.Problem.Claims[0].Requests[i].Alternatives[0]
			if want.deviceNames(w.Candidates) != got.deviceNames(g.Candidates) || w.Count != g.Count || !cmp.Equal(w.Demands, g.Demands) {
				t.Fatalf("seed %d, round %d, request %d: got %+v, want %+v", seed, round, i, g, w)
			}
		}
	}
	if shared < rounds || failed < rounds/10 {
		t.Errorf("%d shares and %d errors in %d rounds: too few to prove anything", shared, failed, rounds)
	}
}

// shareNames says of each position that has a share how much is left there.
func (b *Bound) shareNames() map[int]string {
	names := make(map[int]string)
	for position, share := range b.Problem.ShareOf {
		if share >= 0 {
			names[position] = fmt.Sprint(b.Problem.Shares[share])
		}
	}
	return names
}
