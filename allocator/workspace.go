package allocator

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/request"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// workspace is the memory of one call of Allocate. The inventory keeps those of
// calls that are over, and hands them to the next calls of any allocator.
//
// It also remembers the claims that it compiled last: one allocator is asked
// about the same claims for all nodes. They are in its memory, so no two calls
// share them; concurrent calls compile once for each.
type workspace struct {
	bind   request.Scratch
	search search.Scratch

	// compiled are the claims api, compiled for the allocator owner. Nil owner:
	// there are none.
	owner    *Allocator
	api      []*resourceapi.ResourceClaim
	compiled *request.Claims
}

// compile returns the claims in compiled form, which holds until the next call.
func (w *workspace) compile(a *Allocator, claims []*resourceapi.ResourceClaim) (*request.Claims, error) {
	if w.owner == a && slices.Equal(w.api, claims) {
		return w.compiled, nil
	}
	w.owner = nil // The memory is overwritten, and a class lister can panic.
	compiled, err := w.bind.Compile(a.features, a.lister, claims)
	if err != nil {
		return nil, err
	}
	if !compiled.Failed {
		w.owner, w.compiled = a, compiled
		w.api = append(w.api[:0], claims...)
	}
	return compiled, nil
}
