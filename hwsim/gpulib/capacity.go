package gpulib

import (
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// remaining is how many more instances of a profile fit beside those that there
// are: at placements whose memory slices are free, with the compute slices and
// engines that are left. A GPU has of each as much as its largest profile has.
func remaining(m *hardware.MIG, p *hardware.MIGProfile) int {
	left := p.MaxInstances
	covered := map[int]bool{}
	used := make([]int, len(amounts(p)))
	for _, instance := range m.Instances {
		if instance.ProfileID == p.ID {
			left--
		}
		for slice := range instance.Placement.Size {
			covered[instance.Placement.Start+slice] = true
		}
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
		whole := 0
		for i := range m.Profiles {
			whole = max(whole, amounts(&m.Profiles[i])[dimension])
		}
		left = min(left, (whole-used[dimension])/need)
	}
	return max(0, min(left, freePlacements(p, covered)))
}

// amounts of what instances share besides memory slices.
func amounts(p *hardware.MIGProfile) [7]int {
	r := &p.Resources
	return [7]int{p.ComputeSlices, r.Multiprocessors, r.CopyEngines, r.Decoders, r.Encoders, r.JPEGEngines, r.OFAEngines}
}

// freePlacements is how many instances can lie beside each other in what is not
// covered. All placements of a profile are of one size, so that taking the one
// that ends first is best.
func freePlacements(p *hardware.MIGProfile, covered map[int]bool) int {
	placements := slices.Clone(p.Placements)
	slices.SortFunc(placements, func(a, b hardware.Placement) int { return a.Start + a.Size - b.Start - b.Size })
	count, end := 0, 0
	for _, placement := range placements {
		free := placement.Start >= end
		for slice := range placement.Size {
			free = free && !covered[placement.Start+slice]
		}
		if free {
			count++
			end = placement.Start + placement.Size
		}
	}
	return count
}
