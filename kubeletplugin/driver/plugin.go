package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"
)

// plugin is the driver as the helper calls it.
type plugin Driver

var _ kubeletplugin.DRAPlugin = (*plugin)(nil)

// PrepareResourceClaims prepares claims side by side: each has its answer, whatever
// becomes of the others.
func (p *plugin) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	d := (*Driver)(p)
	var mu sync.Mutex
	results := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	var group sync.WaitGroup
	for _, claim := range claims {
		group.Go(func() {
			result := d.prepare(ctx, claim)
			mu.Lock()
			defer mu.Unlock()
			results[claim.UID] = result
		})
	}
	group.Wait()
	return results, nil
}

func (d *Driver) prepare(ctx context.Context, claim *resourceapi.ResourceClaim) kubeletplugin.PrepareResult {
	logger := klog.FromContext(ctx).WithValues("claim", klog.KObj(claim), "uid", claim.UID)
	begin := d.options.Clock.Now()
	err := d.beforePrepare(ctx, claim)
	var result kubeletplugin.PrepareResult
	if err == nil {
		prepared, prepareErr := d.preparer.Prepare(ctx, claim)
		err = prepareErr
		for _, device := range prepared {
			result.Devices = append(result.Devices, kubeletplugin.Device{Requests: []string{device.Request}, PoolName: device.Pool,
				DeviceName: device.Device, ShareID: device.ShareID, CDIDeviceIDs: device.CDIDeviceIDs, Metadata: d.metadata(ctx, device.Device)})
		}
	}
	took := d.options.Clock.Now().Sub(begin)
	d.options.Metrics.operation(d.options.Name, "prepare", err, took)
	if err != nil {
		logger.Error(err, "The claim is not prepared", "took", took)
		return kubeletplugin.PrepareResult{Err: err}
	}
	logger.V(2).Info("The claim is prepared", "devices", len(result.Devices), "took", took)
	d.statuses.add(claim.UID)
	d.Wake() // partitions are there that were not
	return result
}

func (d *Driver) beforePrepare(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	if interfere := d.options.Interfere.Prepare; interfere != nil {
		return interfere(ctx, claim)
	}
	return nil
}

// firstLook is how long a claim that is prepared waits for the first look at the
// hardware. Pods that have waited for a driver ask as soon as it has registered.
const firstLook = 10 * time.Second

// metadata is what a container can read of its device: what is published of it. It is
// written now and not again.
func (d *Driver) metadata(ctx context.Context, device string) *kubeletplugin.DeviceMetadata {
	view, changed := d.current()
	if view == nil {
		select {
		case <-ctx.Done():
		case <-changed:
		case <-d.options.Clock.After(firstLook):
		}
		if view, _ = d.current(); view == nil {
			return nil
		}
	}
	for i := range view.devices {
		if view.devices[i].Name != device {
			continue
		}
		attributes := make(map[string]resourceapi.DeviceAttribute, len(view.devices[i].Attributes))
		for name, attribute := range view.devices[i].Attributes {
			attributes[string(name)] = attribute
		}
		return &kubeletplugin.DeviceMetadata{Attributes: attributes}
	}
	return nil
}

// UnprepareResourceClaims takes back what claims had.
func (p *plugin) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	d := (*Driver)(p)
	var mu sync.Mutex
	results := make(map[types.UID]error, len(claims))
	var group sync.WaitGroup
	for _, claim := range claims {
		group.Go(func() {
			begin := d.options.Clock.Now()
			err := d.preparer.Unprepare(ctx, claim.UID)
			took := d.options.Clock.Now().Sub(begin)
			d.options.Metrics.operation(d.options.Name, "unprepare", err, took)
			logger := klog.FromContext(ctx).WithValues("claim", claim.NamespacedName, "uid", claim.UID)
			if err != nil {
				logger.Error(err, "The claim cannot be taken back", "took", took)
			} else {
				logger.V(2).Info("The claim is taken back", "took", took)
			}
			mu.Lock()
			defer mu.Unlock()
			results[claim.UID] = err
		})
	}
	group.Wait()
	d.Wake()
	return results, nil
}

// HandleError tells apart what passes by itself, what the driver does something
// about, and what ends it.
func (p *plugin) HandleError(ctx context.Context, err error, msg string) {
	d := (*Driver)(p)
	logger := klog.FromContext(ctx)
	dropped := (*resourceslice.DroppedFieldsError)(nil)
	switch {
	case errors.As(err, &dropped):
		logger.Error(err, "The API server does not keep what it kept when it was asked; it is asked again")
		d.options.Metrics.publishError(d.options.Name, "dropped-fields")
		select {
		case d.probeAgain <- struct{}{}:
		default:
		}
		d.Wake()
	case apierrors.IsInvalid(err):
		// Repeating it does not help; the next change of the hardware may.
		logger.Error(err, msg)
		d.options.Metrics.publishError(d.options.Name, "invalid")
	case errors.Is(err, kubeletplugin.ErrRecoverable):
		logger.Error(err, msg)
		d.options.Metrics.publishError(d.options.Name, "other")
	default:
		d.fail(fmt.Errorf("%s: %w", msg, err))
	}
}

const (
	// healthInterval is how often health is sent again, well within healthTimeout.
	healthInterval = 10 * time.Second
	// healthTimeout is how long the kubelet believes it.
	healthTimeout = 30 * time.Second
)

// WatchHealthStatus sends the health of all devices, at once when it changes and from
// time to time. Hardware that could not be looked at for a while is not vouched for:
// the kubelet then takes it for unknown.
func (p *plugin) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	d := (*Driver)(p)
	for {
		view, changed := d.current()
		if view != nil && d.options.Clock.Now().Sub(view.at) < healthTimeout {
			select {
			case <-ctx.Done():
				return nil
			case reports <- d.health(view):
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-d.options.Clock.After(healthInterval):
		}
	}
}

func (d *Driver) health(v *view) kubeletplugin.DeviceHealthReport {
	report := kubeletplugin.DeviceHealthReport{Devices: make([]kubeletplugin.DeviceHealth, len(v.devices))}
	for i := range v.devices {
		name := v.devices[i].Name
		health := kubeletplugin.DeviceHealth{PoolName: d.options.Node, DeviceName: name, Health: kubeletplugin.HealthStatusHealthy,
			LastUpdated: v.at, HealthCheckTimeout: healthTimeout, Message: v.messages[name]}
		if text, ok := v.unknown[name]; ok {
			health.Health, health.Message = kubeletplugin.HealthStatusUnknown, text
		}
		if text, ok := v.unhealthy[name]; ok {
			health.Health, health.Message = kubeletplugin.HealthStatusUnhealthy, text
		}
		report.Devices[i] = health
	}
	return report
}
