package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestPodsThatShareAClaimWriteToItOneAfterTheOther: many pods are reserved in a claim at
// once, each with one write, although each cycle saw the claim before any of them was.
func TestPodsThatShareAClaimWriteToItOneAfterTheOther(t *testing.T) {
	const pods = 100
	var objects strings.Builder
	objects.WriteString("node a\nclass gpu\nclaim shared gpu on=a:gpu-0\n")
	for i := range pods {
		fmt.Fprintf(&objects, "pod p%d claims=shared\n", i)
	}
	w := newWorld(t, parseObjects(t, objects.String()), "", stableFeatures())
	for i := range pods {
		if said := w.preFilter(fmt.Sprint("p", i)); said != "ok" {
			t.Fatal(said)
		}
	}
	w.api.takeCalls()
	var binding sync.WaitGroup
	for i := range pods {
		name := fmt.Sprint("p", i)
		cycle, pod := w.cycle(name), w.pod(name)
		binding.Go(func() {
			if status := w.plugin.PreBind(w.ctx, cycle, pod, "a"); !status.IsSuccess() {
				t.Errorf("%s: %s", name, tellStatus(status))
			}
		})
	}
	binding.Wait()
	if calls := w.api.takeCalls(); len(calls) != pods {
		t.Errorf("%d writes for %d pods", len(calls), pods)
	}
	if claims := w.listClaims(); len(claims[0].Status.ReservedFor) != pods {
		t.Errorf("the claim is reserved for %d pods, want %d", len(claims[0].Status.ReservedFor), pods)
	}
	if left := len(w.plugin.engine.writes.locks); left > 0 {
		t.Errorf("%d locks are left", left)
	}
}

func TestWhoWaitsForAClaimGivesUpWithItsContext(t *testing.T) {
	var locks claimLocks
	unlock, err := locks.lock(t.Context(), "claim")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the pod is gone")
	cancel(why)
	if _, err := locks.lock(ended, "claim"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	other, err := locks.lock(t.Context(), types.UID("other"))
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	if unlock, err = locks.lock(t.Context(), "claim"); err != nil {
		t.Fatal(err)
	}
	unlock()
	if len(locks.locks) > 0 {
		t.Errorf("%d locks are left", len(locks.locks))
	}
}
