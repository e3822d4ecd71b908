package search

import (
	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// rooms says which devices still have room for a share, for each list of demands:
// alternatives that take the same have one list, so few are looked at where many
// requests want shares.
type rooms struct {
	list []room
	// at is the position of each share. seen are the versions of the shares that
	// the sets know, plus one; 0 is none.
	at   []int
	seen []uint64
	// words is the length of the sets.
	words int
}

// room has one list of demands.
type room struct {
	demands []index.Amounts
	// set has the positions without a share, and those of which enough is left.
	set bitset.Set
}

// noRoom is the number of an alternative without demands, which needs none.
const noRoom = -1

// maxRooms bounds how many lists an alternative's is compared with; beyond it
// equal lists have rooms of their own.
const maxRooms = 16

// begin forgets another problem.
func (r *rooms) begin(p *Problem) {
	r.list, r.words = r.list[:0], len(p.InUse)
	r.at = cleared(r.at, len(p.Shares))
	if len(p.Shares) == 0 {
		return
	}
	for position, share := range p.ShareOf {
		if share >= 0 {
			r.at[share] = position
		}
	}
}

// of returns the number of the room for demands.
func (r *rooms) of(demands []index.Amounts) int {
	if len(demands) == 0 {
		return noRoom
	}
	for i := range r.list[:min(len(r.list), maxRooms)] {
		if oneList(r.list[i].demands, demands) {
			return i
		}
	}
	r.list = resized(r.list, len(r.list)+1)
	last := &r.list[len(r.list)-1]
	last.demands, last.set = demands, resized(last.set, r.words)
	for i := range last.set {
		last.set[i] = ^uint64(0)
	}
	return len(r.list) - 1
}

// oneList says whether two lists are the same memory.
func oneList(a, b []index.Amounts) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// look brings the sets up to date where shares have changed.
func (r *rooms) look(s *state) {
	for share, version := range s.shareVersions {
		if r.seen[share] == version+1 {
			continue
		}
		r.seen[share] = version + 1
		left, position := s.shares[share], r.at[share]
		for i := range r.list {
			// Nobody who has this list can take the device where there is no demand.
			demand := r.list[i].demands[share]
			put(r.list[i].set, position, demand.Len() == left.Len() && left.Covers(demand))
		}
	}
}
