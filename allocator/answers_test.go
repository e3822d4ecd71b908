package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// cluster is a scenario with what is held beside it.
type cluster struct {
	*allocatortest.Scenario
	holdings *allocator.Holdings
	pods     int // that asked
}

// newCluster has some nodes with two GPUs each, and a claim for one.
func newCluster(nodes int) *cluster {
	s := newScenario(0, newClaim("train", wants("gpu", 1)))
	s.Nodes, s.Slices = nil, nil
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		s.Nodes = append(s.Nodes, newNode(name))
		s.Slices = append(s.Slices, newSlice(name, name, newGPUs(2)...))
	}
	s.Stamp()
	return &cluster{Scenario: s, holdings: allocator.NewHoldings(true)}
}

// pod asks about all nodes with claims of its own, as one that was made from the same
// template would, and compares each answer with one that nothing was learnt for. It
// returns how many nodes were searched.
func (c *cluster) pod(t *testing.T, inv *allocator.Inventory) int64 {
	t.Helper()
	held := c.holdings.Held()
	a, err := inv.NewAllocatorHeld(t.Context(), c.Features, held, c.ClassLister(), c.Slices, celCaches.For(c.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := allocator.NewInventory().NewAllocator(t.Context(), c.Features, held.State(), c.ClassLister(), c.Slices, celCaches.For(c.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	var claims []*resourceapi.ResourceClaim
	c.pods++
	for _, claim := range c.Claims {
		claim = claim.DeepCopy()
		claim.Name, claim.UID = fmt.Sprintf("%s-of-pod-%d", claim.Name, c.pods), "another"
		claims = append(claims, claim)
	}
	for _, node := range c.Nodes {
		want := allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			return fresh.Allocate(t.Context(), node, claims)
		})
		got := allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			found, err := a.Find(t.Context(), node, claims)
			if err != nil || found == nil {
				return nil, err
			}
			return found.Results(t.Context())
		})
		if diff := allocatortest.Diff(want, got); diff != "" {
			t.Errorf("node %s: %s", node.Name, diff)
		}
		if want.Class == allocatortest.DoesNotFit {
			want, _, _ := fresh.Why(t.Context(), node, claims)
			if got, ok, err := a.Why(t.Context(), node, claims); got != want || !ok || err != nil {
				t.Errorf("node %s: why not is %q, %v, %v, want %q", node.Name, got, ok, err, want)
			}
		}
	}
	return a.Stats().Searches
}

// TestASecondPodSearchesOnlyWhatChanged: whatever an answer depends on makes another
// search necessary when it changes, on the nodes that it concerns and on no others.
func TestASecondPodSearchesOnlyWhatChanged(t *testing.T) {
	const nodes = 5
	exactly := func(c *cluster) *resourceapi.ExactDeviceRequest { return c.Claims[0].Spec.Devices.Requests[0].Exactly }
	for _, test := range []struct {
		name   string
		change func(c *cluster)
		want   int64
	}{
		{"nothing", func(*cluster) {}, 0},
		{"a device is allocated", func(c *cluster) { c.holdings.Hold(device0("node-1")) }, 1},
		{"a device is allocated and released", func(c *cluster) {
			c.holdings.Hold(device0("node-1"))
			c.holdings.Release(device0("node-1"))
		}, 0},
		{"what is held is held once more", func(c *cluster) { c.holdings.Hold(device0("node-0")) }, 0},
		{"a device is allocated that nobody has", func(c *cluster) { c.holdings.Hold(device0("node-gone")) }, 0},
		{"a slice has other devices", func(c *cluster) {
			c.Slices[2] = c.Slices[2].DeepCopy()
			c.Slices[2].ResourceVersion = "100"
			c.Slices[2].Spec.Devices = newGPUs(1)
		}, 1},
		{"a slice is a fresh copy", func(c *cluster) { c.Slices[2] = c.Slices[2].DeepCopy() }, 0},
		{"a slice has a taint", func(c *cluster) {
			c.Slices[2] = c.Slices[2].DeepCopy()
			c.Slices[2].Spec.Devices[0].Taints = []resourceapi.DeviceTaint{{Key: "x", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
		}, 1},
		{"a slice goes", func(c *cluster) { c.Slices = c.Slices[1:] }, 1},
		{"a node declares a feature", func(c *cluster) {
			c.Nodes[3] = c.Nodes[3].DeepCopy()
			c.Nodes[3].Status.DeclaredFeatures = []string{"DRAOptionalNodeOperations"}
		}, 1},
		{"a node has another label that no slice looks at", func(c *cluster) {
			c.Nodes[3] = c.Nodes[3].DeepCopy()
			c.Nodes[3].Labels["x"] = "y"
		}, 0},
		{"a node is there that was not", func(c *cluster) { c.Nodes = append(c.Nodes, newNode("node-new")) }, 1},
		{"the claim wants two", func(c *cluster) { exactly(c).Count = 2 }, nodes},
		{"the claim has another selector", func(c *cluster) { exactly(c).Selectors = celSelectors([]string{"false"}) }, nodes},
		{"the claim tolerates taints", func(c *cluster) {
			exactly(c).Tolerations = []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}}
		}, nodes},
		{"the claim has a constraint", func(c *cluster) { c.Claims[0].Spec.Devices.Constraints = matching(driver + "/model") }, nodes},
		{"there is a second claim", func(c *cluster) { c.Claims = append(c.Claims, newClaim("more", wants("gpu", 1))) }, nodes},
		{"the class has another selector", func(c *cluster) { c.Classes[0] = newClass(driver, "false") }, nodes},
		{"the class is a fresh copy", func(c *cluster) { c.Classes[0] = c.Classes[0].DeepCopy() }, 0},
		{"a feature is off", func(c *cluster) { c.Features.AdminAccess = false }, nodes},
	} {
		t.Run(test.name, func(t *testing.T) {
			inv, c := allocator.NewInventory(), newCluster(nodes)
			c.holdings.Hold(device0("node-0"))
			if got := c.pod(t, inv); got != nodes {
				t.Fatalf("the first pod searched %d nodes, want %d", got, nodes)
			}
			if got := c.pod(t, inv); got != 0 {
				t.Fatalf("the second pod searched %d nodes, want none", got)
			}
			test.change(c)
			if got := c.pod(t, inv); got != test.want {
				t.Errorf("after the change %d nodes were searched, want %d", got, test.want)
			}
			if got := c.pod(t, inv); got != 0 {
				t.Errorf("after that %d nodes were searched, want none", got)
			}
		})
	}
}

func device0(pool string) []resourceapi.DeviceRequestAllocationResult {
	return []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: pool, Device: "gpu-0"}}
}

// Whether shares of a device matter depends on the feature, and what was worked out
// under one setting is not taken for the other.
func TestASharedDeviceIsNobodysWhileSharingIsOff(t *testing.T) {
	inv, c := allocator.NewInventory(), newCluster(1)
	for i := range c.Slices[0].Spec.Devices {
		c.Slices[0].Spec.Devices[i].AllowMultipleAllocations = ptr.To(true)
	}
	share := device0("node-0")
	share[0].ShareID = ptr.To(types.UID("share"))
	c.holdings.Hold(share)
	for range 2 {
		c.Features.ConsumableCapacity = true
		c.pod(t, inv)
		c.Features.ConsumableCapacity = false
		c.pod(t, inv)
	}
}

// Errors and searches that were given up are not answers.
func TestErrorsAreNotShared(t *testing.T) {
	inv, c := allocator.NewInventory(), newCluster(3)
	c.Claims[0] = newClaim("train", wants("gpu", 1, `device.attributes["gpu.example.com"].missing == 1`))
	for range 3 {
		if got := c.pod(t, inv); got != 3 {
			t.Errorf("%d nodes were searched, want all", got)
		}
	}
	c.Claims[0] = newClaim("train", wants("gpu", 1))
	a, err := inv.NewAllocatorHeld(t.Context(), c.Features, c.holdings.Held(), c.ClassLister(), c.Slices, celCaches.For(c.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if _, err := a.Allocate(ended, c.Nodes[0], c.Claims); err == nil {
			t.Error("a search whose context has ended has an answer")
		}
	}
	if got := c.pod(t, inv); got != 3 {
		t.Errorf("%d nodes were searched, want all", got)
	}
	if _, known, _ := a.Known(ended, c.Nodes[0], c.Claims); known {
		t.Error("an answer is known although the context has ended")
	}
}

// A class that changes between Find and Results makes the results be searched anew.
func TestResultsFollowAClassThatChanged(t *testing.T) {
	inv, c := allocator.NewInventory(), newCluster(1)
	c.pod(t, inv)
	classes := &changingClasses{class: c.Classes[0]}
	a, err := inv.NewAllocatorHeld(t.Context(), c.Features, c.holdings.Held(), classes, c.Slices, celCaches.For(c.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	known, ok, err := a.Known(t.Context(), c.Nodes[0], c.Claims)
	if !ok || !known.Fits || err != nil {
		t.Fatalf("the answer of the first pod is not known: %v, %v, %v", known, ok, err)
	}
	found, err := a.Find(t.Context(), c.Nodes[0], c.Claims)
	if err != nil {
		t.Fatal(err)
	}
	results, err := found.Results(t.Context())
	if err != nil || fmt.Sprint(devicesOf(results)) != "[[gpu=gpu-0]]" {
		t.Errorf("the results are %v, %v", devicesOf(results), err)
	}
	again, err := found.Results(t.Context())
	if err != nil || &again[0] != &results[0] {
		t.Errorf("the results are not the same the second time: %v", err)
	}
}

type changingClasses struct{ class *resourceapi.DeviceClass }

func (c *changingClasses) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }
func (c *changingClasses) Get(string) (*resourceapi.DeviceClass, error) {
	return c.class, nil
}

// TestAVerdictNamesTheRequestsThatWereAskedFor: claims that pose the same problem and
// differ in names are told about their own.
func TestAVerdictNamesTheRequestsThatWereAskedFor(t *testing.T) {
	c := newCluster(1)
	c.Slices[0].Spec.Devices = newGPUs(4)
	for i := range c.Slices[0].Spec.Devices {
		c.Slices[0].Spec.Devices[i].Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"board": {StringValue: ptr.To(fmt.Sprint(i))}, "slot": {StringValue: ptr.To(fmt.Sprint(i))},
		}
	}
	a, err := allocator.NewInventory().NewAllocator(t.Context(), c.Features, schedulerapi.AllocatedState{}, c.ClassLister(), c.Slices, celCaches.For(c.Scenario))
	if err != nil {
		t.Fatal(err)
	}
	why := func(claims ...*resourceapi.ResourceClaim) string {
		verdict, ok, err := a.Why(t.Context(), c.Nodes[0], claims)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return verdict.Reason
	}
	for _, attribute := range []resourceapi.FullyQualifiedName{driver + "/board", driver + "/slot"} {
		claim := newClaim("train", wants("one", 1), wants("two", 1))
		claim.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: &attribute}}
		if reason := why(claim); !strings.Contains(reason, string(attribute)) {
			t.Errorf("claims under a constraint on %s are told %q", attribute, reason)
		}
	}
	// The first claim takes three GPUs of four, and the second wants two.
	for _, names := range [][2]string{{"train", "gpu"}, {"train", "accelerator"}, {"serve", "gpu"}} {
		claim := newClaim(names[0], wants(names[1], 2))
		reason := why(newClaim("a", wants("x", 3)), claim)
		if !strings.HasPrefix(reason, "claim "+names[0]+", request "+names[1]+": ") {
			t.Errorf("request %s of claim %s is told %q", names[1], names[0], reason)
		}
	}
}

// However many questions there are, a bounded number of answers is kept.
func TestQuestionsAreForgotten(t *testing.T) {
	inv, c := allocator.NewInventory(), newCluster(2)
	ask := func(count int64) int64 {
		c.Claims[0].Spec.Devices.Requests[0].Name = fmt.Sprintf("request-%d", count)
		return c.pod(t, inv)
	}
	for i := range int64(100) {
		ask(i)
	}
	if got := ask(99); got != 0 {
		t.Errorf("the latest question needs %d searches", got)
	}
	if got := ask(0); got != 2 {
		t.Errorf("the oldest question needs %d searches, want 2: nothing is forgotten", got)
	}
}

// A large pool is held in parts, and each change is one of few devices.
func TestHoldingsAreTheSumOfWhatIsHeld(t *testing.T) {
	holdings, want := allocator.NewHoldings(true), map[string]bool{}
	var earlier []allocator.Held
	var earlierWant []map[string]bool
	one := func(i int) []resourceapi.DeviceRequestAllocationResult {
		return []resourceapi.DeviceRequestAllocationResult{{Driver: driver, Pool: "large", Device: fmt.Sprintf("device-%d", i)}}
	}
	for i := range 3000 {
		device := (i * 7919) % 1000
		name := fmt.Sprintf("device-%d", device)
		if want[name] {
			holdings.Release(one(device))
			delete(want, name)
		} else {
			holdings.Hold(one(device))
			want[name] = true
		}
		if i%250 == 0 {
			copied := map[string]bool{}
			for name := range want {
				copied[name] = true
			}
			earlier, earlierWant = append(earlier, holdings.Held()), append(earlierWant, copied)
		}
	}
	for i, held := range earlier {
		var got, want []string
		for id := range held.State().AllocatedDevices {
			got = append(got, id.Device.String())
		}
		for name := range earlierWant[i] {
			want = append(want, name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("snapshot %d has %d devices, want %d", i, len(got), len(want))
		}
	}
	if n := holdings.Holders(schedulerapi.MakeDeviceID(driver, "large", "device-never")); n != 0 {
		t.Errorf("a device that is free has %d holders", n)
	}
}
