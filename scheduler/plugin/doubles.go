package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/klog/v2"
)

// doubles finds devices that two claims have, each for itself. With one scheduler
// that allocates there are none; a second one gives out what the first has in
// flight. Devices that are had by admin access or by shares do not count.
//
// It is fed with claims as they change, in any order among claims, and says of each
// pair of claims once that they have a device in common: again only after one of
// them has given it up.
type doubles struct {
	mu sync.Mutex
	// holders are the claims that have a device, in the order in which they were
	// seen; hardly ever more than one.
	holders map[schedulerapi.DeviceID][]*resourceapi.ResourceClaim
}

// double is a device that two claims have. later is the one that got it later.
type double struct {
	device         schedulerapi.DeviceID
	earlier, later *resourceapi.ResourceClaim
}

// change takes a claim's change into account. before is nil for a claim that is new,
// after for one that is gone. Two claims of one name are told apart by their UIDs.
func (d *doubles) change(before, after *resourceapi.ResourceClaim) []double {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before != nil && (after == nil || before.UID != after.UID) {
		d.release(before.UID, ownDevices(before))
		before = nil
	}
	if after == nil {
		return nil
	}
	has := ownDevices(after)
	if before != nil {
		d.release(after.UID, slices.DeleteFunc(ownDevices(before), func(id schedulerapi.DeviceID) bool { return slices.Contains(has, id) }))
	}
	var found []double
	for _, device := range has {
		found = append(found, d.hold(device, after)...)
	}
	return found
}

// hold adds the claim to the device's holders, or replaces what is known of it.
func (d *doubles) hold(device schedulerapi.DeviceID, claim *resourceapi.ResourceClaim) []double {
	if d.holders == nil {
		d.holders = map[schedulerapi.DeviceID][]*resourceapi.ResourceClaim{}
	}
	holders := d.holders[device]
	if i := slices.IndexFunc(holders, func(other *resourceapi.ResourceClaim) bool { return other.UID == claim.UID }); i >= 0 {
		holders[i] = claim
		return nil
	}
	d.holders[device] = append(holders, claim)
	var found []double
	for _, other := range holders {
		pair := double{device: device, earlier: other, later: claim}
		if got := compareAge(other, claim); got > 0 {
			pair.earlier, pair.later = claim, other
		}
		found = append(found, pair)
	}
	return found
}

func (d *doubles) release(claim types.UID, devices []schedulerapi.DeviceID) {
	for _, device := range devices {
		left := slices.DeleteFunc(d.holders[device], func(other *resourceapi.ResourceClaim) bool { return other.UID == claim })
		if len(left) == 0 {
			delete(d.holders, device)
			continue
		}
		d.holders[device] = left
	}
}

// ownDevices are the devices that the claim has for itself.
func ownDevices(claim *resourceapi.ResourceClaim) []schedulerapi.DeviceID {
	if claim.Status.Allocation == nil {
		return nil
	}
	var devices []schedulerapi.DeviceID
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		if result.ShareID != nil || result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		devices = append(devices, schedulerapi.MakeDeviceID(result.Driver, result.Pool, result.Device))
	}
	return devices
}

// compareAge orders allocations by their time where both say it, then claims by
// theirs.
func compareAge(a, b *resourceapi.ResourceClaim) int {
	order := 0
	if x, y := a.Status.Allocation.AllocationTimestamp, b.Status.Allocation.AllocationTimestamp; x != nil && y != nil {
		order = x.Compare(y.Time)
	}
	return cmp.Or(order, a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}

// doublesWatch reports what doubles finds: a Warning event on the later claim, a
// log line and a count.
type doublesWatch struct {
	found    doubles
	client   kubernetes.Interface
	recorder events.EventRecorderLogger
	counted  func()
}

// reasonTwice is the reason of the event.
const reasonTwice = "DeviceAllocatedTwice"

// watch feeds the informer's events to the detector until ctx ends.
func (w *doublesWatch) watch(ctx context.Context, informer cache.SharedIndexInformer) error {
	feed := func(before, after any) {
		was, _ := before.(*resourceapi.ResourceClaim)
		is, _ := after.(*resourceapi.ResourceClaim)
		if pairs := w.found.change(was, is); len(pairs) > 0 {
			go w.report(ctx, pairs)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { feed(nil, object) },
		UpdateFunc: func(before, after any) { feed(before, after) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			feed(object, nil)
		},
	})
	if err != nil {
		return fmt.Errorf("watch claims for devices that are allocated twice: %w", err)
	}
	return nil
}

// report asks the API server first. After a watch that failed, events come in the
// order of a list, so a device may seem to be taken before it seems to be given up.
func (w *doublesWatch) report(ctx context.Context, pairs []double) {
	logger := klog.FromContext(ctx)
	for _, pair := range pairs {
		err := doubtPauses(100*time.Millisecond).DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
			for _, claim := range []*resourceapi.ResourceClaim{pair.earlier, pair.later} {
				holds, err := w.holds(ctx, claim, pair.device)
				switch {
				case err != nil && refusedForGood(err):
					return false, fmt.Errorf("claim %s: %w", klog.KObj(claim), err)
				case err != nil:
					return false, nil
				case !holds:
					return false, errGivenUp
				}
			}
			return true, nil
		})
		switch {
		case errors.Is(err, errGivenUp), err != nil && ctx.Err() != nil:
			continue
		case err != nil:
			logger.Error(err, "Two claims seem to have one device, and the API server does not say whether they do", "device", pair.device, "earlier", klog.KObj(pair.earlier), "later", klog.KObj(pair.later))
			continue
		}
		w.counted()
		logger.Error(nil, "Two claims have one device", "device", pair.device, "earlier", klog.KObj(pair.earlier), "later", klog.KObj(pair.later))
		// The owner of one claim learns nothing about that of another.
		w.recorder.WithLogger(logger).Eventf(pair.later, nil, corev1.EventTypeWarning, reasonTwice, "Scheduling",
			"device %s is allocated to this claim and to another one, which had it before: does a second scheduler allocate devices?", pair.device)
	}
}

// refusedForGood says whether the server will refuse the same call again: it says that
// it is not allowed, or makes no sense, rather than that there are too many, or that it
// does not know who calls, as for a moment when a token is replaced.
func refusedForGood(err error) bool {
	return !mayHaveArrived(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err)
}

var errGivenUp = errors.New("one of the claims does not have the device any more")

// holds says whether the claim has the device for itself now.
func (w *doublesWatch) holds(ctx context.Context, claim *resourceapi.ResourceClaim, device schedulerapi.DeviceID) (bool, error) {
	now, err := w.client.ResourceV1().ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && now.UID == claim.UID && slices.Contains(ownDevices(now), device), err
}
