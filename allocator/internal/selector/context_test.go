package selector

import (
	"context"
	"errors"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

var errGone = errors.New("the pod is gone")

// A caller that waits for another's evaluation goes when its own context ends.
func TestWaitingEndsWithTheContext(t *testing.T) {
	ev, m := newEvaluator(), &Memo{}
	const expression = `device.driver == "gpu.example.com"`
	_, busy := m.verdictOrEntry(memoKey{cache: ev.Cache, expression: expression})
	busy.lock <- struct{}{}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errGone)
	if _, err := ev.Verdict(ctx, m, expression, models("a")); !errors.Is(err, errGone) {
		t.Errorf("the error is %v, want %v", err, errGone)
	}
	busy.release()
	if v := verdict(t, ev, m, expression, models("a")); v.Match.Count() != 1 {
		t.Errorf("afterwards %v matches, want the device", v.Match)
	}
}

// endingFleet ends a context when a device is looked at.
type endingFleet struct {
	fleet
	last   int
	cancel context.CancelCauseFunc
}

func (f endingFleet) At(device int) *resourceapi.Device {
	if device == f.last {
		f.cancel(errGone)
	}
	return f.fleet.At(device)
}

// What a caller found before its context ended is not lost: an expression that
// takes longer on all devices than any caller has time is answered in the end.
func TestEachCallerGetsFurther(t *testing.T) {
	ev, m := newEvaluator(), &Memo{}
	const ten = `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]`
	const expression = ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, a + b + c > 0)))`
	devices := models("a", "b", "c")
	for last := range devices.Len() {
		ctx, cancel := context.WithCancelCause(context.Background())
		if _, err := ev.Verdict(ctx, m, expression, endingFleet{devices, last, cancel}); !errors.Is(err, errGone) {
			t.Fatalf("interrupted on device %d the error is %v, want %v", last, err, errGone)
		}
	}
	before := ev.Evaluations.Load()
	if v := verdict(t, ev, m, expression, devices); v.Match.Count() != 3 {
		t.Errorf("%v match, want all three", v.Match)
	}
	if again := ev.Evaluations.Load() - before; again != 1 {
		t.Errorf("the last caller evaluated %d times, want 1: two devices were done", again)
	}
}
