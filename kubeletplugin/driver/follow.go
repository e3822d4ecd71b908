package driver

import (
	"context"
	"errors"
	"reflect"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// debounce lets events that come together be looked at once.
const debounce = 100 * time.Millisecond

// view is the hardware as it was last seen. It does not change.
type view struct {
	node     *hardware.Node
	problems []watch.Problem
	// devices are those of this driver, whether they are published or withdrawn.
	devices []resourceapi.Device
	// unhealthy are messages about devices that cannot be relied on, by name, and unknown
	// about those of which nobody knows.
	unhealthy, unknown map[string]string
	// messages about devices that have something to say, by name.
	messages map[string]string
	at       time.Time
}

// follow looks at the hardware, and publishes it, until the context ends.
func (d *Driver) follow(ctx context.Context) {
	logger := klog.FromContext(ctx)
	said := ""
	for ctx.Err() == nil {
		err := d.checkBoot()
		if errors.Is(err, ErrRebooted) {
			d.fail(err)
			return
		}
		if err == nil {
			err = d.round(ctx)
		}
		switch {
		case err == nil && said != "":
			logger.Info("The trouble is over", "was", said)
			said = ""
		case err != nil && err.Error() != said && ctx.Err() == nil: // said once
			said = err.Error()
			logger.Error(err, "Publishing waits; it is tried again")
		}
		select {
		case <-ctx.Done():
		case <-d.options.Clock.After(d.options.PollInterval):
		case <-d.wake:
			select {
			case <-ctx.Done():
			case <-d.options.Clock.After(debounce):
			}
		}
	}
}

// round looks once and publishes what is different.
func (d *Driver) round(ctx context.Context) error {
	if err := d.rememberClaims(ctx); err != nil {
		return err
	}
	d.seeing.begin(d.options.Clock.Now())
	node, err := hardware.Discover(d.options.Host, d.options.GPUs)
	if node == nil {
		d.seeing.end(err)
		return err
	}
	d.sayOnce(ctx, err)
	var problems []watch.Problem
	for _, watcher := range d.options.Watchers {
		var found []watch.Problem
		node, found = watcher.Look(ctx, node)
		problems = append(problems, found...)
	}
	d.seeing.end(blind(d.options.Watchers))
	return d.publish(ctx, node, problems)
}

// sayOnce logs what is wrong with devices when it changes.
func (d *Driver) sayOnce(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != d.publishing.unread {
		d.publishing.unread = text
		if err != nil {
			klog.FromContext(ctx).Error(err, "Some hardware cannot be read and is left out")
		}
	}
}

// show replaces the view and tells those who wait for it.
func (d *Driver) show(v *view) {
	d.mu.Lock()
	defer d.mu.Unlock()
	same := d.view != nil && reflect.DeepEqual(d.view.devices, v.devices) && reflect.DeepEqual(d.view.unhealthy, v.unhealthy) &&
		reflect.DeepEqual(d.view.unknown, v.unknown) && reflect.DeepEqual(d.view.messages, v.messages)
	d.view = v
	if !same {
		close(d.changed)
		d.changed = make(chan struct{})
		d.statuses.all()
	}
}

// current is the view, nil before the first, and a channel that is closed when there
// is another.
func (d *Driver) current() (*view, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.view, d.changed
}

// newView says of each device how it is.
func newView(node *hardware.Node, problems []watch.Problem, devices []resourceapi.Device, at time.Time) *view {
	v := &view{node: node, problems: problems, devices: devices, at: at,
		unhealthy: map[string]string{}, unknown: map[string]string{}, messages: map[string]string{}}
	for i := range devices {
		name := devices[i].Name
		for j := range problems {
			if p := &problems[j]; p.Concerns(name) {
				texts := v.messages
				switch {
				case p.Unhealthy:
					texts = v.unhealthy
				case p.Unknown:
					texts = v.unknown
				}
				if texts[name] != "" {
					texts[name] += "; "
				}
				texts[name] += p.Message
			}
		}
	}
	return v
}
