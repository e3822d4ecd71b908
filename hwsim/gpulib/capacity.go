package gpulib

import (
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// FreePlacements are those of a profile at which one more instance can be made
// beside those that there are, in the profile's order. Its memory slices must be
// free, compute slices, engines and memory be left, and the profile's maximum not
// be reached. Of each a GPU has as much as its largest profile has.
func FreePlacements(m *hardware.MIG, p *hardware.MIGProfile) []hardware.Placement {
	covered, most := room(m, p)
	if most == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Placements), covered)
}

// remaining is how many more instances of a profile fit beside those that there
// are.
func remaining(m *hardware.MIG, p *hardware.MIGProfile) int {
	covered, most := room(m, p)
	return min(most, freePlacements(p, covered))
}

// room is which placements are covered by instances, and how many more of a
// profile what is left is enough for, wherever they lie.
func room(m *hardware.MIG, p *hardware.MIGProfile) (covered func(hardware.Placement) bool, most int) {
	left := p.MaxInstances
	var taken []hardware.Placement
	var used [dimensions]int64
	for _, instance := range m.Instances {
		if instance.ProfileID == p.ID {
			left--
		}
		taken = append(taken, instance.Placement)
		i := slices.IndexFunc(m.Profiles, func(p hardware.MIGProfile) bool { return p.ID == instance.ProfileID })
		if i < 0 {
			continue // the node is not valid
		}
		for dimension, amount := range amounts(&m.Profiles[i]) {
			used[dimension] += amount
		}
	}
	for dimension, need := range amounts(p) {
		if need == 0 {
			continue
		}
		whole := int64(0)
		for i := range m.Profiles {
			whole = max(whole, amounts(&m.Profiles[i])[dimension])
		}
		left = int(min(int64(left), (whole-used[dimension])/need))
	}
	return func(at hardware.Placement) bool {
		return slices.ContainsFunc(taken, func(t hardware.Placement) bool {
			return at.Start < t.Start+t.Size && t.Start < at.Start+at.Size
		})
	}, max(0, left)
}

const dimensions = 8

// amounts of what instances share besides memory slices.
func amounts(p *hardware.MIGProfile) [dimensions]int64 {
	r := &p.Resources
	return [...]int64{int64(p.ComputeSlices), int64(r.MemoryBytes), int64(r.Multiprocessors), int64(r.CopyEngines),
		int64(r.Decoders), int64(r.Encoders), int64(r.JPEGEngines), int64(r.OFAEngines)}
}

// freePlacements is how many instances can lie beside each other in what is not
// covered. All placements of a profile are of one size, so that taking the one
// that ends first is best.
func freePlacements(p *hardware.MIGProfile, covered func(hardware.Placement) bool) int {
	placements := slices.Clone(p.Placements)
	slices.SortFunc(placements, func(a, b hardware.Placement) int { return a.Start + a.Size - b.Start - b.Size })
	count, end := 0, 0
	for _, at := range placements {
		if at.Start >= end && !covered(at) {
			count++
			end = at.Start + at.Size
		}
	}
	return count
}
