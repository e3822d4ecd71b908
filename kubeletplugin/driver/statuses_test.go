package driver

import (
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
)

// record puts a claim into the checkpoint, with two devices and a share of one.
func record(t *testing.T, d *Driver, state checkpoint.State) *checkpoint.Claim {
	t.Helper()
	share := types.UID("share-1")
	device := func(name string, share *types.UID) checkpoint.Device {
		return checkpoint.Device{Kind: "gpu", Request: "r", Pool: nodeName, Device: name, ShareID: share, Lock: name, Plan: []byte("{}")}
	}
	claim := &checkpoint.Claim{UID: "a", Namespace: "default", Name: "train", State: state, BootID: d.bootID,
		Devices: []checkpoint.Device{device("gpu-0", nil), device("gpu-1", &share), device("gpu-0", nil)}}
	end, err := d.store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if err := d.store.Put(claim, nil); err != nil {
		t.Fatal(err)
	}
	return claim
}

func object(uid types.UID, allocated bool) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: uid}}
	if allocated {
		claim.Status.Allocation = &resourceapi.AllocationResult{}
	}
	return claim
}

// TestTheStatusSaysOnceOfEachDeviceHowItIs and changes only when that does.
func TestTheStatusSaysOnceOfEachDeviceHowItIs(t *testing.T) {
	clock := &stopped{now: noon}
	d := newDriver(t, func(o *Options) { o.Clock = clock })
	claim := record(t, d, checkpoint.Completed)
	published := []resourceapi.Device{{Name: "gpu-0"}, {Name: "gpu-1"}}
	seen := object("a", true)
	apply := func(what string, v *view, want ...metav1.Condition) {
		t.Helper()
		status, differs := d.statuses.status(claim, seen, v)
		if differs != (len(want) > 0) {
			t.Fatalf("%s: it differs: %v", what, differs)
		}
		if !differs {
			return
		}
		if len(status.Devices) != 2 {
			t.Fatalf("%s: there are %d devices", what, len(status.Devices))
		}
		seen.Status.Devices = nil
		for i := range status.Devices {
			a := &status.Devices[i]
			c := metav1.Condition{Type: *a.Conditions[0].Type, Status: *a.Conditions[0].Status, Reason: *a.Conditions[0].Reason,
				Message: *a.Conditions[0].Message, LastTransitionTime: *a.Conditions[0].LastTransitionTime}
			if c != want[i] {
				t.Errorf("%s: device %d is %+v, not %+v", what, i, c, want[i])
			}
			seen.Status.Devices = append(seen.Status.Devices, resourceapi.AllocatedDeviceStatus{Driver: *a.Driver, Pool: *a.Pool,
				Device: *a.Device, ShareID: a.ShareID, Conditions: []metav1.Condition{c}})
		}
		if share := seen.Status.Devices[1].ShareID; share == nil || *share != "share-1" {
			t.Errorf("%s: the share is %v", what, share)
		}
	}
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)) }
	ready := func(minutes int, message string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: "True", Reason: "Prepared", Message: message, LastTransitionTime: at(minutes)}
	}
	apply("at first", newView(nil, nil, published, noon), ready(0, ""), ready(0, ""))
	clock.move(time.Minute)
	apply("and again", newView(nil, nil, published, noon))
	broken := metav1.Condition{Type: "Ready", Status: "False", Reason: "DeviceFault", Message: "the GPU is lost", LastTransitionTime: at(1)}
	faulty := newView(nil, append(problems(hot("gpu-0")), lost("gpu-1")), published, noon)
	apply("with a fault", faulty, ready(0, "it is hot"), broken)
	clock.move(time.Minute)
	apply("and later", faulty)
	apply("when it is over", newView(nil, nil, published, noon), ready(0, ""), ready(2, ""))
	nobodyKnows := metav1.Condition{Type: "Ready", Status: "Unknown", Reason: "DeviceUnreadable", Message: "it cannot be read", LastTransitionTime: at(2)}
	apply("when nobody knows", newView(nil, problems(unreadable("gpu-0")), published, noon), nobodyKnows, ready(2, ""))
}

// TestAStatusIsWrittenToNoOtherClaim: to none of the same name, to none without an
// allocation, and to none that is half prepared.
func TestAStatusIsWrittenToNoOtherClaim(t *testing.T) {
	for name, c := range map[string]struct {
		state  checkpoint.State
		object *resourceapi.ResourceClaim
		writes bool
	}{
		"the claim itself":     {checkpoint.Completed, object("a", true), true},
		"another of its name":  {checkpoint.Completed, object("b", true), false},
		"no longer allocated":  {checkpoint.Completed, object("a", false), false},
		"half prepared":        {checkpoint.Started, object("a", true), false},
		"a claim that is gone": {checkpoint.Completed, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, nil)
			record(t, d, c.state)
			claims := d.options.Client.ResourceV1().ResourceClaims("default")
			if c.object != nil {
				if _, err := claims.Create(t.Context(), c.object, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			d.show(newView(nil, nil, []resourceapi.Device{{Name: "gpu-0"}, {Name: "gpu-1"}}, noon))
			if err := d.statuses.write(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if c.object == nil {
				return
			}
			after, err := claims.Get(t.Context(), "train", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if writes := len(after.Status.Devices) > 0; writes != c.writes {
				t.Errorf("devices of the status are %v", after.Status.Devices)
			}
		})
	}
}
