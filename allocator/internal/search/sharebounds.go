package search

import (
	"math"
	"slices"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// sharesSuffice bounds how many shares the devices that can be shared still
// give, where demands have no others. Two bounds hold for any capacity that all
// those devices have at the same place in their vectors: a device gives at most
// what it has left divided by the smallest share asked of it, and never two
// shares to one request; and all shares together take no more than all devices
// have left.
func (o *outlook) sharesSuffice() bool {
	if len(o.problem.Shares) == 0 {
		return true
	}
	total := 0
	union := o.scratch(len(o.demands))
	clear(union)
	o.sharers = o.sharers[:0]
	for i := range o.demands {
		if d := &o.demands[i]; o.onlyShares(d) {
			o.addSharer(d)
			total += d.need
			union.Or(d.domain)
		}
	}
	if len(o.sharers) == 0 {
		return true
	}
	capacity := 0
	dimensions := -1
	for share := range o.problem.Shares {
		if o.shares[share].Wide != nil {
			return true
		}
		n := o.shares[share].Len()
		if dimensions >= 0 && n != dimensions {
			dimensions = 0
		} else {
			dimensions = n
		}
	}
	for position := range union.All {
		capacity += o.sharesOf(position)
	}
	if capacity >= total && o.volumeSuffices(union, dimensions) {
		return true
	}
	o.blame = o.blameDemands(func(d *demand) bool { return o.onlyShares(d) })
	return false
}

// sharer is a number of requests that want the same shares of the same devices.
type sharer struct {
	demands []index.Amounts
	domain  bitset.Set
	// need is what they need together.
	requests, need int
}

// addSharer adds a demand to those that want the same, which often come one after
// the other or by turns.
func (o *outlook) addSharer(d *demand) {
	const compared = 4
	for i := len(o.sharers) - 1; i >= max(0, len(o.sharers)-compared); i-- {
		s := &o.sharers[i]
		if oneList(s.demands, d.alternative.Demands) && slices.Equal(s.domain, d.domain) {
			s.requests, s.need = s.requests+1, s.need+d.need
			return
		}
	}
	o.sharers = append(o.sharers, sharer{demands: d.alternative.Demands, domain: d.domain, requests: 1, need: d.need})
}

func (o *outlook) onlyShares(d *demand) bool {
	if d.need == 0 {
		return false
	}
	for word, w := range d.domain {
		if w&^o.problem.MultiAllocatable[word] != 0 {
			return false
		}
	}
	return true
}

// sharesOf bounds the number of shares that one device can give.
func (o *outlook) sharesOf(position int) int {
	share := o.problem.ShareOf[position]
	left := o.shares[share].Narrow
	requests := 0
	for i := range o.sharers {
		if s := &o.sharers[i]; s.domain.Has(position) {
			requests += s.requests
		}
	}
	fit := int64(requests)
	for i, have := range left {
		least := int64(-1)
		for j := range o.sharers {
			s := &o.sharers[j]
			if !s.domain.Has(position) {
				continue
			}
			if take := s.demands[share].Narrow[i]; least < 0 || take < least {
				least = take
			}
		}
		if least > 0 {
			fit = min(fit, max(have, 0)/least)
		}
	}
	return int(fit)
}

// volumeSuffices compares sums; dimensions is 0 where vectors differ in length.
func (o *outlook) volumeSuffices(union bitset.Set, dimensions int) bool {
	for i := range dimensions {
		have, want := int64(0), int64(0)
		for position := range union.All {
			have = sum(have, max(o.shares[o.problem.ShareOf[position]].Narrow[i], 0))
		}
		for j := range o.sharers {
			s := &o.sharers[j]
			least := int64(math.MaxInt64)
			for position := range s.domain.All {
				least = min(least, s.demands[o.problem.ShareOf[position]].Narrow[i])
			}
			for range s.need {
				want = sum(want, max(least, 0))
			}
		}
		if want > have {
			return false
		}
	}
	return true
}

// sum adds what is not negative, and stays at the largest int64 beyond it.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
