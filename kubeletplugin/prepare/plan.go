package prepare

import (
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
		kind, lock := p.match(result.Device)
		if kind == nil {
			return nil, fmt.Errorf("devices.results[%d].device: %q is no device that this driver prepares", i, result.Device)
		}
		device := checkpoint.Device{Kind: kind.Name(), Request: result.Request, Pool: result.Pool, Device: result.Device, Lock: lock,
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

func (p *Preparer) match(device string) (kind Kind, lock string) {
	for _, kind := range p.options.Kinds {
		if lock, ok := kind.Match(device); ok {
			return kind, lock
		}
	}
	return nil, ""
}

// plan completes the claim: what it holds, which is checked against the others,
// and what is to be done for it. It is pure.
func (w *wanted) plan(node *hardware.Node, others []*checkpoint.Claim) (*checkpoint.Claim, error) {
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
		if d.Plan, err = w.kinds[i].Plan(requests[i], plansOf(others, d)); err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Device, err)
		}
	}
	return &claim, nil
}

// plansOf other claims, of the device's kind and behind the device's lock.
func plansOf(others []*checkpoint.Claim, device *checkpoint.Device) []json.RawMessage {
	var plans []json.RawMessage
	for _, claim := range others {
		for i := range claim.Devices {
			if d := &claim.Devices[i]; d.Kind == device.Kind && d.Lock == device.Lock {
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
