package nvidia_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// byAdministrator makes a partition behind the driver's back.
func (w *world) byAdministrator(device string) {
	w.t.Helper()
	w.machine.mu.Lock()
	defer w.machine.mu.Unlock()
	found, ok := publish.FindNVIDIA(w.machine.node, device)
	if !ok {
		w.t.Fatalf("there is no %s", device)
	}
	mig := found.GPU.MIG
	mig.Enabled, mig.Pending = true, true
	mig.Instances = append(mig.Instances, hardware.GPUInstanceState{ID: 7, ProfileID: found.Profile.ID, Placement: found.Placement,
		ComputeInstances: []hardware.ComputeInstanceState{{UUID: "MIG-admin"}}})
}

// A prepare fails at its first partition, and cannot undo it: nothing was made for
// the second one, so what an administrator makes in its place stays.
func TestWhatWasNotBegunIsNobodysLater(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	failing := false
	w.machine.fail = func(call string) error {
		if failing = failing || call == "CreateComputeInstance"; failing {
			return errInjected
		}
		return nil
	}
	c := claim("a", nil, "main=gpu-4-mig-1g10gb-19-0", "more=gpu-4-mig-1g10gb-19-1")
	if _, err := w.process().Prepare(t.Context(), c); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	w.machine.fail = nil
	if claims := w.claims(); len(claims) != 1 || len(claims[0].Devices) != 1 {
		t.Errorf("left: %+v", claims)
	}
	w.byAdministrator("gpu-4-mig-1g10gb-19-1")
	w.must(start)
	if got := w.gpus(); !strings.Contains(got, "MIG-admin") || strings.Contains(got, "MIG-4") {
		t.Errorf("after the start: %s", got)
	}
}

// An unprepare gives back one of two and fails: the checkpoint has the other one
// alone, and another claim can have what was given back.
func TestWhatWasGivenBackIsFree(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	w.must(w.prepare(claim("a", nil, "main=gpu-4-mig-1g10gb-19-0", "more=gpu-5-mig-1g10gb-19-0")))
	destroyed := 0
	w.machine.fail = func(call string) error {
		if call == "ComputeInstance.Destroy" {
			if destroyed++; destroyed == 2 {
				return errInjected
			}
		}
		return nil
	}
	if err := w.process().Unprepare(t.Context(), "a"); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	w.machine.fail = nil
	if claims := w.claims(); len(claims) != 1 || len(claims[0].Devices) != 1 || claims[0].Devices[0].Device != "gpu-4-mig-1g10gb-19-0" {
		t.Errorf("left: %+v", claims)
	}
	b := claim("b", nil, "main=gpu-5-mig-1g10gb-19-0")
	w.must(w.prepare(b), w.unprepare(claim("a", nil)), w.unprepare(b))
	sameState(t, "given back", "", w.state())
}

// An administrator replaces a claim's partition by another in its place, which gets
// the same ID.
func TestWhatTookThePlaceOfOursIsNotOurs(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	c := claim("a", nil, "main=gpu-4-mig-1g10gb-19-0")
	w.must(w.prepare(c))
	for i := range w.machine.node.GPUs {
		if gpu := &w.machine.node.GPUs[i]; gpu.Minor == 4 {
			gpu.MIG.Instances[0].ComputeInstances[0].UUID = "MIG-admin"
		}
	}
	before := w.gpus()
	if _, err := w.process().Prepare(t.Context(), c); !errors.Is(err, hardware.ErrGPUInsufficientResources) {
		t.Errorf("prepare: %v", err)
	}
	w.must(w.unprepare(c))
	if got := w.gpus(); got != before {
		t.Errorf("the administrator's became %s", got)
	}
}

// A prepare is killed before it wrote down what it made, and the machine boots again:
// what an administrator makes in that place since is not the claim's.
func TestAfterARebootNothingIsOurs(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	var log []string
	w.killAt(8, &log)
	if survived, _ := w.survives(w.prepare(claim("a", nil, "main=gpu-4-mig-1g10gb-19-0"))); survived {
		t.Fatalf("it was not killed: %q", log)
	}
	if got := w.gpus(); !strings.Contains(got, "1g.10gb at 0") {
		t.Fatalf("killed before %q: %s", log[8], got)
	}
	w.machine.reboot()
	w.boot++
	w.byAdministrator("gpu-4-mig-1g10gb-19-0")
	w.must(start)
	if got := w.state(); !strings.Contains(got, "MIG-admin") || strings.Contains(got, "started") {
		t.Errorf("after the start: %s", got)
	}
}

// An administrator is faster by a moment.
func TestWhatCameBetweenPlanAndChangeStays(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	w.machine.fail = func(call string) error {
		if call == "CreateGPUInstanceAt" {
			w.byAdministrator("gpu-4-mig-1g10gb-19-0")
		}
		return nil
	}
	if _, err := w.process().Prepare(t.Context(), claim("a", nil, "main=gpu-4-mig-1g10gb-19-0")); !errors.Is(err, hardware.ErrGPUInsufficientResources) {
		t.Errorf("prepare: %v", err)
	}
	w.machine.fail = nil
	if got := w.gpus(); !strings.Contains(got, "MIG-admin") || len(w.claims()) > 0 {
		t.Errorf("left: %s", w.state())
	}
}
