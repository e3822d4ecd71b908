package plugin

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manyNodes has nodes with two devices each, and pods that ask for one.
func manyNodes(nodes, pods int) string {
	var text strings.Builder
	text.WriteString("class gpu\n")
	for i := range nodes {
		fmt.Fprintf(&text, "node n%d\nslice n%d devices=gpu-0,gpu-1\n", i, i)
	}
	for i := range pods {
		fmt.Fprintf(&text, "claim c%d gpu\npod p%d claims=c%d\n", i, i, i)
	}
	return text.String()
}

// searches runs PreFilter and Filter on all nodes and returns how many were searched.
func (w *world) searches(pod string) int64 {
	w.t.Helper()
	before := w.plugin.Work().Searches
	if said := w.preFilter(pod); said != "ok" {
		w.t.Fatal(said)
	}
	for _, info := range w.nodes {
		if status := w.plugin.Filter(w.ctx, w.cycle(pod), w.pod(pod), info); !status.IsSuccess() {
			w.t.Fatal(tellStatus(status))
		}
	}
	return w.plugin.Work().Searches - before
}

func TestAnEqualPodSearchesOnlyNodesWhoseDevicesChanged(t *testing.T) {
	const nodes = 20
	w := newWorld(t, parseObjects(t, manyNodes(nodes, 4)), "", stableFeatures())
	if got := w.searches("p0"); got != nodes {
		t.Errorf("the first pod searched %d nodes, want %d", got, nodes)
	}
	if got := w.searches("p1"); got != 0 {
		t.Errorf("an equal pod searched %d nodes, want none", got)
	}
	w.check(w.plugin.Reserve(w.ctx, w.cycle("p0"), w.pod("p0"), "n7").AsError())
	if got := w.searches("p2"); got != 1 {
		t.Errorf("after one device was taken %d nodes were searched, want 1", got)
	}
	w.check(w.plugin.PreBind(w.ctx, w.cycle("p0"), w.pod("p0"), "n7").AsError())
	if got := w.searches("p3"); got != 0 {
		t.Errorf("after the same device was written down %d nodes were searched, want none", got)
	}
}

// BenchmarkEqualPod is PreFilter and Filter on 500 nodes while one node changes
// between pods.
func BenchmarkEqualPod(b *testing.B) {
	const nodes = 500
	w := newWorld(b, parseObjects(b, manyNodes(nodes, 2)), "", stableFeatures())
	w.searches("p0")
	w.searches("p1")
	b.ReportAllocs()
	for b.Loop() {
		w.check(w.plugin.Reserve(w.ctx, w.cycle("p0"), w.pod("p0"), "n7").AsError())
		if got := w.searches("p1"); got != 1 {
			b.Fatalf("%d nodes were searched", got)
		}
		w.plugin.Unreserve(w.ctx, w.cycle("p0"), w.pod("p0"), "n7")
	}
}

// BenchmarkTaken is the state of the cluster for one pod, from the ledger while one
// claim changes between pods, and from the manager.
func BenchmarkTaken(b *testing.B) {
	for _, each := range []int{1, 8} {
		claims := 100_000 / each
		store := newLedgerHistory(b, 1)
		for i := range claims {
			claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("c%d", i)}}
			claim.UID = "uid"
			claim.Status.Allocation = &resourceapi.AllocationResult{}
			for d := range each {
				claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
					resourceapi.DeviceRequestAllocationResult{Driver: "d", Pool: fmt.Sprintf("n%d", (i*each+d)/8), Device: fmt.Sprintf("gpu-%d", (i*each+d)%8)})
			}
			store.put(claim)
		}
		store.relist()
		store.tell("", store.managerHandler, &store.toManager, len(store.toManager))
		store.tell("", store.ledger, &store.toLedger, len(store.toLedger))
		store.log = nil
		b.Run(fmt.Sprintf("claims=%d/ledger", claims), func(b *testing.B) {
			if _, ok := store.ledger.held(); !ok {
				b.Fatal("not current")
			}
			b.ReportAllocs()
			for b.Loop() {
				was := store.api["c0"].Status.Allocation
				store.write("c0", "", func(c *resourceapi.ResourceClaim) {
					if c.Status.Allocation = nil; was == nil {
						c.Status.Allocation = store.api["c1"].Status.Allocation
					}
				})
				store.observe(1)
				store.tell("", store.ledger, &store.toLedger, 1)
				if _, ok := store.ledger.proof(); !ok {
					b.Fatal("not current")
				}
				store.log, store.toManager = nil, nil
			}
		})
		b.Run(fmt.Sprintf("claims=%d/manager", claims), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.manager.ResourceClaims().GatherAllocatedState(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
