package driver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/state"
)

// versions of the slices, by name: what was written since is another one.
func (n *node) versions() (versions []string) {
	for _, slice := range n.slices() {
		versions = append(versions, slice.Name+" "+slice.ResourceVersion)
	}
	return versions
}

func (n *node) inject(f fault.Fault) {
	n.t.Helper()
	if err := n.folder.Update(func(tx *state.Tx) error { return tx.Inject(f) }); err != nil {
		n.t.Fatal(err)
	}
}

// hasTaint is a device with a taint of a key.
func hasTaint(name, key string) func(map[string]resourceapi.Device) error {
	return func(devices map[string]resourceapi.Device) error {
		if slices.ContainsFunc(devices[name].Taints, func(t resourceapi.DeviceTaint) bool { return t.Key == key }) {
			return nil
		}
		return fmt.Errorf("%s has taints %v", name, devices[name].Taints)
	}
}

// publishes says whether a process is the one that publishes.
func (p *process) publishes() bool { return strings.Contains(p.log(), "This driver publishes") }

// TestAnUpdateIsSeenByNobody: of the two pods that a DaemonSet has for a while both
// serve the kubelet, what one prepares the other takes back, and one publishes.
func TestAnUpdateIsSeenByNobody(t *testing.T) {
	n := newNode(t, "two-gpus")
	old := n.start(nil, "--pod-uid", "pod-old")
	n.published("the GPUs", hasDevice("gpu-1"))
	byOld := n.kubelet("pod-old")
	a, b := n.claim("a", "gpu-0-mig-1g10gb-19-6"), n.claim("b", "gpu-1")
	if _, err := byOld.prepare(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	before := n.versions()

	next := n.start(nil, "--pod-uid", "pod-new")
	byNext := n.kubelet("pod-new")
	if found := n.sockets(); len(found) != 2 {
		t.Errorf("the sockets are %v", found)
	}
	if _, err := byNext.prepare(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	// The kubelet asks the new one for a claim that the old one has prepared.
	again, err := byNext.prepare(t.Context(), a)
	if err != nil || len(again) != 1 {
		t.Fatalf("the other's claim is %v, %v", again, err)
	}
	other := n.claim("c", "gpu-1")
	if _, err := byOld.prepare(t.Context(), other); err == nil {
		t.Error("a GPU that the other process has given out is given out again")
	}
	if err := byOld.unprepare(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if next.publishes() || !old.publishes() {
		t.Error("the new one publishes beside the old one")
	}
	old.stop()
	n.eventually("the new one publishes", func() error {
		if !next.publishes() {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	if after := n.versions(); !slices.Equal(before, after) {
		t.Errorf("slices are %v after %v", after, before)
	}
	if found := n.sockets(); len(found) != 1 {
		t.Errorf("the sockets are %v", found)
	}
	n.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	n.published("a fault, by the new one", hasTaint("gpu-1", fault.TaintXID))
	if err := byNext.unprepare(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	next.stop()
	if left := n.left(); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// TestAnUpdateWhoseOldPodIsKilled: the new one publishes as well.
func TestAnUpdateWhoseOldPodIsKilled(t *testing.T) {
	n := newNode(t, "two-gpus")
	old := n.start(nil, "--pod-uid", "pod-old")
	n.published("the GPUs", hasDevice("gpu-1"))
	before := n.versions()
	n.start(nil, "--pod-uid", "pod-new")
	n.kubelet("pod-new")
	old.kill()
	n.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	n.published("a fault, by the new one", hasTaint("gpu-1", fault.TaintXID))
	if after := n.versions(); len(after) != len(before) {
		t.Errorf("slices are %v after %v", after, before)
	}
}

func TestAStopWaitsForACallThatRuns(t *testing.T) {
	n := newNode(t, "two-gpus")
	driver := n.start(nil)
	n.published("the GPUs", hasDevice("gpu-1"))
	k, claim := n.kubelet(), n.claim("a", "gpu-0-mig-1g10gb-19-6")
	n.inject(fault.Fault{SlowPrepare: &fault.SlowPrepare{Takes: fault.Duration(2e9), Times: 1}})
	answer := make(chan error, 1)
	go func() {
		devices, err := k.prepare(t.Context(), claim)
		if err == nil && len(devices) != 1 {
			err = fmt.Errorf("there are devices %v", devices)
		}
		answer <- err
	}()
	n.eventually("the call runs", func() error {
		if !strings.Contains(driver.log(), "takes longer, as instructed") {
			return fmt.Errorf("it does not")
		}
		return nil
	})
	driver.stop()
	if err := <-answer; err != nil {
		t.Errorf("a call that ran when the driver was stopped: %v", err)
	}
	n.start(nil).finish(claim, 1)
	if left := n.left(); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// TestAGenerationThatADriverLeftHalfWrittenIsCompleted by the next one.
func TestAGenerationThatADriverLeftHalfWrittenIsCompleted(t *testing.T) {
	n := newNode(t, "two-gpus")
	driver := n.start(nil)
	n.published("the GPUs", hasDevice("gpu-1"))
	n.before = n.slices()[0].Spec.Pool
	n.inject(fault.Fault{HalfPublished: &fault.HalfPublished{Missing: 1, For: fault.Duration(time.Hour)}})
	n.eventually("half a generation", n.isHalfPublished)
	driver.kill()
	if err := n.isHalfPublished(); err != nil {
		t.Errorf("after the kill %v", err)
	}
	n.start([]string{obeysNothing + "=1"})
	n.published("the whole of it", whole)
}

// TestOneProcessServesSeveralNodes, each with its own pool, kubelet and claims.
func TestOneProcessServesSeveralNodes(t *testing.T) {
	a, b := newNode(t, "two-gpus"), newNode(t, "two-gpus")
	// The second is known to the first's process by the same root.
	b.dir = a.dir
	driver := a.start(nil, "--dir", b.folder.Dir())
	for _, n := range []*node{a, b} {
		n.published("the GPUs of "+n.name, hasDevice("gpu-1"))
		k, claim := n.kubelet(), n.claim("x", "gpu-1")
		if _, err := k.prepare(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if files := n.cdiFiles(); len(files) == 0 {
			t.Errorf("%s has no CDI file", n.name)
		}
	}
	driver.stop()
	for _, n := range []*node{a, b} {
		if len(n.slices()) == 0 {
			t.Errorf("%s has no slices after the end", n.name)
		}
	}
}
