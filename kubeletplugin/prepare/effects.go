package prepare

import (
	"context"
	"errors"
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
)

// make prepares a claim of which the machine has nothing.
func (p *Preparer) make(ctx context.Context, w *wanted) ([]Device, error) {
	node, err := p.options.Hardware(ctx)
	if err != nil {
		return nil, err
	}
	others, err := p.options.Store.Claims()
	if err != nil {
		return nil, err
	}
	claim, err := p.plan(w, node, others)
	if err != nil {
		return nil, err
	}
	// Claims for other hardware may have come since; whoever is for the same waits.
	if err := p.options.Store.Put(claim, func(others []*checkpoint.Claim) error { return admit(claim, others) }); err != nil {
		return nil, err
	}
	made := 0
	for ; made < len(claim.Devices) && err == nil; made++ {
		d := &claim.Devices[made]
		if d.Outcome, err = w.kinds[made].Apply(ctx, d.Plan); err != nil {
			err = fmt.Errorf("device %s: %w", d.Device, err)
		}
	}
	var devices []Device
	if err == nil {
		devices, err = p.expose(ctx, claim)
	}
	if err == nil {
		claim.State = checkpoint.Completed
		err = p.options.Store.Put(claim, nil)
	}
	if err != nil {
		claim.State = checkpoint.Started
		claim.Devices = claim.Devices[:made] // for the others nothing was done
		return nil, errors.Join(err, p.rollBack(ctx, claim))
	}
	return devices, nil
}

// rollBack undoes what was made, even though the caller may not wait any more.
func (p *Preparer) rollBack(ctx context.Context, claim *checkpoint.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.options.RollbackTimeout)
	defer cancel()
	if err := p.undo(ctx, claim); err != nil {
		return fmt.Errorf("and what was done cannot be undone now: %w", err)
	}
	return nil
}

// keep returns the devices of a claim whose changes are all in place, or
// ErrNotAsLeft. A CDI file that has gone is written again.
func (p *Preparer) keep(ctx context.Context, claim *checkpoint.Claim) ([]Device, error) {
	for i := range claim.Devices {
		d := &claim.Devices[i]
		kind, err := p.kind(d.Kind)
		if err != nil {
			return nil, err
		}
		if err := kind.Verify(ctx, d.Plan, d.Outcome); err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Device, err)
		}
	}
	return p.expose(ctx, claim)
}

// expose writes the claim's CDI file.
func (p *Preparer) expose(ctx context.Context, claim *checkpoint.Claim) ([]Device, error) {
	file := &cdi.Claim{UID: claim.UID}
	devices := make([]Device, 0, len(claim.Devices))
	for i := range claim.Devices {
		d := &claim.Devices[i]
		kind, err := p.kind(d.Kind)
		if err != nil {
			return nil, err
		}
		content, err := kind.Content(ctx, d.Plan, d.Outcome)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Device, err)
		}
		// A device that two requests have, one of them as an administrator, is in the
		// file once.
		name := cdi.Name(d.Device, d.ShareID)
		if !hasDevice(file, name) {
			file.Devices = append(file.Devices, cdi.Device{Name: name, Edits: content.Edits, Common: content.Common, Hardware: content.Hardware})
		}
		devices = append(devices, Device{Request: d.Request, Pool: d.Pool, Device: d.Device, ShareID: d.ShareID,
			CDIDeviceIDs: []string{p.options.CDI.ID(claim.UID, name)}})
	}
	return devices, p.options.CDI.Write(file)
}

func hasDevice(file *cdi.Claim, name string) bool {
	for i := range file.Devices {
		if file.Devices[i].Name == name {
			return true
		}
	}
	return false
}

// undo takes back what was done for a claim and forgets it. The checkpoint says
// from the beginning that it is not complete any more. What cannot be undone stays
// there, and what could be does not.
func (p *Preparer) undo(ctx context.Context, claim *checkpoint.Claim) error {
	claim.State = checkpoint.Started
	if err := p.options.Store.Put(claim, nil); err != nil {
		return err
	}
	if err := p.options.CDI.Remove(claim.UID); err != nil {
		return err
	}
	all, err := p.options.Store.Claims()
	if err != nil {
		return err
	}
	var others []*checkpoint.Claim
	for _, other := range all {
		if other.UID != claim.UID {
			others = append(others, other)
		}
	}
	for n := len(claim.Devices); n > 0; n-- {
		d := &claim.Devices[n-1]
		kind, err := p.kind(d.Kind)
		if err == nil {
			undoing := &Undoing{Rebooted: claim.BootID != p.options.BootID, Others: p.plansOf(others, d.Kind, p.lockOf(d))}
			err = kind.Undo(ctx, d.Plan, d.Outcome, undoing)
		}
		if err != nil {
			claim.Devices = claim.Devices[:n]
			return errors.Join(fmt.Errorf("device %s: %w", d.Device, err), p.options.Store.Put(claim, nil))
		}
	}
	return p.options.Store.Delete(claim.UID)
}

// kind finds the kind of a device in the checkpoint, which another release may
// have written.
func (p *Preparer) kind(name string) (Kind, error) {
	for _, kind := range p.options.Kinds {
		if kind.Name() == name {
			return kind, nil
		}
	}
	return nil, fmt.Errorf("this release knows no devices of kind %q", name)
}
