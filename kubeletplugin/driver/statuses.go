package driver

import (
	"context"
	"fmt"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	resourceac "k8s.io/client-go/applyconfigurations/resource/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
)

// The condition of a device in status.devices of a claim.
const (
	ConditionReady = "Ready"

	ReasonPrepared = "Prepared"
	ReasonFault    = "DeviceFault"
	ReasonUnknown  = "DeviceUnreadable"
)

// statuses keep status.devices of the claims that are prepared here as their devices
// are. Nothing waits for it: a claim whose status cannot be written is tried again.
type statuses struct {
	driver *Driver
	queue  workqueue.TypedRateLimitingInterface[types.UID]

	// every asks for all claims to be looked at.
	every chan struct{}
}

func newStatuses(d *Driver) *statuses {
	return &statuses{driver: d, every: make(chan struct{}, 1),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](time.Second, time.Minute))}
}

func (s *statuses) add(claim types.UID) { s.queue.Add(claim) }

func (s *statuses) all() {
	select {
	case s.every <- struct{}{}:
	default:
	}
}

func (s *statuses) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() {
		for {
			uid, ends := s.queue.Get()
			if ends {
				return
			}
			if err := s.write(ctx, uid); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "The status of a claim's devices is not written; it is tried again", "uid", uid)
				s.queue.AddRateLimited(uid)
			} else {
				s.queue.Forget(uid)
			}
			s.queue.Done(uid)
		}
	})
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.every:
			claims, err := s.driver.Claims(ctx)
			if err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Claims cannot be read")
			}
			for _, claim := range claims {
				s.queue.Add(claim.UID)
			}
		}
	}
	s.queue.ShutDown()
	group.Wait()
}

// write says of a claim's devices how they are. A claim that has gone, or was replaced
// by another of its name, has no status to be written.
func (s *statuses) write(ctx context.Context, uid types.UID) error {
	view, _ := s.driver.current()
	claims, err := s.driver.Claims(ctx)
	if err != nil || view == nil {
		return err
	}
	for _, claim := range claims {
		if claim.UID != uid || claim.State != checkpoint.Completed {
			continue
		}
		client := s.driver.options.Client.ResourceV1().ResourceClaims(claim.Namespace)
		object, err := client.Get(ctx, claim.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && (object.UID != uid || object.Status.Allocation == nil) {
			return nil
		}
		if err != nil {
			return err
		}
		status, differs := s.status(claim, object, view)
		if !differs {
			return nil
		}
		s.driver.step("write the status of a claim")
		apply := resourceac.ResourceClaim(claim.Name, claim.Namespace).WithUID(uid).WithStatus(status)
		_, err = client.ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: s.driver.options.Name, Force: true})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
	}
	return nil
}

// status is what is to be said of a claim's devices, and whether that differs from
// what the object says.
func (s *statuses) status(claim *checkpoint.Claim, object *resourceapi.ResourceClaim, v *view) (*resourceac.ResourceClaimStatusApplyConfiguration, bool) {
	now := metav1.NewTime(s.driver.options.Clock.Now())
	status, differs := resourceac.ResourceClaimStatus(), false
	for i := range claim.Devices {
		device := &claim.Devices[i]
		if isListed(claim.Devices[:i], device) {
			continue // the list has a device once
		}
		want := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonPrepared, Message: v.messages[device.Device]}
		if message, ok := v.unknown[device.Device]; ok {
			want.Status, want.Reason, want.Message = metav1.ConditionUnknown, ReasonUnknown, message
		}
		if message, ok := v.unhealthy[device.Device]; ok {
			want.Status, want.Reason, want.Message = metav1.ConditionFalse, ReasonFault, message
		}
		want.LastTransitionTime = now
		if have := conditionOf(object, s.driver.options.Name, device); have == nil {
			differs = true
		} else {
			if have.Status == want.Status {
				want.LastTransitionTime = have.LastTransitionTime
			}
			differs = differs || have.Status != want.Status || have.Reason != want.Reason || have.Message != want.Message
		}
		allocated := resourceac.AllocatedDeviceStatus().WithDriver(s.driver.options.Name).WithPool(device.Pool).WithDevice(device.Device).
			WithConditions(metaac.Condition().WithType(want.Type).WithStatus(want.Status).WithReason(want.Reason).WithMessage(want.Message).
				WithLastTransitionTime(want.LastTransitionTime))
		if device.ShareID != nil {
			allocated.WithShareID(string(*device.ShareID))
		}
		status.WithDevices(allocated)
	}
	return status, differs
}

func isListed(devices []checkpoint.Device, device *checkpoint.Device) bool {
	for i := range devices {
		if devices[i].Device == device.Device && devices[i].Pool == device.Pool && equal(devices[i].ShareID, device.ShareID) {
			return true
		}
	}
	return false
}

func conditionOf(object *resourceapi.ResourceClaim, driver string, device *checkpoint.Device) *metav1.Condition {
	for i := range object.Status.Devices {
		have := &object.Status.Devices[i]
		if have.Driver == driver && have.Pool == device.Pool && have.Device == device.Device && equal((*types.UID)(have.ShareID), device.ShareID) {
			return meta.FindStatusCondition(have.Conditions, ConditionReady)
		}
	}
	return nil
}

func equal(a, b *types.UID) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
