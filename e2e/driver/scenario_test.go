package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	healthv1 "k8s.io/kubelet/pkg/apis/dra-health/v1"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestWhatAScenarioNamesIsSeen plays each scenario of GPUs and their driver, a step at a
// time, as fast as the driver shows what the step's signs name.
func TestWhatAScenarioNamesIsSeen(t *testing.T) {
	for _, name := range []string{"xid-reset", "ecc", "gpu-lost", "thermal", "driver-late", "half-published", "slow-prepare"} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			n := newNode(t, "two-gpus")
			n.start(nil)
			n.published("the GPUs", hasDevice("gpu-1"))
			n.before = n.slices()[0].Spec.Pool
			view, err := n.folder.View()
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(view.Devices())
			if err != nil {
				t.Fatal(err)
			}
			for i := range plan {
				n.shows(plan[i].Step)
			}
		})
	}
}

// shows plays a step and waits until its signs are seen. What ends by itself may be over
// before a busy machine has shown it: then it is played again and lasts longer.
func (n *node) shows(planned scenario.Step) {
	n.t.Helper()
	for lasts := 4 * time.Second; ; lasts *= 2 {
		step := lasting(planned, lasts)
		if err := n.folder.Update(func(tx *state.Tx) error { return tx.Step(&step) }); err != nil {
			n.t.Fatalf("%s: %v", step.What(), err)
		}
		if step.Fault.Kind() == "" {
			n.published(step.What(), whole)
			return
		}
		ends := step.Thermal != nil || step.DriverLate != nil || step.HalfPublished != nil || step.PoolVanished != nil
		limit := patience
		if ends {
			limit = min(limit, lasts)
		}
		err := n.showsSigns(&step, limit)
		switch {
		case err == nil && ends:
			n.published("the end of "+step.What(), whole)
			return
		case err == nil:
			return
		case limit == patience:
			n.t.Fatalf("%s: %v", step.What(), err)
		}
		n.t.Logf("%s: it was over after %s, before %v", step.What(), lasts, err)
	}
}

// lasting gives what ends by itself less time than scenarios for people do.
func lasting(step scenario.Step, lasts time.Duration) scenario.Step {
	if step.Fault.Kind() == "" {
		return step
	}
	f, short := step.Fault, fault.Duration(lasts)
	switch {
	case f.Thermal != nil:
		f.Thermal = &fault.Thermal{GPU: f.Thermal.GPU, For: short}
	case f.DriverLate != nil:
		f.DriverLate = &fault.DriverLate{Driver: f.DriverLate.Driver, For: short}
	case f.HalfPublished != nil:
		f.HalfPublished = &fault.HalfPublished{Driver: f.HalfPublished.Driver, Missing: f.HalfPublished.Missing, For: short}
	case f.PoolVanished != nil:
		f.PoolVanished = &fault.PoolVanished{Driver: f.PoolVanished.Driver, For: short}
	case f.SlowPrepare != nil:
		f.SlowPrepare = &fault.SlowPrepare{Driver: f.SlowPrepare.Driver, Takes: short, Times: f.SlowPrepare.Times, For: f.SlowPrepare.For}
	}
	step.Fault = f
	return step
}

// whole is a pool in which no device is kept from pods.
func whole(devices map[string]resourceapi.Device) error {
	for _, name := range []string{"gpu-0", "gpu-1"} {
		device, ok := devices[name]
		if !ok {
			return fmt.Errorf("there is no %s", name)
		}
		for _, taint := range device.Taints {
			if taint.Effect != resourceapi.DeviceTaintEffectNone || taint.Key == fault.TaintThermal {
				return fmt.Errorf("%s still has %s", name, taint.Key)
			}
		}
	}
	return nil
}

// showsSigns waits for the signs of a fault, one after the other.
func (n *node) showsSigns(step *scenario.Step, limit time.Duration) error {
	n.t.Helper()
	_, _, device := step.Fault.Device()
	for _, sign := range step.Fault.Signs() {
		if sign.Kind == fault.EventSign {
			n.isSlow()
			continue
		}
		seen := n.seen(&sign, device)
		if err := n.look(limit, seen); err != nil {
			return fmt.Errorf("%s %s of %s: %w", sign.Kind, sign.Name, device, err)
		}
	}
	return nil
}

// seen is how a sign is looked for.
func (n *node) seen(sign *fault.Sign, device string) func() error {
	n.t.Helper()
	switch {
	case sign.Kind == fault.TaintSign:
		name := n.deviceOf(device)
		return func() error {
			return n.pool(func(devices map[string]resourceapi.Device) error {
				for _, taint := range devices[name].Taints {
					if taint.Key == sign.Name && taint.Value == sign.Value && string(taint.Effect) == sign.Effect {
						return nil
					}
				}
				return fmt.Errorf("%s has taints %v", name, devices[name].Taints)
			})
		}
	case strings.HasPrefix(sign.Name, "a complete pool"):
		return func() error {
			return n.pool(func(devices map[string]resourceapi.Device) error {
				if len(devices) > 0 {
					return fmt.Errorf("it has %d devices", len(devices))
				}
				return nil
			})
		}
	case strings.HasPrefix(sign.Name, "fewer slices"):
		return n.isHalfPublished
	case sign.Name == "no slices":
		return n.hasNoSlices
	}
	n.t.Fatalf("nobody knows how to see the sign %+v", sign)
	return nil
}

func (n *node) hasNoSlices() error {
	if have := len(n.slices()); have > 0 {
		return fmt.Errorf("there are %d", have)
	}
	return nil
}

// isHalfPublished is nil if slices are missing of a generation that has as many as the
// whole pool before. That of the pool before is missing some for a moment as well, while
// a smaller one takes its place.
func (n *node) isHalfPublished() error {
	var newest, count, have int64
	for _, slice := range n.slices() {
		if pool := slice.Spec.Pool; pool.Generation > newest {
			newest, count, have = pool.Generation, pool.ResourceSliceCount, 1
		} else if pool.Generation == newest {
			have++
		}
	}
	if have == 0 || have >= count || count != n.before.ResourceSliceCount || newest <= n.before.Generation {
		return fmt.Errorf("generation %d has %d of %d slices, after %+v", newest, have, count, n.before)
	}
	return nil
}

// deviceOf is the name under which a GPU is published, by one of its own names.
func (n *node) deviceOf(gpu string) string {
	view, err := n.folder.View()
	if err != nil {
		n.t.Fatal(err)
	}
	address, err := view.Devices().Find("gpu", gpu)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, g := range view.Node.GPUs {
		if g.Address.String() == address {
			return publish.NVIDIAGPUName(g.Minor)
		}
	}
	n.t.Fatalf("%s is not there", gpu)
	return ""
}

var slowClaims int

// isSlow sees a preparation that ends by the kubelet's patience, here a second.
func (n *node) isSlow() {
	n.t.Helper()
	slowClaims++
	k, claim := n.kubelet(), n.claim(fmt.Sprintf("slow-%d", slowClaims), "gpu-1")
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	if _, err := k.prepare(ctx, claim); status.Code(err) != codes.DeadlineExceeded {
		n.t.Errorf("the claim was prepared at once, with error %v", err)
	}
}

func TestHealthAndConditionsFollowAFault(t *testing.T) {
	n := newNode(t, "two-gpus")
	n.start(nil)
	n.published("the GPUs", hasDevice("gpu-1"))
	k := n.kubelet()
	claim := n.claim("a", "gpu-1")
	if _, err := k.prepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	stream, err := k.health.NodeWatchResources(t.Context(), &healthv1.NodeWatchResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	last := map[string]healthv1.HealthStatus{}
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			mu.Lock()
			for _, device := range response.Devices {
				last[device.Device.DeviceName] = device.Health
			}
			mu.Unlock()
		}
	}()
	health := func(status healthv1.HealthStatus) {
		t.Helper()
		n.eventually("health", func() error {
			mu.Lock()
			defer mu.Unlock()
			if last["gpu-1"] != status || last["gpu-0"] != healthv1.HealthStatus_HEALTHY {
				return fmt.Errorf("gpu-1 is %s, gpu-0 %s", last["gpu-1"], last["gpu-0"])
			}
			return nil
		})
	}
	condition := func(status metav1.ConditionStatus) {
		t.Helper()
		n.eventually("condition", func() error {
			object, err := n.client.ResourceV1().ResourceClaims("default").Get(t.Context(), claim.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(object.Status.Devices) != 1 {
				return errors.New("there is no status of the device")
			}
			if c := object.Status.Devices[0].Conditions; len(c) != 1 || c[0].Type != "Ready" || c[0].Status != status {
				return fmt.Errorf("conditions are %v", c)
			}
			return nil
		})
	}
	health(healthv1.HealthStatus_HEALTHY)
	condition(metav1.ConditionTrue)
	if err := n.folder.Update(func(tx *state.Tx) error { return tx.Inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}}) }); err != nil {
		t.Fatal(err)
	}
	health(healthv1.HealthStatus_UNHEALTHY)
	condition(metav1.ConditionFalse)
	if err := n.folder.Update(func(tx *state.Tx) error { return tx.Step(&scenario.Step{Reset: &scenario.Reset{GPU: "1"}}) }); err != nil {
		t.Fatal(err)
	}
	health(healthv1.HealthStatus_HEALTHY)
	condition(metav1.ConditionTrue)
	n.published("no taints", whole)
}
