package family_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dray-dev/dray/bench/family"
)

func TestACaseIsTheSameEachTime(t *testing.T) {
	for _, f := range family.All() {
		for _, size := range append(f.Test[:len(f.Test):len(f.Test)], f.Gate) {
			first, second := f.Case(size), f.Case(size)
			if difference := cmp.Diff(first.Scenario, second.Scenario); difference != "" {
				t.Errorf("%s built twice (-first +second)\n%s", first.Name(), difference)
			}
			if first.Steps != second.Steps {
				t.Errorf("%s has %d steps, then %d", first.Name(), first.Steps, second.Steps)
			}
		}
	}
}

func TestFamiliesAreNamedOnceAndTimed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range family.All() {
		if seen[f.Name] {
			t.Errorf("two families are named %s", f.Name)
		}
		seen[f.Name] = true
		if len(f.Test) == 0 || len(f.Gate) == 0 || len(f.Bench) == 0 {
			t.Errorf("family %s lacks sizes: %d to test, gate %q, %d to time", f.Name, len(f.Test), f.Gate, len(f.Bench))
		}
		if family.Named(f.Name) == nil {
			t.Errorf("family %s is not found by its name", f.Name)
		}
	}
}

// What API validation would refuse is no input that anybody has.
func TestCasesStayWithinTheLimitsOfTheAPI(t *testing.T) {
	const maxDevices, maxAdvanced, maxSets, maxCount = 128, 64, 8, 32
	for _, f := range family.All() {
		for _, size := range append(f.Bench[:len(f.Bench):len(f.Bench)], f.Gate) {
			if f.Op == family.Change || f.Name == "P8" {
				continue // These are large and made of the same parts.
			}
			c := f.Case(size)
			for _, slice := range c.Scenario.Slices {
				limit := maxDevices
				if len(slice.Spec.Devices) > 0 && slice.Spec.Devices[0].ConsumesCounters != nil {
					limit = maxAdvanced
				}
				if len(slice.Spec.Devices) > limit || len(slice.Spec.SharedCounters) > maxSets {
					t.Errorf("%s: slice %s has %d devices and %d counter sets", c.Name(), slice.Name, len(slice.Spec.Devices), len(slice.Spec.SharedCounters))
				}
			}
			for _, claim := range c.Scenario.Claims {
				total := int64(0)
				for _, request := range claim.Spec.Devices.Requests {
					if request.Exactly != nil {
						total += request.Exactly.Count
					}
				}
				if total > maxCount || len(claim.Spec.Devices.Requests) > maxCount {
					t.Errorf("%s: claim %s asks for %d devices in %d requests", c.Name(), claim.Name, total, len(claim.Spec.Devices.Requests))
				}
			}
		}
	}
}
