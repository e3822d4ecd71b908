package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// history is a cluster and what happens to it. Running one has no randomness
// of its own, apart from the order in which goroutines run.
type history struct {
	seed  uint64
	start *allocatortest.Scenario
	steps []step
}

// step is a change of a kind, and how the answers are asked for afterwards. All
// choices within the kind follow from the seed and the world, so that steps
// can be taken out of a history and the rest still means something.
type step struct {
	kind int // index in kinds
	seed uint64
	mode mode
}

// mode is who asks the inventory after a step.
type mode int

const (
	alone       mode = iota // one caller, with the present list
	interleaved             // a caller with an earlier list goes first
	concurrent              // several callers, with present and earlier lists
	numModes
)

func (m mode) String() string {
	return [numModes]string{"", ", after a caller with an earlier list", ", several callers at once"}[m]
}

func newHistory(seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 0))
	h := &history{seed: seed, start: scenario(seed)}
	for range 8 + r.IntN(16) {
		s := step{kind: drawKind(r), seed: r.Uint64()}
		switch r.IntN(6) {
		case 0:
			s.mode = concurrent
		case 1:
			s.mode = interleaved
		}
		h.steps = append(h.steps, s)
	}
	return h
}

// text describes the start and the steps that were taken.
func (h *history) text(taken []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "start: %#v\n", h.start)
	fmt.Fprintf(&b, "  features %+v\n", h.start.Features)
	for _, node := range h.start.Nodes {
		fmt.Fprintf(&b, "  node %s %v %v\n", node.Name, node.Labels, node.Status.DeclaredFeatures)
	}
	for _, slice := range h.start.Slices {
		fmt.Fprintf(&b, "  slice %s\n", sliceText(slice))
	}
	for i, line := range taken {
		fmt.Fprintf(&b, "step %d: %s%s\n", i+1, line, h.steps[i].mode)
	}
	return b.String()
}

func sliceText(slice *resourceapi.ResourceSlice) string {
	spec := &slice.Spec
	where := "by device"
	switch {
	case spec.NodeName != nil:
		where = "node " + *spec.NodeName
	case spec.AllNodes != nil:
		where = "all nodes"
	case spec.NodeSelector != nil:
		where = "selected nodes"
	}
	names := make([]string, len(spec.Devices))
	for i := range spec.Devices {
		names[i] = spec.Devices[i].Name
	}
	return fmt.Sprintf("%s: %s/%s generation %d, one of %d, %s: devices %q, %d counter sets",
		slice.Name, spec.Driver, spec.Pool.Name, spec.Pool.Generation, spec.Pool.ResourceSliceCount, where, names, len(spec.SharedCounters))
}
