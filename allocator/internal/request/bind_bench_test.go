package request

import (
	"context"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
)

// One pod on one node whose slices are known: half of its devices are of the
// right model, the selectors have been asked before.
func BenchmarkBindAndRun(b *testing.B) {
	for _, devices := range []int{8, 128} {
		for _, want := range []int64{1, 4} {
			for _, constraint := range []bool{false, true} {
				b.Run(fmt.Sprintf("devices=%d/count=%d/match=%v", devices, want, constraint), func(b *testing.B) {
					benchmarkBindAndRun(b, devices, want, constraint)
				})
			}
		}
	}
}

func benchmarkBindAndRun(b *testing.B, n int, want int64, constraint bool) {
	s := on()
	var list []resourceapi.Device
	for i := range n {
		list = append(list, device(fmt.Sprintf("gpu-%d", i), model([]string{"a", "b"}[i%2])))
	}
	s.slices = []*resourceapi.ResourceSlice{slice("p", list...)}
	api := claim("c", exactly("r", count(want), that(isA)))
	if constraint {
		api.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{match("driver/model")}
	}
	ctx := context.Background()
	target := s.mustBind(b, api).Target
	compiled, err := Compile(s.features, s.classes, []*resourceapi.ResourceClaim{api})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		target.Usage = inventory.NewUsage(s.state) // each pod has its own
		bound, err := Bind(ctx, compiled, target)
		if err != nil {
			b.Fatal(err)
		}
		outcome := search.Run(ctx, &bound.Problem)
		if outcome.Solution == nil || int64(len(outcome.Solution.Picks[0])) != want || outcome.Steps != want+3 {
			b.Fatalf("the outcome is %+v", outcome)
		}
	}
}
