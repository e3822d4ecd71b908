package driver_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestADriverKilledBeforeAnyStepGoesOn kills the process for real: while it begins and
// publishes, while it prepares, while it takes back. The folder of the hardware, the
// checkpoint and the CDI files stay. The next driver must do what was asked for again,
// and leave nothing in the end. Some nodes share the steps, so that not all wait.
func TestADriverKilledBeforeAnyStepGoesOn(t *testing.T) {
	t.Parallel()
	const nodes = 4
	var kills atomic.Int64
	var group sync.WaitGroup
	for first := 1; first <= nodes; first++ {
		group.Go(func() {
			t.Run(fmt.Sprintf("every=%d/from=%d", nodes, first), func(t *testing.T) {
				n := newNode(t, "two-gpus")
				claim := n.claim("a", "gpu-0-mig-1g10gb-19-6", "gpu-1")
				for step := first; n.isKilled(claim, step); step += nodes {
					kills.Add(1)
				}
			})
		})
	}
	group.Wait()
	if kills.Load() < 25 {
		t.Errorf("a driver was killed %d times: some steps are not announced", kills.Load())
	}
	t.Logf("killed %d times", kills.Load())
}

// isKilled has a claim served by a driver that is killed before a step, and by the next
// one; it is false if the driver has come to its end before.
func (n *node) isKilled(claim *resourceapi.ResourceClaim, step int) bool {
	n.t.Helper()
	steps := n.path("steps")
	driver := n.start([]string{stepsFile + "=" + steps, fmt.Sprintf("%s=%d", killBefore, step)})
	if n.serveOnce(driver, claim) {
		return false
	}
	n.start(nil).finish(claim, 2)
	if left := n.left(); left != "" {
		n.t.Fatalf("killed before step %d (%s): there is still %s", step, read(n.t, steps), left)
	}
	return true
}

// serveOnce prepares a claim and takes it back with a driver that may die, and says
// whether it lived.
func (n *node) serveOnce(driver *process, claim *resourceapi.ResourceClaim) bool {
	defer driver.kill()
	served := make(chan bool, 1)
	go func() {
		defer close(served)
		k, ok := n.kubeletUnless(driver.done)
		if !ok {
			return
		}
		if _, err := k.prepare(n.t.Context(), claim); err != nil {
			return
		}
		if err := k.unprepare(n.t.Context(), claim); err != nil {
			return
		}
		if !n.publishedUnless(driver.done, "gpu-1") {
			return
		}
		served <- true
	}()
	return <-served
}

// finish prepares a claim with so many devices, and takes it back, with a driver that
// lives.
func (p *process) finish(claim *resourceapi.ResourceClaim, count int) {
	p.n.t.Helper()
	k := p.n.kubelet()
	devices, err := k.prepare(p.n.t.Context(), claim)
	if err != nil || len(devices) != count {
		p.n.t.Fatalf("prepare after a kill: %v, %v", devices, err)
	}
	if err := k.unprepare(p.n.t.Context(), claim); err != nil {
		p.n.t.Fatalf("unprepare after a kill: %v", err)
	}
	p.stop()
}

// left says what is still there of claims.
func (n *node) left() string {
	for _, gpu := range n.hardware().GPUs {
		if gpu.MIG != nil && len(gpu.MIG.Instances) > 0 {
			return fmt.Sprintf("a partition of GPU %d", gpu.Minor)
		}
	}
	if files := n.cdiFiles(); len(files) > 0 {
		return fmt.Sprintf("CDI files %v", files)
	}
	if files := n.mounted(); len(files) > 0 {
		return fmt.Sprintf("what CDI files mount, %v", files)
	}
	if claims, err := n.recorded(); err != nil || len(claims) > 0 {
		return fmt.Sprintf("the checkpoint's %v, %v", claims, err)
	}
	return ""
}

func read(t testing.TB, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if _, err := strconv.Atoi(string(text)); err == nil {
		t.Fatalf("the driver ended by itself after %s steps", text)
	}
	return string(text)
}
