package difftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// mutant is upstream with a mistake, or without one if nil. A mistake works on
// the answer and says how many steps too many it took.
type mutant struct {
	mistake func(*allocatortest.Scenario, *allocatortest.Outcome) (steps int64)
}

func (m mutant) prepare(_ context.Context, s *allocatortest.Scenario, _ schedulerapi.AllocatedState) answerer {
	return func(ctx context.Context, node *corev1.Node) (allocatortest.Outcome, int64) {
		outcome, steps := askUpstream(ctx, experimental, s, node)
		if m.mistake != nil {
			steps += m.mistake(s, &outcome)
		}
		return outcome, steps
	}
}

// TestFindsNothingInUpstream: upstream does not differ from itself.
func TestFindsNothingInUpstream(t *testing.T) {
	r := newRun(&checker{newSubject: func() subject { return mutant{} }, onlyPlain: true}, defaultCases(), t.Errorf)
	r.start()
	if r.differences > 0 {
		t.Errorf("%d differences between upstream and itself", r.differences)
	}
}

// eachResult calls for every device in the results.
func eachResult(o *allocatortest.Outcome, f func(*resourceapi.DeviceRequestAllocationResult)) int64 {
	for i := range o.Results {
		for j := range o.Results[i].Devices.Results {
			f(&o.Results[i].Devices.Results[j])
		}
	}
	return 0
}

// mistakes are small ones, each in a corner of its own.
var mistakes = map[string]func(*allocatortest.Scenario, *allocatortest.Outcome) int64{
	"drops tolerations": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		return eachResult(o, func(r *resourceapi.DeviceRequestAllocationResult) { r.Tolerations = nil })
	},
	"swaps devices": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		for _, result := range o.Results {
			if d := result.Devices.Results; len(d) > 1 {
				d[0].Device, d[1].Device = d[1].Device, d[0].Device
			}
		}
		return 0
	},
	"writes a quantity in another way": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		return eachResult(o, func(r *resourceapi.DeviceRequestAllocationResult) {
			for name, q := range r.ConsumedCapacity {
				r.ConsumedCapacity[name] = *resource.NewQuantity(q.Value(), resource.DecimalExponent)
			}
		})
	},
	"uses one share ID twice": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		return eachResult(o, func(r *resourceapi.DeviceRequestAllocationResult) {
			if r.ShareID != nil {
				*r.ShareID = "again"
			}
		})
	},
	"forgets binding failure conditions": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		return eachResult(o, func(r *resourceapi.DeviceRequestAllocationResult) { r.BindingFailureConditions = nil })
	},
	"forgets skipped operations": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		return eachResult(o, func(r *resourceapi.DeviceRequestAllocationResult) { r.SkipNodeOperations = nil })
	},
	"keeps requests of configuration for all": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		for i := range o.Results {
			for j := range o.Results[i].Devices.Config {
				if c := &o.Results[i].Devices.Config[j]; c.Requests == nil && c.Source == resourceapi.AllocationConfigSourceClass {
					c.Requests = []string{"r0"}
				}
			}
		}
		return 0
	},
	"forgets the node selector of a zone": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		for i := range o.Results {
			if s := o.Results[i].NodeSelector; s != nil && len(s.NodeSelectorTerms[0].MatchExpressions) > 0 {
				o.Results[i].NodeSelector = nil
			}
		}
		return 0
	},
	"makes an error one of the node": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		if o.Class == allocatortest.Failed {
			o.Class = allocatortest.FailedOnNode
		}
		return 0
	},
	"names no invalid pools": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		if o.Class == allocatortest.FailedOnNode {
			*o = allocatortest.Outcome{Class: allocatortest.DoesNotFit}
		}
		return 0
	},
	"words an error in another way": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		if o.Text != "" {
			o.Text += "."
		}
		return 0
	},
	"takes one step more": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		if o.Class == allocatortest.Fits {
			return 1
		}
		return 0
	},
	"modifies a slice": func(s *allocatortest.Scenario, _ *allocatortest.Outcome) int64 {
		if len(s.Slices) > 0 {
			s.Slices[0].Spec.Pool.ResourceSliceCount++
		}
		return 0
	},
	"panics": func(_ *allocatortest.Scenario, o *allocatortest.Outcome) int64 {
		*o = allocatortest.Outcome{Class: allocatortest.Panicked, Text: "index out of range"}
		return 0
	},
}

// TestFindsMistakes: a mistake of the subject is found, shrunk to a few
// objects and written as a case that tells the mistaken from the right.
func TestFindsMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("tests the test, and takes its time")
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := &checker{newSubject: func() subject { return mutant{mistake} }, onlyPlain: true}
			var reports []string
			r := newRun(wrong, 4000, func(format string, args ...any) { reports = append(reports, fmt.Sprintf(format, args...)) })
			r.folder = t.TempDir()
			for r.differences == 0 && !r.finished() {
				r.block(r.seed, newTally())
				r.seed += blockSize
			}
			if r.differences == 0 || len(reports) == 0 {
				t.Fatalf("not found in %d cases", r.done.Load())
			}
			folders, err := filepath.Glob(filepath.Join(r.folder, "*"))
			if err != nil || len(folders) == 0 {
				t.Fatalf("no case folder was written: %v\n%s", err, reports[0])
			}
			s, expected, err := allocatortest.ReadCase(folders[0])
			if err != nil {
				t.Fatalf("read the case: %v", err)
			}
			if name != "modifies a slice" {
				if lost := differing(wrong, s, expected); len(lost) == 0 {
					t.Errorf("the mistake does not show in the case that was written")
				}
			}
			right := &checker{newSubject: func() subject { return mutant{} }}
			if wrongly := differing(right, s, expected); len(wrongly) > 0 {
				t.Errorf("the case is not answered as expected without the mistake: %s", wrongly)
			}
			if objects := len(s.Nodes) + len(s.Slices) + len(s.Classes) + len(s.Claims) + len(s.Allocated); objects > 6 {
				text, _ := os.ReadFile(filepath.Join(folders[0], "input.yaml"))
				t.Errorf("not shrunk, %d objects are left:\n%s", objects, text)
			}
		})
	}
}
