package metamorphic

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// statistics is what histories have covered. It is safe for concurrent use.
type statistics struct {
	mu      sync.Mutex
	steps   int
	kinds   []int // by index in kinds
	modes   [numModes]int
	classes map[allocatortest.Class]int
	asked   int // nodes
	changed int // nodes whose answer differs from the one before the step
	// searches and reused are those of inventories that learn.
	searches, reused int64
}

func (s *statistics) learned(searches, reused int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searches += searches
	s.reused += reused
}

func (s *statistics) step(taken step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = make([]int, len(kinds))
	}
	s.steps++
	s.kinds[taken.kind]++
	s.modes[taken.mode]++
}

func (s *statistics) answers(before, after []allocatortest.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.classes == nil {
		s.classes = make(map[allocatortest.Class]int)
	}
	for i, outcome := range after {
		s.asked++
		s.classes[outcome.Class]++
		if i >= len(before) || allocatortest.Diff(before[i], outcome) != "" {
			s.changed++
		}
	}
}

func (s *statistics) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d answers, %d of them new", s.asked, s.changed)
	for class := allocatortest.Fits; class <= allocatortest.Panicked; class++ {
		fmt.Fprintf(&b, ", %s %d", class, s.classes[class])
	}
	b.WriteString("\nsteps")
	for i, k := range kinds {
		fmt.Fprintf(&b, ", %s %d", k.name, s.kinds[i])
	}
	fmt.Fprintf(&b, "\nlearning: %d searches, %d answers of earlier pods", s.searches, s.reused)
	fmt.Fprintf(&b, "\ncallers: one %d, with an earlier list %d, at once %d", s.modes[alone], s.modes[interleaved], s.modes[concurrent])
	return b.String()
}

// starved says what there was too little of for the run to mean much.
func (s *statistics) starved() string {
	for i, k := range kinds {
		if s.kinds[i]*200 < s.steps {
			return fmt.Sprintf("%d of %d steps are of kind %q", s.kinds[i], s.steps, k.name)
		}
	}
	for m := range numModes {
		if s.modes[m]*10 < s.steps {
			return fmt.Sprintf("%d of %d steps have mode %d", s.modes[m], s.steps, m)
		}
	}
	if s.classes[allocatortest.Fits]*6 < s.asked {
		return fmt.Sprintf("%d of %d answers are allocations", s.classes[allocatortest.Fits], s.asked)
	}
	if s.changed*8 < s.asked {
		return fmt.Sprintf("%d of %d answers differ from those before the step", s.changed, s.asked)
	}
	if s.reused*4 < s.searches {
		return fmt.Sprintf("%d answers of earlier pods beside %d searches", s.reused, s.searches)
	}
	return ""
}
