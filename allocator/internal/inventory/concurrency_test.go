package inventory

import (
	"fmt"
	gosync "sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// Callers with lists of their own share one inventory: each gets what its list
// says, whatever the others do in between. The race detector has the last word.
func TestManyCallersShareAnInventory(t *testing.T) {
	const callers, rounds = 8, 30
	nodes, base := cluster(6)
	for _, node := range nodes {
		node.Labels["zone"] = "a"
	}
	lists := make([][]*resourceapi.ResourceSlice, callers)
	want := make([][]string, callers)
	for i := range lists {
		lists[i] = append(append([]*resourceapi.ResourceSlice{}, base[i%3:]...), poolOverNodes()...)
		lists[i] = append(lists[i], newSlice(fmt.Sprintf("own-%d", i), onNodes("zone", "a"), with("x")))
		fresh := snapshotOf(t, New(), lists[i]...)
		for _, node := range nodes {
			want[i] = append(want[i], describe(view(t, fresh, node, all)))
		}
	}
	inv := New()
	var group gosync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for range rounds {
				snapshot, err := inv.Sync(lists[i])
				if err != nil {
					t.Error(err)
					return
				}
				checkViews(t, snapshot, nodes, want[i])
			}
		})
	}
	group.Wait()
}

func checkViews(t *testing.T, snapshot *Snapshot, nodes []*corev1.Node, want []string) {
	usage := NewUsage(allocated("n0-a"))
	for i, node := range nodes {
		n, err := snapshot.Node(node, all)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := describe(n); got != want[i] {
			t.Errorf("%s sees\n%swant\n%s", node.Name, got, want[i])
		}
		for _, p := range n.Pools {
			usage.Pool(p)
			p.Attributes("driver/model", true)
		}
	}
}

// One snapshot and one usage are asked by many goroutines at once, as Filter
// does; all get the same objects.
func TestManyReadersShareASnapshot(t *testing.T) {
	snapshot := snapshotOf(t, New(), poolOverNodes()...)
	usage := NewUsage(schedulerapi.AllocatedState{AggregatedCapacity: consumed("n1-a")})
	node := newNodeObject("n1")
	pools := make([]*Pool, 16)
	var group gosync.WaitGroup
	for i := range pools {
		group.Go(func() {
			n, err := snapshot.Node(node, all)
			if err != nil {
				t.Error(err)
				return
			}
			pools[i] = n.Pools[0]
			if u := usage.Pool(n.Pools[0]); u.Left.Narrow[0] != 8000 {
				t.Errorf("%d thousandths of memory are left, want 8000", u.Left.Narrow[0])
			}
		})
	}
	group.Wait()
	for i, p := range pools {
		if p != pools[0] {
			t.Errorf("reader %d got another object for the pool", i)
		}
	}
}
