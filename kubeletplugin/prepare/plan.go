package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/api"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// wanted is what a claim was allocated of this driver's devices on this node.
type wanted struct {
	claim *checkpoint.Claim // its devices have no Holds and no Plan yet
	// kinds by the index of the device.
	kinds   []Kind
	configs api.Configs
}

// ErrNotAllocated: the claim is not to be prepared now.
var ErrNotAllocated = errors.New("the claim is not allocated")

// read checks a claim and finds the kinds of its devices. It is pure.
func (p *Preparer) read(claim *resourceapi.ResourceClaim) (*wanted, error) {
	if claim.UID == "" {
		return nil, errors.New("metadata.uid: it is missing")
	}
	if claim.Status.Allocation == nil {
		return nil, ErrNotAllocated
	}
	configs, err := api.Read(p.options.Driver, claim.Status.Allocation.Devices.Config)
	if err != nil {
		return nil, err
	}
	w := &wanted{configs: configs, claim: &checkpoint.Claim{UID: claim.UID, Namespace: claim.Namespace, Name: claim.Name,
		State: checkpoint.Started, BootID: p.options.BootID}}
	for i, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != p.options.Driver {
			continue
		}
		if result.Pool != p.options.Pool {
			return nil, fmt.Errorf("devices.results[%d].pool: %q is not this node's, which is %q", i, result.Pool, p.options.Pool)
		}
		kind := p.match(result.Device)
		if kind == nil {
			return nil, fmt.Errorf("devices.results[%d].device: %q is no device that this driver prepares", i, result.Device)
		}
		device := checkpoint.Device{Kind: kind.Name(), Request: result.Request, Pool: result.Pool, Device: result.Device,
			AdminAccess: result.AdminAccess != nil && *result.AdminAccess}
		if result.ShareID != nil {
			id := *result.ShareID
			device.ShareID = &id
		}
		w.claim.Devices = append(w.claim.Devices, device)
		w.kinds = append(w.kinds, kind)
	}
	return w, nil
}

func (p *Preparer) match(device string) Kind {
	for _, kind := range p.options.Kinds {
		if kind.Match(device) {
			return kind
		}
	}
	return nil
}

// find finds the hardware of the devices. One that is not there has a lock of its own,
// and no plan is made for it.
func (w *wanted) find(ctx context.Context) error {
	for i := range w.claim.Devices {
		d := &w.claim.Devices[i]
		var err error
		d.Lock, err = w.kinds[i].Find(ctx, d.Device)
		if errors.Is(err, ErrNotThere) {
			d.Lock, err = "no hardware "+d.Device, nil
		}
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Device, err)
		}
	}
	return nil
}

// lockOf is what calls about a device of the checkpoint exclude others by. What it says
// there may be of a release that went by names.
func (p *Preparer) lockOf(d *checkpoint.Device) string {
	if kind, err := p.kind(d.Kind); err == nil {
		if lock, err := kind.Lock(d.Plan); err == nil && lock != "" {
			return lock
		}
	}
	return d.Lock
}

// errChanged: whoever had the hardware before has changed it so that the name is another
// one's now.
var errChanged = errors.New("the hardware is another one since it was waited for; prepare the claim again")

// plan completes the claim: what it holds, which is checked against the others,
// and what is to be done for it. It is pure.
func (p *Preparer) plan(w *wanted, node *hardware.Node, others []*checkpoint.Claim) (*checkpoint.Claim, error) {
	claim := *w.claim
	claim.Devices = slices.Clone(w.claim.Devices)
	requests := make([]*Request, len(claim.Devices))
	for i := range claim.Devices {
		d := &claim.Devices[i]
		requests[i] = &Request{Node: node, Device: d.Device, ShareID: d.ShareID, Request: d.Request, AdminAccess: d.AdminAccess, Configs: w.configs}
		if d.AdminAccess {
			continue
		}
		var err error
		if d.Holds, err = w.kinds[i].Holds(requests[i]); err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Device, err)
		}
	}
	if err := admit(&claim, others); err != nil {
		return nil, err
	}
	for i := range claim.Devices {
		d := &claim.Devices[i]
		var err error
		if d.Plan, err = w.kinds[i].Plan(requests[i], p.plansOf(others, d.Kind, d.Lock)); err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Device, err)
		}
		if p.lockOf(d) != d.Lock {
			return nil, fmt.Errorf("device %s: %w", d.Device, errChanged)
		}
	}
	return &claim, nil
}

// plansOf other claims, of one kind and behind one lock.
func (p *Preparer) plansOf(others []*checkpoint.Claim, kind, lock string) []json.RawMessage {
	var plans []json.RawMessage
	for _, claim := range others {
		for i := range claim.Devices {
			if d := &claim.Devices[i]; d.Kind == kind && p.lockOf(d) == lock {
				plans = append(plans, d.Plan)
			}
		}
	}
	return plans
}

// isFor says whether a claim of the checkpoint was made for this allocation.
func (w *wanted) isFor(claim *checkpoint.Claim) bool {
	return slices.EqualFunc(w.claim.Devices, claim.Devices, func(a, b checkpoint.Device) bool {
		return a.Kind == b.Kind && a.Request == b.Request && a.Pool == b.Pool && a.Device == b.Device && a.AdminAccess == b.AdminAccess &&
			equalShares(a.ShareID, b.ShareID)
	})
}

func equalShares(a, b *types.UID) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
