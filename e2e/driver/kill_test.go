package driver_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestADriverKilledBeforeAnyStepGoesOn kills the process for real: while it begins and
// publishes, while it prepares, while it takes back. The folder of the hardware, the
// checkpoint and the CDI files stay. The next driver must do what was asked for again,
// and leave nothing in the end.
func TestADriverKilledBeforeAnyStepGoesOn(t *testing.T) {
	t.Parallel()
	n := newNode(t, "two-gpus")
	steps := n.path("steps")
	claim := n.claim("a", "gpu-0-mig-1g10gb-19-6", "gpu-1")
	kills := 0
	for step := 1; ; step++ {
		driver := n.start([]string{stepsFile + "=" + steps, fmt.Sprintf("%s=%d", killBefore, step)})
		if n.serveOnce(driver, claim) {
			break
		}
		kills++
		n.start(nil).finish(claim, 2)
		if left := n.left(); left != "" {
			t.Fatalf("killed before step %d (%s): there is still %s", step, read(t, steps), left)
		}
	}
	if kills < 25 {
		t.Errorf("a driver was killed %d times: some steps are not announced", kills)
	}
	t.Logf("killed %d times", kills)
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
	if claims, err := n.recorded(); err != nil || len(claims) > 0 {
		return fmt.Sprintf("the checkpoint's %v, %v", claims, err)
	}
	return ""
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if _, err := strconv.Atoi(string(text)); err == nil {
		t.Fatalf("the driver ended by itself after %s steps", text)
	}
	return string(text)
}
