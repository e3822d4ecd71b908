package chaos

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func newJournal(t *testing.T) *journal {
	t.Helper()
	j, err := openJournal(filepath.Join(t.TempDir(), "chaos.log"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.close)
	return j
}

// version is one version of a claim: "uid: devices", with a minus before the uid if
// it is its deletion.
func version(t *testing.T, number int, text string) (claim *resourceapi.ResourceClaim, deleted bool) {
	t.Helper()
	uid, devices, ok := strings.Cut(text, ":")
	if !ok {
		t.Fatalf("no colon in %q", text)
	}
	uid, deleted = strings.TrimPrefix(uid, "-"), strings.HasPrefix(uid, "-")
	claim = &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid), ResourceVersion: fmt.Sprint(number)}}
	if names := strings.Fields(devices); len(names) > 0 {
		claim.Status.Allocation = &resourceapi.AllocationResult{}
		for _, name := range names {
			result := resourceapi.DeviceRequestAllocationResult{Driver: gpuDriver, Pool: "node", Device: name}
			if strings.HasPrefix(name, "part-") {
				result.Driver = partDriver
			} else if units, ok := strings.CutPrefix(name, "nic="); ok {
				result.Driver, result.Device, result.ShareID = nicDriver, "nic", ptr.To(types.UID(uid))
				result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{bandwidth: resource.MustParse(units)}
			}
			claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, result)
		}
	}
	return claim, deleted
}

func TestTheWitnessSeesEveryDeviceThatIsGivenOutTwice(t *testing.T) {
	for name, test := range map[string]struct {
		versions []string
		twice    int
		changed  int
		held     int
	}{
		"one after the other":                {[]string{"a: x", "a:", "b: x"}, 0, 0, 1},
		"the first claim is deleted":         {[]string{"a: x", "-a: x", "b: x"}, 0, 0, 1},
		"side by side":                       {[]string{"a: x", "b: y"}, 0, 0, 2},
		"the same device":                    {[]string{"a: x", "b: x"}, 1, 0, 2},
		"one of several":                     {[]string{"a: x y", "b: z y"}, 1, 0, 2},
		"for a moment only":                  {[]string{"a: x", "b: x", "b:", "a:"}, 1, 0, 0},
		"twice by one claim":                 {[]string{"a: x x"}, 1, 0, 1},
		"another version of the same":        {[]string{"a: x", "a: x"}, 0, 0, 1},
		"other devices without giving back":  {[]string{"a: x", "a: y"}, 0, 1, 1},
		"and then the old one is free again": {[]string{"a: x", "a: y", "b: x"}, 0, 1, 2},
		"partitions that fit together":       {[]string{"a: part-4-0", "b: part-2-2 part-2-3"}, 0, 0, 2},
		"partitions that overlap":            {[]string{"a: part-4-0", "b: part-8-0"}, 1, 0, 2},
		"a partition after another":          {[]string{"a: part-4-0", "a:", "b: part-8-0"}, 0, 0, 1},
		"shares that fit":                    {[]string{"a: nic=4", "b: nic=6"}, 0, 0, 2},
		"shares that do not":                 {[]string{"a: nic=4", "b: nic=7"}, 1, 0, 2},
		"a share of a claim that is gone":    {[]string{"a: nic=4", "-a: nic=4", "b: nic=7"}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{journal: newJournal(t), claims: map[types.UID]*seen{}, owner: map[device]types.UID{}, drawn: map[amount]int64{}, twice: map[string]bool{}}
			w.advanced = sync.NewCond(&w.mu)
			for i, text := range test.versions {
				w.see(version(t, i, text))
			}
			twice, changed := w.wrong()
			if held := w.held(); len(twice) != test.twice || len(changed) != test.changed || len(held) != test.held {
				t.Errorf("twice %v, changed %v, held %v", twice, changed, held)
			}
		})
	}
}
