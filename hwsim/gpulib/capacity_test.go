package gpulib_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"pgregory.net/rapid"
)

func TestRemainingInstancesOfAnA100(t *testing.T) {
	const g1, g2, g3, g4, g7, g1me, g1double = 19, 14, 9, 5, 0, 20, 15
	type placed struct{ profile, start int }
	for _, c := range []struct {
		name    string
		there   []placed
		profile int
		want    int
	}{
		{"empty, 1g", nil, g1, 7},
		{"empty, 1g with twice the memory", nil, g1double, 4},
		{"empty, the whole", nil, g7, 1},
		{"3g at 0, 4g fits only there", []placed{{g3, 0}}, g4, 0},
		{"3g at 0, another", []placed{{g3, 0}}, g3, 1},
		{"3g twice", []placed{{g3, 0}, {g3, 4}}, g1, 0},
		{"4g and 3g", []placed{{g4, 0}, {g3, 4}}, g1, 0},
		{"1g at 1, with twice the memory", []placed{{g1, 1}}, g1double, 3},
		{"1g at 1, 2g", []placed{{g1, 1}}, g2, 2},
		{"1g at 1, 3g", []placed{{g1, 1}}, g3, 1},
		{"1g at 1, the whole", []placed{{g1, 1}}, g7, 0},
		{"the media engines are taken", []placed{{g1me, 0}}, g1me, 0},
		{"seven of 1g, the last slice is of no use", []placed{{g1, 0}, {g1, 1}, {g1, 2}, {g1, 3}, {g1, 4}, {g1, 5}, {g1, 6}}, g1double, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := nodeWithMIG(t)
			mig := node.GPUs[0].MIG
			mig.Instances = nil
			for i, p := range c.there {
				profile := mig.Profiles[slices.IndexFunc(mig.Profiles, func(q hardware.MIGProfile) bool { return q.ID == p.profile })]
				mig.Instances = append(mig.Instances, hardware.GPUInstanceState{ID: i, ProfileID: p.profile,
					Placement: hardware.Placement{Start: p.start, Size: profile.MemorySlices}})
			}
			if err := node.Validate(); err != nil {
				t.Fatal(err)
			}
			_, gpu := started(t, node)
			if got := get[int](t)(gpu.GPUInstanceRemaining(c.profile)); got != c.want {
				t.Errorf("%d more fit, not %d", got, c.want)
			}
		})
	}
}

// An RTX PRO 6000 has four decoders, and an instance that takes them all.
func TestEnginesBoundWhatRemains(t *testing.T) {
	node := nodeWithMIG(t)
	profile := func(name string, kind hardware.GPUInstanceProfileKind, id, most, decoders int) hardware.MIGProfile {
		p := hardware.MIGProfile{Name: name, Kind: kind, ID: id, MaxInstances: most, ComputeSlices: 1,
			Resources: hardware.MIGResources{Multiprocessors: 46, Decoders: decoders}}
		for start := range 4 {
			p.Placements = append(p.Placements, hardware.Placement{Start: start, Size: 1})
		}
		return p
	}
	whole := profile("4g.96gb", hardware.GPUInstance4Slice, 0, 1, 4)
	whole.ComputeSlices, whole.Resources.Multiprocessors, whole.Placements = 4, 188, []hardware.Placement{{Start: 0, Size: 4}}
	node.GPUs[0].VGPU = nil
	node.GPUs[0].MIG = &hardware.MIG{Enabled: true,
		Profiles: []hardware.MIGProfile{profile("1g.24gb", hardware.GPUInstance1Slice, 14, 4, 1), whole,
			profile("1g.24gb-me", hardware.GPUInstance1SliceNoMe, 67, 4, 0), profile("1g.24gb+me.all", hardware.GPUInstance1SliceAllMe, 65, 1, 4)},
		Instances: []hardware.GPUInstanceState{{ID: 0, ProfileID: 65, Placement: hardware.Placement{Start: 0, Size: 1}}}}
	if err := node.Validate(); err != nil {
		t.Fatal(err)
	}
	_, gpu := started(t, node)
	for id, want := range map[int]int{14: 0, 67: 3, 65: 0, 0: 0} {
		if got := get[int](t)(gpu.GPUInstanceRemaining(id)); got != want {
			t.Errorf("beside 1g.24gb+me.all %d more of profile %d fit, not %d", got, id, want)
		}
	}
}

func TestNothingRemainsToBeSaidWhileMIGIsOff(t *testing.T) {
	node := nodeWithMIG(t)
	node.GPUs[0].MIG.Enabled, node.GPUs[0].MIG.Instances = false, nil
	_, gpu := started(t, node)
	if n, err := gpu.GPUInstanceRemaining(19); !errors.Is(err, hardware.ErrGPUNotSupported) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestRemainingIsTheMostThatCanBePlaced compares with trying all ways.
func TestRemainingIsTheMostThatCanBePlaced(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		node := nodeWithMIG(t)
		mig := node.GPUs[0].MIG
		mig.Instances = nil
		for attempts := rapid.IntRange(0, 6).Draw(rt, "attempts"); attempts > 0; attempts-- {
			p := rapid.SampledFrom(mig.Profiles).Draw(rt, "profile")
			at := rapid.SampledFrom(p.Placements).Draw(rt, "placement")
			if fits(mig, p, at) {
				mig.Instances = append(mig.Instances, hardware.GPUInstanceState{ID: len(mig.Instances), ProfileID: p.ID, Placement: at})
			}
		}
		p := rapid.SampledFrom(mig.Profiles).Draw(rt, "asked")
		want := mostPlaced(mig, p)
		_, gpu := started(t, node)
		if got := get[int](t)(gpu.GPUInstanceRemaining(p.ID)); got != want {
			rt.Fatalf("%d more of %s fit beside %+v, not %d", want, p.Name, mig.Instances, got)
		}
	})
}

// mostPlaced tries all placements, one after the other.
func mostPlaced(mig *hardware.MIG, p hardware.MIGProfile) int {
	most := 0
	for _, at := range p.Placements {
		if fits(mig, p, at) {
			mig.Instances = append(mig.Instances, hardware.GPUInstanceState{ID: len(mig.Instances), ProfileID: p.ID, Placement: at})
			most = max(most, 1+mostPlaced(mig, p))
			mig.Instances = mig.Instances[:len(mig.Instances)-1]
		}
	}
	return most
}

// fits says whether one more instance fits, with what an A100 has in all: 98
// multiprocessors, 7 compute slices and copy engines, 5 decoders, 1 JPEG engine.
func fits(mig *hardware.MIG, p hardware.MIGProfile, at hardware.Placement) bool {
	sum, same := p, 1
	for _, there := range mig.Instances {
		q := mig.Profiles[slices.IndexFunc(mig.Profiles, func(q hardware.MIGProfile) bool { return q.ID == there.ProfileID })]
		if there.Placement.Start < at.Start+at.Size && at.Start < there.Placement.Start+there.Placement.Size {
			return false
		}
		if q.ID == p.ID {
			same++
		}
		sum.ComputeSlices += q.ComputeSlices
		sum.Resources.Multiprocessors += q.Resources.Multiprocessors
		sum.Resources.CopyEngines += q.Resources.CopyEngines
		sum.Resources.Decoders += q.Resources.Decoders
		sum.Resources.JPEGEngines += q.Resources.JPEGEngines
	}
	return same <= p.MaxInstances && sum.ComputeSlices <= 7 && sum.Resources.Multiprocessors <= 98 &&
		sum.Resources.CopyEngines <= 7 && sum.Resources.Decoders <= 5 && sum.Resources.JPEGEngines <= 1
}
