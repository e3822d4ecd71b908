package nvidia_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/internal/atomicfile"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// busy is a claim for which everything changes that can: two partitions of one GPU
// that is not in MIG mode, a whole GPU that is, and one with a compute mode.
func busy(t *testing.T) *resourceapi.ResourceClaim {
	return claim("a", configs(t, exclusive), "main=gpu-4-mig-1g10gb-19-6", "more=gpu-4-mig-3g40gb-9-0", "other=gpu-5", "whole=gpu-0", "!watch=gpu-1")
}

// untouched is a node with something of an administrator's on it.
func untouched(t *testing.T) *world {
	w := newWorld(t, "dgx-h100")
	for i := range w.machine.node.GPUs {
		if gpu := &w.machine.node.GPUs[i]; gpu.Minor == 5 {
			gpu.MIG.Enabled, gpu.MIG.Pending = true, true
		}
	}
	return w
}

func (w *world) prepare(c *resourceapi.ResourceClaim) func(p *prepare.Preparer) error {
	return func(p *prepare.Preparer) error {
		_, err := p.Prepare(w.t.Context(), c)
		return err
	}
}

func (w *world) unprepare(c *resourceapi.ResourceClaim) func(p *prepare.Preparer) error {
	return func(p *prepare.Preparer) error { return p.Unprepare(w.t.Context(), c.UID) }
}

func (w *world) must(calls ...func(p *prepare.Preparer) error) {
	w.t.Helper()
	for _, call := range calls {
		if err := call(w.process()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func start(p *prepare.Preparer) error { return p.Start(context.Background()) }

// tear cuts off what a crash of the machine may cut off: temporary files.
func (w *world) tear(n int) {
	w.t.Helper()
	for _, dir := range []string{"cdi", "simulated", "plugin"} {
		matches, _ := filepath.Glob(filepath.Join(w.dir, dir, "*"+atomicfile.Suffix))
		for _, name := range matches {
			if info, err := os.Stat(name); err != nil || os.Truncate(name, info.Size()*int64(n%3)/2) != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func sameState(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestAPrepareCanBeKilledAnywhere kills one before each change that it makes. What
// the next process does with the rest always ends as if nothing had happened.
func TestAPrepareCanBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	before, after := untouched(t), untouched(t)
	after.must(after.prepare(busy(t)))
	clean, done := before.state(), after.state()
	for n := 0; ; n++ {
		var log []string
		killedAt := func() *world {
			w := untouched(t)
			log = nil
			w.killAt(n, &log)
			survived, err := w.survives(w.prepare(busy(t)))
			if err != nil {
				t.Fatal(err)
			}
			if survived {
				log = append(log, "")
			}
			w.tear(n)
			return w
		}
		w := killedAt()
		survived := log[len(log)-1] == ""
		what := fmt.Sprintf("killed before step %d, %q", n, log[len(log)-1])
		w.must(w.prepare(busy(t)))
		sameState(t, what+", and repeated", done, w.state())

		w = killedAt()
		w.must(start, w.prepare(busy(t)))
		sameState(t, what+", started and repeated", done, w.state())

		w = killedAt()
		w.must(start)
		completed := n >= 26 // it says so, even if the last sync was not made
		if !completed {
			sameState(t, what+", and started", clean, w.state())
		}
		w.must(w.unprepare(busy(t)))
		sameState(t, what+", started and given back", clean, w.state())

		w = killedAt()
		w.machine.reboot()
		w.boot++
		w.must(start)
		if got := w.state(); !completed && got != "" {
			t.Errorf("%s, rebooted and started: %s", what, got)
		}
		w.must(w.prepare(busy(t)), w.unprepare(busy(t)))
		if got := w.state(); got != "" { // an administrator's MIG mode goes with a reboot
			t.Errorf("%s, rebooted, repeated and given back: %s", what, got)
		}
		if survived {
			if n != 27 {
				t.Errorf("a prepare has %d steps, not 27: %q", n, log)
			}
			return
		}
	}
}

// For most claims nothing changes but the files, so that nothing on the machine tells
// how far a killed prepare came.
func TestAPrepareThatChangesNothingCanBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	c := claim("a", nil, "main=gpu-0")
	for n := 0; ; n++ {
		w := newWorld(t, "dgx-h100")
		var log []string
		w.killAt(n, &log)
		survived, err := w.survives(w.prepare(c))
		if err != nil {
			t.Fatal(err)
		}
		w.must(w.prepare(c))
		if claims := w.claims(); len(claims) != 1 || claims[0].State != checkpoint.Completed {
			t.Errorf("killed before step %d, and repeated: %+v", n, claims)
		}
		w.must(start, w.unprepare(c))
		sameState(t, fmt.Sprintf("killed before step %d, repeated and given back", n), "", w.state())
		if survived {
			return
		}
	}
}

func TestAnUnprepareCanBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	clean := untouched(t).state()
	for n := 0; ; n++ {
		var log []string
		killedAt := func() (w *world, survived bool) {
			w = untouched(t)
			w.must(w.prepare(busy(t)))
			log = nil
			w.killAt(n, &log)
			survived, err := w.survives(w.unprepare(busy(t)))
			if err != nil {
				t.Fatal(err)
			}
			w.tear(n)
			return w, survived
		}
		w, survived := killedAt()
		if survived {
			if n < 20 {
				t.Errorf("an unprepare has %d steps: some are not announced: %q", n, log)
			}
			return
		}
		what := fmt.Sprintf("killed before step %d, %q", n, log[n])
		w.must(w.unprepare(busy(t)))
		sameState(t, what+", and repeated", clean, w.state())

		w, _ = killedAt()
		w.must(start, w.unprepare(busy(t)))
		sameState(t, what+", started and repeated", clean, w.state())

		w, _ = killedAt()
		w.must(start, w.prepare(busy(t)), w.unprepare(busy(t)))
		sameState(t, what+", started, prepared and given back", clean, w.state())
	}
}

// What Start undoes can be killed as well.
func TestAStartCanBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	clean := untouched(t).state()
	for n := 0; ; n++ {
		w := untouched(t)
		var log []string
		w.killAt(24, &log) // all is made and not written down yet
		if survived, _ := w.survives(w.prepare(busy(t))); survived {
			t.Fatal("the prepare was not killed")
		}
		log = nil
		w.killAt(n, &log)
		survived, err := w.survives(start)
		if err != nil {
			t.Fatal(err)
		}
		w.must(start)
		sameState(t, fmt.Sprintf("killed before step %d", n), clean, w.state())
		if survived {
			return
		}
	}
}

// failOne fails the n-th call, not counting repetitions of the same, and returns its
// name, which is empty as long as none has failed.
func (w *world) failOne(n int) *string {
	failed, last, count := new(string), "", 0
	w.machine.fail = func(call string) error {
		if call == last || *failed != "" {
			return nil
		}
		last = call
		if count++; count <= n {
			return nil
		}
		*failed = call
		return errInjected
	}
	return failed
}

// TestAPrepareThatFailsLeavesNothing fails each call of the library and each read of
// a file in turn.
func TestAPrepareThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	clean := untouched(t).state()
	for n := 0; ; n++ {
		w := untouched(t)
		failed := w.failOne(n)
		_, err := w.process().Prepare(t.Context(), busy(t))
		w.machine.fail = nil
		if *failed == "" {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		// Who looks for a GPU asks others, too: what they answer does not matter.
		isOfAnother := err == nil && slices.Contains([]string{"DeviceByIndex", "MinorNumber"}, *failed)
		switch {
		case isOfAnother:
			w.must(w.unprepare(busy(t)))
		case !errors.Is(err, errInjected):
			t.Errorf("call %d, %s, failed: %v", n, *failed, err)
		}
		sameState(t, fmt.Sprintf("call %d, %s, failed", n, *failed), clean, w.state())
		if w.machine.open != 0 {
			t.Fatalf("call %d, %s, failed: the library is still in use", n, *failed)
		}
	}
}

// Where undoing fails as well, what is left is known and goes later.
func TestWhatCannotBeUndoneIsUndoneLater(t *testing.T) {
	t.Parallel()
	clean := untouched(t).state()
	for n := 0; ; n++ {
		w := untouched(t)
		count, broken := 0, false
		w.machine.fail = func(call string) error {
			if count++; count > n {
				broken = true
				return errInjected
			}
			return nil
		}
		_, err := w.process().Prepare(t.Context(), busy(t))
		w.machine.fail = nil
		if !broken {
			return
		}
		if !errors.Is(err, errInjected) {
			t.Fatalf("from call %d on all fail: %v", n, err)
		}
		if n%2 == 0 {
			w.must(start)
		} else {
			w.must(w.unprepare(busy(t)))
		}
		sameState(t, fmt.Sprintf("from call %d on all failed for a while", n), clean, w.state())
	}
}

func TestAnUnprepareThatFailsCanBeRepeated(t *testing.T) {
	t.Parallel()
	clean := untouched(t).state()
	for n := 0; ; n++ {
		w := untouched(t)
		w.must(w.prepare(busy(t)))
		failed := w.failOne(n)
		err := w.process().Unprepare(t.Context(), "a")
		w.machine.fail = nil
		if *failed == "" {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(err, errInjected) {
			t.Errorf("call %d, %s, failed: %v", n, *failed, err)
		}
		w.must(w.unprepare(busy(t)))
		sameState(t, fmt.Sprintf("call %d, %s, failed", n, *failed), clean, w.state())
	}
}

// A GPU instance is in use for a moment after its last compute instance has gone.
func TestWhatIsInUseIsTriedAgain(t *testing.T) {
	w := untouched(t)
	clean := w.state()
	waits := 0
	w.options.Wait = func(context.Context, time.Duration) error { waits++; return nil }
	w.must(w.prepare(busy(t)))
	busyFor := 3
	w.machine.fail = func(call string) error {
		if call == "GPUInstance.Destroy" && busyFor > 0 {
			busyFor--
			return errInUse
		}
		return nil
	}
	w.must(w.unprepare(busy(t)))
	if waits != 3 {
		t.Errorf("waited %d times, not 3", waits)
	}
	sameState(t, "unprepared", clean, w.state())
}

// A monitor that holds a GPU keeps MIG mode on, and no pod from ending.
func TestMIGModeThatIsInUseStays(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	c := claim("a", nil, "main=gpu-4-mig-1g10gb-19-6")
	w.must(w.prepare(c))
	w.machine.fail = func(call string) error {
		if call == "SetMIGMode" {
			return errInUse
		}
		return nil
	}
	w.must(w.unprepare(c))
	w.machine.fail = nil
	sameState(t, "unprepared", "gpu-4 MIG mode true, pending true\n", w.state())
	w.must(w.prepare(c), w.unprepare(c), w.prepare(claim("b", nil, "main=gpu-4")))
}

// The caller's context ends in the middle: what was done is undone all the same.
func TestACallThatGaveUpIsRolledBack(t *testing.T) {
	w := untouched(t)
	clean := w.state()
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := errors.New("gave up")
	w.options.Wait = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	w.machine.fail = func(call string) error {
		if call == "CreateComputeInstance" {
			cancel(gaveUp)
			w.machine.fail = nil
			return errInjected
		}
		return nil
	}
	if _, err := w.process().Prepare(ctx, busy(t)); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	sameState(t, "rolled back", clean, w.state())
	if _, err := w.process().Prepare(ctx, busy(t)); !errors.Is(err, gaveUp) {
		t.Errorf("a call whose context has ended: %v", err)
	}
}
