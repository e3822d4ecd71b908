package metamorphic

import (
	"slices"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// shrink returns a history from which no step and nothing of the start can be
// taken away such that it still fails, with its failure. A history that fails
// only now and then, because callers race, may stay longer than it must. The
// failure is nil if the given history does not fail again.
func shrink(h *history, create func() subject) (*history, *failure) {
	// Racing callers need not meet each time.
	const attempts = 3
	fails := func(h *history) *failure {
		for range attempts {
			if f := h.live(create, new(statistics)); f != nil {
				return f
			}
			if !slices.ContainsFunc(h.steps, func(s step) bool { return s.mode == concurrent }) {
				break
			}
		}
		return nil
	}
	best, found := h, fails(h)
	if found == nil {
		return h, nil
	}
	try := func(candidate *history) bool {
		f := fails(candidate)
		if f != nil {
			// What comes after the failure does not matter.
			candidate.steps = candidate.steps[:f.step]
			best, found = candidate, f
		}
		return f != nil
	}
	for progress := true; progress; {
		progress = false
		for chunk := max(1, len(best.steps)/2); chunk > 0; chunk /= 2 {
			for i := len(best.steps) - chunk; i >= 0; i -= chunk {
				if i+chunk > len(best.steps) {
					continue
				}
				shorter := slices.Concat(best.steps[:i], best.steps[i+chunk:])
				progress = try(&history{seed: best.seed, start: best.start, steps: shorter}) || progress
			}
		}
		for i := range best.steps {
			if i < len(best.steps) && best.steps[i].mode != alone {
				plainer := slices.Clone(best.steps)
				plainer[i].mode = alone
				progress = try(&history{seed: best.seed, start: best.start, steps: plainer}) || progress
			}
		}
		smaller := allocatortest.Shrink(best.start, func(start *allocatortest.Scenario) bool {
			return len(start.Nodes) > 0 && fails(&history{seed: best.seed, start: start, steps: best.steps}) != nil
		})
		if smaller != best.start {
			progress = try(&history{seed: best.seed, start: smaller, steps: best.steps}) || progress
		}
	}
	return best, found
}
