package index

import (
	"encoding/binary"
	"slices"
)

// GroupState is what the devices placed on one counter set so far have in
// common (KEP-5963, compatibilityGroups). Devices may share a counter set when
// all of them name at least one common group; devices that name none go only
// with others that name none.
//
// The zero value is a counter set without devices. A state is a value: With
// returns a new one and never changes the groups of the old one, so a search
// can keep states to go back to.
type GroupState struct {
	occupied bool
	// groups are those that every device so far names; nil where they name none.
	groups []uint32
	// ungrouped: the first device named no group, hence none does.
	ungrouped bool
}

// Admits says whether a device that names these groups may join.
func (s GroupState) Admits(groups []uint32) bool {
	switch {
	case !s.occupied:
		return true
	case len(groups) == 0:
		return s.ungrouped
	case s.ungrouped:
		return false
	}
	for _, group := range groups {
		if contains(s.groups, group) {
			return true
		}
	}
	return false
}

// With returns the state after a device that names these groups has joined. A
// device that the state does not admit can be there all the same, allocated
// before the driver changed its groups: then nothing is common any more, or,
// where one side names no group, the state stays as the first device made it.
func (s GroupState) With(groups []uint32) GroupState {
	switch {
	case !s.occupied:
		return GroupState{occupied: true, groups: groups, ungrouped: len(groups) == 0}
	case s.ungrouped || len(groups) == 0:
		return s
	}
	first, end, kept := 0, 0, 0
	for i, group := range s.groups {
		if contains(groups, group) {
			if kept == 0 {
				first = i
			}
			end, kept = i+1, kept+1
		}
	}
	if end-first == kept {
		return GroupState{occupied: true, groups: s.groups[first:end:end]} // As always with two groups.
	}
	common := make([]uint32, 0, kept)
	for _, group := range s.groups {
		if contains(groups, group) {
			common = append(common, group)
		}
	}
	return GroupState{occupied: true, groups: common}
}

// AppendKey appends bytes that are equal for equal states.
func (s GroupState) AppendKey(key []byte) []byte {
	switch {
	case !s.occupied:
		return append(key, 0)
	case s.ungrouped:
		return append(key, 1)
	}
	var sorted [4]uint32
	groups := append(sorted[:0], s.groups...)
	slices.Sort(groups)
	key = binary.AppendVarint(append(key, 2), int64(len(groups)))
	for _, group := range groups {
		key = binary.AppendVarint(key, int64(group))
	}
	return key
}

// contains: at most two groups a device (API limit), so a scan is the fastest set.
func contains(groups []uint32, group uint32) bool {
	for _, g := range groups {
		if g == group {
			return true
		}
	}
	return false
}
