package allocatortest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func fitting(results ...resourceapi.DeviceRequestAllocationResult) Outcome {
	return Outcome{Class: Fits, Results: []resourceapi.AllocationResult{{Devices: resourceapi.DeviceAllocationResult{Results: results}}}}
}

func share(id string) resourceapi.DeviceRequestAllocationResult {
	return resourceapi.DeviceRequestAllocationResult{Device: "dev-0", ShareID: ptr.To(types.UID(id))}
}

func consuming(quantity resource.Quantity) resourceapi.DeviceRequestAllocationResult {
	return resourceapi.DeviceRequestAllocationResult{ConsumedCapacity: map[resourceapi.QualifiedName]resource.Quantity{"memory": quantity}}
}

func TestDiff(t *testing.T) {
	whole := resourceapi.DeviceRequestAllocationResult{Device: "dev-0"}
	for name, test := range map[string]struct {
		want, got Outcome
		same      bool
	}{
		"equal":                    {fitting(whole), fitting(whole), true},
		"other share IDs":          {fitting(share("a"), share("b")), fitting(share("c"), share("d")), true},
		"one share ID twice":       {fitting(share("a"), share("b")), fitting(share("c"), share("c")), false},
		"no share ID":              {fitting(share("a")), fitting(whole), false},
		"empty list":               {fitting(), Outcome{Class: Fits, Results: []resourceapi.AllocationResult{{}}}, true},
		"no results":               {fitting(), Outcome{Class: Fits}, false},
		"class":                    {Outcome{Class: Failed, Text: "x"}, Outcome{Class: FailedOnNode, Text: "x"}, false},
		"text":                     {Outcome{Class: Failed, Text: "x"}, Outcome{Class: Failed, Text: "y"}, false},
		"address in text":          {Outcome{Class: Failed, Text: "{0x2cedb7cf5510}"}, Outcome{Class: Failed, Text: "{0x2cedb7cf4ff0}"}, true},
		"same quantity":            {fitting(consuming(resource.MustParse("1"))), fitting(consuming(*resource.NewQuantity(1, resource.DecimalSI))), true},
		"other format of quantity": {fitting(consuming(resource.MustParse("1Ki"))), fitting(consuming(*resource.NewQuantity(1024, resource.DecimalSI))), false},
	} {
		if diff := Diff(test.want, test.got); (diff == "") != test.same {
			t.Errorf("%s: %q", name, diff)
		}
	}
}

func TestObserve(t *testing.T) {
	here := errors.New("")
	for name, test := range map[string]struct {
		results []resourceapi.AllocationResult
		err     error
		want    Class
	}{
		"fits":           {[]resourceapi.AllocationResult{}, nil, Fits},
		"does not fit":   {nil, nil, DoesNotFit},
		"failed on node": {nil, fmt.Errorf("invalid pools%w", here), FailedOnNode},
		"failed":         {nil, errors.New("no such key"), Failed},
		"gave up":        {nil, fmt.Errorf("aborted: %w", context.DeadlineExceeded), GaveUp},
	} {
		got := Observe(here, func() ([]resourceapi.AllocationResult, error) { return test.results, test.err })
		if got.Class != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Observe(here, func() ([]resourceapi.AllocationResult, error) { panic("out of range") }); got.Class != Panicked {
		t.Errorf("panic: %s", got)
	}
}
