package inventory

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// A pool of devices on three nodes that draw from counters which belong to all.
func poolOverNodes() []*resourceapi.ResourceSlice {
	list := []*resourceapi.ResourceSlice{newSlice("counters", pool("p", 4), counters("card", "memory", "10", "slices", "7"))}
	for i := range 3 {
		node := fmt.Sprintf("n%d", i)
		list = append(list, newSlice(node, pool("p", 4), onNode(node),
			with(node+"-a", draws("card", "memory", "2")), with(node+"-b", draws("card", "memory", "3", "slices", "1")), with(node+"-c")))
	}
	return list
}

func allocated(names ...string) schedulerapi.AllocatedState {
	state := schedulerapi.AllocatedState{AllocatedDevices: sets.New[schedulerapi.DeviceID]()}
	for _, name := range names {
		state.AllocatedDevices.Insert(schedulerapi.MakeDeviceID("driver", "p", name))
	}
	return state
}

func TestAPoolOverManyNodesHasItsMembersOnce(t *testing.T) {
	snapshot := snapshotOf(t, New(), poolOverNodes()...)
	var pools []*Pool
	for i := range 3 {
		pools = append(pools, view(t, snapshot, newNodeObject(fmt.Sprintf("n%d", i)), all).Pools[0])
	}
	for i, p := range pools {
		if p.members == nil || p.members != pools[0].members {
			t.Fatalf("the part of n%d has members %p, that of n0 %p", i, p.members, pools[0].members)
		}
		if p.Devices != 3 || p.members.Members != 9 {
			t.Errorf("n%d sees %d devices of %d members, want 3 of 9", i, p.Devices, p.members.Members)
		}
		for device, member := range p.MemberOf {
			if want := 3*i + device; member != want {
				t.Errorf("device %s is member %d, want %d", p.At(device).Name, member, want)
			}
		}
	}
}

// A node that reaches as many slices as the pool has counts those alone.
func TestACompletePartCountsItself(t *testing.T) {
	snapshot := snapshotOf(t, New(),
		newSlice("s1", pool("p", 2), counters("card", "memory", "4")),
		newSlice("s2", pool("p", 2), onNode("n"), with("a", draws("card", "memory", "1"))),
		newSlice("s3", pool("p", 2), onNode("m"), with("b", draws("card", "memory", "1"))))
	p := view(t, snapshot, newNodeObject("n"), all).Pools[0]
	if p.members.Members != 1 || p.MemberOf[0] != 0 {
		t.Errorf("n counts %d members, device a is %d; want a alone", p.members.Members, p.MemberOf[0])
	}
}

// A device that draws less than nothing refunds; one that draws nothing does not.
func TestRefunds(t *testing.T) {
	for amount, want := range map[string]bool{"1": false, "0": false, "-1": true} {
		p := see(t, "n", newSlice("s1", pool("p", 2), counters("card", "memory", "4")),
			newSlice("s2", pool("p", 2), with("a", draws("card", "memory", "1")), with("b", draws("card", "memory", amount)))).Pools[0]
		if p.Counters.Refunds != want {
			t.Errorf("a device that draws %s refunds: %v, want %v", amount, p.Counters.Refunds, want)
		}
	}
}

// Allocations on one node leave less for the others.
func TestUsageOfCounters(t *testing.T) {
	snapshot := snapshotOf(t, New(), poolOverNodes()...)
	n0, n1 := view(t, snapshot, newNodeObject("n0"), all).Pools[0], view(t, snapshot, newNodeObject("n1"), all).Pools[0]
	for _, c := range []struct {
		name           string
		state          schedulerapi.AllocatedState
		memory, slices int64
		inUse0, inUse1 string
	}{
		{"nothing is allocated", schedulerapi.AllocatedState{}, 10, 7, "{}", "{}"},
		{"on both nodes", allocated("n0-a", "n1-b"), 5, 6, "{0}", "{1}"},
		{"a device without counters", allocated("n1-c"), 10, 7, "{}", "{2}"},
		{"a device that is not published any more draws nothing", allocated("n0-z", "n0-b"), 7, 6, "{1}", "{}"},
		{"more than there is: the driver has changed its slices", allocated("n0-a", "n0-b", "n1-a", "n1-b", "n2-b"), -3, 4, "{0 1}", "{0 1}"},
		{"a share", schedulerapi.AllocatedState{AllocatedSharedDeviceIDs: sets.New(shareOf("n0-a"))}, 8, 7, "{}", "{}"},
		{"two shares of one device are one device", schedulerapi.AllocatedState{AllocatedSharedDeviceIDs: sets.New(shareOf("n0-a"), shareOf("n0-a"))}, 8, 7, "{}", "{}"},
		{"consumed capacity, without an ID", schedulerapi.AllocatedState{AggregatedCapacity: consumed("n2-b")}, 7, 6, "{}", "{}"},
	} {
		usage := NewUsage(c.state)
		for i, p := range []*Pool{n0, n1} {
			u := usage.Pool(p)
			if got := fmt.Sprint(u.Left.Narrow); got != fmt.Sprint([]int64{c.memory * 1000, c.slices * 1000}) {
				t.Errorf("%s: n%d has %s left, want %d of memory and %d slices", c.name, i, got, c.memory, c.slices)
			}
			if want := []string{c.inUse0, c.inUse1}[i]; u.InUse.String() != want {
				t.Errorf("%s: in use on n%d are %s, want %s", c.name, i, u.InUse, want)
			}
			if usage.Pool(p) != u {
				t.Errorf("%s: the usage of n%d is worked out twice", c.name, i)
			}
		}
	}
}

var lastShare int

func shareOf(device string) schedulerapi.SharedDeviceID {
	lastShare++
	id := types.UID(fmt.Sprint(lastShare))
	return schedulerapi.MakeSharedDeviceID(schedulerapi.MakeDeviceID("driver", "p", device), &id)
}

func consumed(device string) schedulerapi.ConsumedCapacityCollection {
	c := schedulerapi.NewConsumedCapacityCollection()
	c.Insert(schedulerapi.NewDeviceConsumedCapacity(schedulerapi.MakeDeviceID("driver", "p", device),
		map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("3")}))
	return c
}

func TestUsageOfShares(t *testing.T) {
	p := see(t, "n", newSlice("s", pool("p", 1), with("a"), with("b"), with("c"), with("d"))).Pools[0]
	state := allocated("c")
	state.AllocatedSharedDeviceIDs = sets.New(shareOf("a"), shareOf("a"), shareOf("elsewhere"))
	state.AggregatedCapacity = consumed("b")
	usage := NewUsage(state)
	u := usage.Pool(p)
	if u.InUse.String() != "{2}" || u.Shared.String() != "{0 1}" {
		t.Errorf("in use are %s, shared %s; want {2} and {0 1}", u.InUse, u.Shared)
	}
	if u.Left.Len() != 0 || u.Groups != nil {
		t.Errorf("a pool without counters has %v left, groups %v", u.Left, u.Groups)
	}
	if got := usage.Consumed(p.DeviceID(1))["memory"]; got == nil || got.String() != "3" {
		t.Errorf("shares of b have consumed %v, want 3 of memory", got)
	}
	if got := usage.Consumed(p.DeviceID(0)); got != nil {
		t.Errorf("shares of a have consumed %v, want nothing recorded", got)
	}
}

// Either sign of a share is enough, an ID or what it consumes.
func TestUsageOfSharesByEitherSign(t *testing.T) {
	p := see(t, "n", newSlice("s", pool("p", 1), with("a"), with("b"))).Pools[0]
	for name, state := range map[string]schedulerapi.AllocatedState{
		"an ID":             {AllocatedSharedDeviceIDs: sets.New(shareOf("b"))},
		"consumed capacity": {AggregatedCapacity: consumed("b")},
	} {
		if got := NewUsage(state).Pool(p).Shared.String(); got != "{1}" {
			t.Errorf("by %s the shared devices are %s, want {1}", name, got)
		}
	}
}

// Of a device that can be shared it matters whether it is only where it draws
// counters, which its first share has paid for.
func TestUsageOfSharesIsReadWhereItMatters(t *testing.T) {
	sharable := func(d *resourceapi.Device) { yes := true; d.AllowMultipleAllocations = &yes }
	p := see(t, "n", newSlice("s1", pool("p", 2), counters("card", "memory", "4")),
		newSlice("s2", pool("p", 2), with("a", sharable), with("b"), with("c", sharable, draws("card", "memory", "1")), with("d", sharable))).Pools[0]
	state := schedulerapi.AllocatedState{
		AllocatedSharedDeviceIDs: sets.New(shareOf("a"), shareOf("b"), shareOf("c")),
		AggregatedCapacity:       consumed("c"),
	}
	for on, want := range map[bool]string{true: "{1 2}", false: "{0 1 2}"} {
		usage := &Usage{State: state, ConsumableCapacity: on}
		if got := usage.Pool(p).Shared.String(); got != want {
			t.Errorf("consumable capacity %v: the shared devices are %s, want %s", on, got, want)
		}
	}
	alone := see(t, "n", newSlice("s", pool("p", 1), with("a", sharable))).Pools[0]
	usage := &Usage{State: state, ConsumableCapacity: true}
	if usage.Pool(alone); usage.shared != nil {
		t.Error("the IDs of all shares were read, for a device of which it does not matter")
	}
}

// Names are the driver's and the pool's own: the same device name elsewhere is
// another device.
func TestUsageKnowsDevicesByTheirFullName(t *testing.T) {
	n := see(t, "n", newSlice("s1", pool("p", 1), driver("other"), with("a")), newSlice("s2", pool("q", 1), with("a")))
	usage := NewUsage(allocated("a"))
	for _, p := range n.Pools {
		if u := usage.Pool(p); !u.InUse.Empty() {
			t.Errorf("a of %s is in use, allocated is that of driver/p", p)
		}
	}
}

// Groups of allocated devices, wherever they are. Where the driver has made
// devices incompatible under live allocations, the node's own come first.
func TestUsageOfGroups(t *testing.T) {
	list := []*resourceapi.ResourceSlice{
		newSlice("c", pool("p", 3), counters("card", "memory", "9"), counters("links", "ports", "9")),
		newSlice("n", pool("p", 3), onNode("n"), with("n-x", draws("card"), grouped("x")), with("n-none", draws("card"))),
		newSlice("m", pool("p", 3), onNode("m"), with("m-xy", draws("links"), grouped("y"), draws("card"), grouped("x", "y")), with("m-y", draws("card"), grouped("y"))),
	}
	snapshot := snapshotOf(t, New(), list...)
	n, m := view(t, snapshot, newNodeObject("n"), all).Pools[0], view(t, snapshot, newNodeObject("m"), all).Pools[0]
	group := map[string][]uint32{"none": nil}
	for _, p := range []*Pool{n, m} { // The numbers of the groups are the pool's own.
		for device, member := range p.MemberOf {
			uses := p.Counters.GroupsOf(member)
			group[p.At(device).Name] = uses[len(uses)-1].Groups
		}
	}
	x, y := group["n-x"], group["m-y"]
	for _, c := range []struct {
		allocated   []string
		pool        *Pool
		card, links string // who is admitted, of x, y and none
	}{
		{nil, n, "x y none", "x y none"},
		{[]string{"n-x"}, n, "x", "x y none"},
		{[]string{"n-x"}, m, "x", "x y none"},
		{[]string{"m-xy"}, n, "x y", "y"},
		{[]string{"m-xy", "n-x"}, m, "x", "y"},
		{[]string{"n-none"}, m, "none", "x y none"},
		{[]string{"n-x", "m-y"}, n, "", "x y none"},
		{[]string{"n-none", "m-y"}, n, "none", "x y none"},
		{[]string{"n-none", "m-y"}, m, "y", "x y none"},
	} {
		states := NewUsage(allocated(c.allocated...)).Pool(c.pool).Groups
		for set, want := range []string{c.card, c.links} {
			got := ""
			for i, groups := range [][]uint32{x, y, nil} {
				if states[set].Admits(groups) {
					got += []string{" x", " y", " none"}[i]
				}
			}
			if got != "" {
				got = got[1:]
			}
			if got != want {
				t.Errorf("with %v allocated, seen from %s, set %d admits %q, want %q", c.allocated, c.pool.At(0).Name, set, got, want)
			}
		}
	}
}
