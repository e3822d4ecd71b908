package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

var (
	// ErrBindingTimeout: allocated devices did not meet their binding conditions
	// in time. PostFilter of a later cycle frees them.
	ErrBindingTimeout = errors.New("device binding timeout")
	// ErrBindingFailed: a binding failure condition of an allocated device is
	// true. PostFilter of a later cycle frees it.
	ErrBindingFailed = errors.New("device binding failed")
)

// awaitBinding waits until all devices of the pod meet their binding conditions.
func (p *Plugin) awaitBinding(ctx context.Context, s *podState, pod *corev1.Pod, nodeName string) *fwk.Status {
	if !bindingConditionsOn(p.features) || !slices.ContainsFunc(s.claims, func(c podClaim) bool { return hasConditions(c.claim) }) {
		return nil
	}
	logger := klog.FromContext(ctx)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeNormal, "BindingConditionsPending", "Scheduling",
		"waiting for binding conditions for device on node %s", nodeName)
	began := p.clock.Now()
	err := wait.PollUntilContextTimeout(ctx, p.bindingPoll, p.args.BindingTimeout.Duration, true, func(context.Context) (bool, error) {
		return p.allReady(s)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ErrBindingTimeout, err)
	}
	p.countBinding(s, err, p.clock.Since(began))
	if err != nil {
		return failed(ctx, pod, fmt.Errorf("%w%s", err, unmet(s)))
	}
	return nil
}

// allReady looks at the claims as they are now.
func (p *Plugin) allReady(s *podState) (bool, error) {
	for i := range s.claims {
		c := &s.claims[i]
		if !c.allocated() {
			continue // a special claim that the node does not need
		}
		claim, err := p.manager.ResourceClaims().Get(c.claim.Namespace, c.claim.Name)
		switch {
		case err != nil:
			return false, err
		case claim.UID != c.claim.UID:
			return false, fmt.Errorf("claim %s got deleted and created anew in the meantime", klog.KObj(claim))
		case claim.Status.Allocation == nil:
			return false, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", klog.KObj(claim))
		}
		c.claim = claim
		ready, err := readyForBinding(claim)
		switch {
		case err != nil:
			return false, err
		case !ready && p.bindingTimedOut(claim):
			return false, fmt.Errorf("%w: claim=%s", ErrBindingTimeout, claim.Name)
		case !ready:
			return false, nil
		}
	}
	return true, nil
}

// readyForBinding says whether all binding conditions of the claim's devices are
// true, which they are if there are none. The error says that a failure condition
// is true.
func readyForBinding(claim *resourceapi.ResourceClaim) (bool, error) {
	ready := true
	for i := range claim.Status.Allocation.Devices.Results {
		device := &claim.Status.Allocation.Devices.Results[i]
		if len(device.BindingConditions) == 0 {
			continue
		}
		conditions := deviceConditions(claim, device)
		for _, name := range device.BindingFailureConditions {
			if c := apimeta.FindStatusCondition(conditions, name); c != nil && c.Status == metav1.ConditionTrue {
				return false, fmt.Errorf("%w: claim=%s, reason=%s, message=%q", ErrBindingFailed, claim.Name, c.Reason, c.Message)
			}
		}
		for _, name := range device.BindingConditions {
			ready = ready && apimeta.IsStatusConditionTrue(conditions, name)
		}
	}
	return ready, nil
}

// bindingTimedOut says whether the claim's devices have been waiting for binding
// conditions for too long.
func (p *Plugin) bindingTimedOut(claim *resourceapi.ResourceClaim) bool {
	allocation := claim.Status.Allocation
	if allocation == nil || allocation.AllocationTimestamp == nil || !hasConditions(claim) {
		return false
	}
	return allocation.AllocationTimestamp.Add(p.args.BindingTimeout.Duration).Before(p.clock.Now())
}

func hasConditions(claim *resourceapi.ResourceClaim) bool {
	return claim.Status.Allocation != nil &&
		slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(device resourceapi.DeviceRequestAllocationResult) bool {
			return len(device.BindingConditions) > 0
		})
}

func deviceConditions(claim *resourceapi.ResourceClaim, device *resourceapi.DeviceRequestAllocationResult) []metav1.Condition {
	for i := range claim.Status.Devices {
		status := &claim.Status.Devices[i]
		sameShare := (status.ShareID == nil) == (device.ShareID == nil) &&
			(device.ShareID == nil || *status.ShareID == string(*device.ShareID))
		if status.Driver == device.Driver && status.Pool == device.Pool && status.Device == device.Device && sameShare {
			return status.Conditions
		}
	}
	return nil
}

// unmet lists the devices whose binding conditions are not true, for the error.
func unmet(s *podState) string {
	var devices []string
	for i := range s.claims {
		claim := s.claims[i].claim
		if claim.Status.Allocation == nil {
			continue
		}
		for k := range claim.Status.Allocation.Devices.Results {
			device := &claim.Status.Allocation.Devices.Results[k]
			conditions := deviceConditions(claim, device)
			var missing []string
			for _, name := range device.BindingConditions {
				if !apimeta.IsStatusConditionTrue(conditions, name) {
					missing = append(missing, name)
				}
			}
			if len(missing) > 0 {
				devices = append(devices, fmt.Sprintf("%s/%s/%s lacks %s", device.Driver, device.Pool, device.Device, strings.Join(missing, ", ")))
			}
		}
	}
	if len(devices) == 0 {
		return ""
	}
	return ": " + strings.Join(devices, "; ")
}

// countBinding records how waiting for binding conditions ended, in the metrics
// that Kubernetes' plugin has for it.
func (p *Plugin) countBinding(s *podState, err error, waited time.Duration) {
	label := metrics.BindingConditionsStatusSuccess
	switch {
	case err == nil:
	case errors.Is(err, ErrBindingTimeout):
		label = metrics.BindingConditionsStatusTimeout
	case errors.Is(err, ErrBindingFailed):
		label = metrics.BindingConditionsStatusFailed
	default:
		label = metrics.BindingConditionsStatusError
	}
	profile := p.handle.ProfileName()
	for i := range s.claims {
		if !s.claims[i].allocated() {
			continue
		}
		for _, device := range s.claims[i].claim.Status.Allocation.Devices.Results {
			metrics.DRABindingConditionsPreBindDuration.WithLabelValues(profile, device.Driver, label).Observe(waited.Seconds())
			if len(device.BindingConditions) > 0 {
				metrics.DRABindingConditionsAllocationsTotal.WithLabelValues(profile, device.Driver, label).Inc()
			}
		}
	}
}
