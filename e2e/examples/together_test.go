package examples

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dray-dev/dray/e2e/console"
)

// Each run takes a second of the bubble's time.
func TestExamplesThatNameAMachineHaveItForThemselves(t *testing.T) {
	all := []Example{
		{Name: "a", Machines: []string{"x"}}, {Name: "b"}, {Name: "c", Machines: []string{"x", "y"}},
		{Name: "d", Machines: []string{"z"}}, {Name: "e"}, {Name: "f", Machines: []string{"y"}},
	}
	for atOnce, want := range map[int][]string{
		9: {"b 0", "e 0", "a 1", "d 1", "c 2", "f 3"},
		2: {"b 0", "e 0", "a 1", "d 1", "c 2", "f 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var mu sync.Mutex
			var order []string
			Together(all, atOnce, func(i int) {
				mu.Lock()
				order = append(order, fmt.Sprintf("%s %.0f", all[i].Name, time.Since(began).Seconds()))
				mu.Unlock()
				time.Sleep(time.Second)
			})
			slices.SortFunc(order, func(a, b string) int {
				if a[2:] != b[2:] {
					return int(a[2]) - int(b[2])
				}
				return int(a[0]) - int(b[0])
			})
			if !slices.Equal(order, want) {
				t.Errorf("%d at once: they begin at %v, not %v", atOnce, order, want)
			}
		})
	}
}

func TestTheLongestExamplesBeginFirst(t *testing.T) {
	all := []Example{{Name: "a", Steps: make([]console.Step, 1)}, {Name: "b", Steps: make([]console.Step, 3)}, {Name: "c", Steps: make([]console.Step, 1)}, {Name: "d", Steps: make([]console.Step, 2)}}
	var order []string
	Together(all, 1, func(i int) { order = append(order, all[i].Name) })
	if want := []string{"b", "d", "a", "c"}; !slices.Equal(order, want) {
		t.Errorf("they begin in the order %v, not %v", order, want)
	}
}

func TestNoMoreExamplesRunAtOnceThanAreAllowed(t *testing.T) {
	all := make([]Example, 10)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Together(all, 3, func(int) { time.Sleep(time.Second) })
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("ten seconds of work, three at once, took %s", took)
		}
	})
}

// What the order of the demonstration rests on.
func TestTheMachinesOfExamplesAreThoseThatTheirPodsName(t *testing.T) {
	all, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"taints": {"l40s"}, "all-devices": {"l40s"}, "gpu-nic": {"mixed"}, "shared-claim": nil, "extended-resource": nil, "compute-domain": nil} {
		i := slices.IndexFunc(all, func(e Example) bool { return e.Name == name })
		if i < 0 || !slices.Equal(all[i].Machines, want) {
			t.Errorf("machines of %s are not %v: %v", name, want, all)
		}
	}
}
