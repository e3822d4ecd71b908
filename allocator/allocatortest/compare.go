package allocatortest

import (
	"fmt"
	"reflect"
	"regexp"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// asAnswered compares what ends up in the claim's status. There "1" and "1000m"
// are told apart, but not an empty list from none.
var asAnswered = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b resource.Quantity) bool {
	return a.Cmp(b) == 0 && a.String() == b.String() && a.Format == b.Format
})}

// Diff describes how two outcomes differ, or is empty. Classes, error texts
// and everything in the results count; share IDs are random and only have to
// be there in the same places and be distinct.
func Diff(want, got Outcome) string {
	switch {
	case want.Class != got.Class:
		return fmt.Sprintf("want %s, got %s\n%s", want, got, cmp.Diff(numberShares(want.Results), numberShares(got.Results), asAnswered))
	case !SameText(want.Text, got.Text):
		return fmt.Sprintf("error texts differ\nwant %s\n got %s", want.Text, got.Text)
	}
	wantResults, gotResults := numberShares(want.Results), numberShares(got.Results)
	// What is deeply equal is equal; mostly it is, and that is seen much faster.
	if reflect.DeepEqual(wantResults, gotResults) || cmp.Equal(wantResults, gotResults, asAnswered) {
		return ""
	}
	return "results differ (-want +got)\n" + cmp.Diff(wantResults, gotResults, asAnswered)
}

// address is what upstream prints of an attribute's value when it describes a
// device in an error.
var address = regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`)

// SameText compares error texts, except for addresses in memory.
func SameText(a, b string) bool {
	return a == b || address.ReplaceAllString(a, "0x") == address.ReplaceAllString(b, "0x")
}

func (o Outcome) String() string {
	if o.Text != "" {
		return fmt.Sprintf("%s: %s", o.Class, o.Text)
	}
	return o.Class.String()
}

// numberShares returns the results with share IDs replaced by the number of
// their first occurrence, so that one ID used twice does not equal two.
func numberShares(results []resourceapi.AllocationResult) []resourceapi.AllocationResult {
	if results == nil {
		return nil
	}
	numbers := make(map[types.UID]int)
	numbered := make([]resourceapi.AllocationResult, len(results))
	for i := range results {
		numbered[i] = results[i]
		devices := results[i].Devices.Results
		if devices == nil {
			continue
		}
		numbered[i].Devices.Results = make([]resourceapi.DeviceRequestAllocationResult, len(devices))
		for j := range devices {
			numbered[i].Devices.Results[j] = devices[j]
			if id := devices[j].ShareID; id != nil {
				number, known := numbers[*id]
				if !known {
					number = len(numbers)
					numbers[*id] = number
				}
				numbered[i].Devices.Results[j].ShareID = ptr.To(types.UID(fmt.Sprintf("share-%d", number)))
			}
		}
	}
	return numbered
}
