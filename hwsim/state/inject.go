package state

import (
	"fmt"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Devices is what faults can be about now.
func (v *View) Devices() fault.Devices { return fault.Devices{Node: v.Node, Pool: v.Pool} }

// Devices likewise, in a transaction.
func (tx *Tx) Devices() (fault.Devices, error) {
	shown, err := tx.folder.model.show(tx.doc)
	if err != nil {
		return fault.Devices{}, err
	}
	return fault.Devices{Node: shown.node, Pool: tx.folder.model.pool}, nil
}

// Inject makes a fault happen. A fault that is not valid, or whose device is not
// there, is an error, and nothing happens.
func (tx *Tx) Inject(f fault.Fault) error {
	if problems := f.Validate(); len(problems) > 0 {
		return problems[0]
	}
	devices, err := tx.Devices()
	if err != nil {
		return err
	}
	if err := f.Check(devices); err != nil {
		return err
	}
	if _, kind, name := f.Device(); kind != "" {
		name, err := devices.Find(kind, name)
		if err != nil {
			return err
		}
		f = f.On(name)
	}
	return tx.inject(f)
}

// inject makes a fault happen whose device has its full name.
func (tx *Tx) inject(f fault.Fault) error {
	_, kind, device := f.Device()
	tx.event("fault", device, "%s", f.Kind())
	event := &tx.events[len(tx.events)-1]
	event.Fault, event.Signs = &f, f.Signs()
	if kind == "gpu" {
		return tx.injectGPU(f)
	}
	switch {
	case f.Link != nil:
		return tx.injectLink(f.Link)
	case f.DriverLate != nil:
		tx.instruct(f, f.DriverLate.For, 0)
	case f.HalfPublished != nil:
		tx.instruct(f, f.HalfPublished.For, 0)
	case f.PoolVanished != nil:
		tx.instruct(f, f.PoolVanished.For, 0)
	case f.SlowPrepare != nil:
		tx.instruct(f, f.SlowPrepare.For, f.SlowPrepare.Times)
	case f.AttachFailure != nil:
		tx.breakAttaching(device, false, f.AttachFailure.Times)
	case f.AttachTimeout != nil:
		tx.breakAttaching(device, true, f.AttachTimeout.Times)
	}
	return nil
}

func (tx *Tx) injectGPU(f fault.Fault) error {
	_, _, name := f.Device()
	address, err := hardware.ParsePCIAddress(name)
	if err != nil {
		return err
	}
	gpus, err := tx.gpus()
	if err != nil {
		return err
	}
	switch {
	case f.XID != nil:
		where := engine.Everywhere
		if f.XID.Instance != nil {
			where.GPUInstance = *f.XID.Instance
		}
		err = gpus.InjectXID(address, f.XID.Code, where)
	case f.ECC != nil:
		count := uint64(max(1, f.ECC.Count))
		if f.ECC.Kind == fault.SingleBit {
			err = gpus.InjectECC(address, engine.ECC{SingleBit: count})
		} else {
			err = gpus.InjectECC(address, engine.ECC{DoubleBit: count})
		}
	case f.GPULost != nil:
		err = gpus.Lose(address)
	case f.Thermal != nil:
		err = gpus.SetSlowdown(address, true)
		tx.doc.cancel(name, coolDown)
		if f.Thermal.For > 0 {
			tx.doc.schedule(pending{tx.now.Add(time.Duration(f.Thermal.For)), coolDown, name})
		}
	}
	if err != nil {
		return fmt.Errorf("%s on gpu %s: %w", f.Kind(), name, err)
	}
	return nil
}

// injectLink takes a link down now, and schedules the rest.
func (tx *Tx) injectLink(l *fault.Link) error {
	address, err := hardware.ParsePCIAddress(l.NIC)
	if err != nil {
		return err
	}
	tx.doc.cancel(l.NIC, linkUp, linkDown)
	tx.setLink(address, false)
	if l.Down == 0 {
		return nil
	}
	for n := range max(1, l.Times) {
		begin := tx.now.Add(time.Duration(n) * time.Duration(l.Every))
		if n > 0 {
			tx.doc.schedule(pending{begin, linkDown, l.NIC})
		}
		tx.doc.schedule(pending{begin.Add(time.Duration(l.Down)), linkUp, l.NIC})
	}
	return nil
}

func (tx *Tx) setLink(address hardware.PCIAddress, up bool) {
	f := tx.doc.Functions[address]
	if f == nil || f.Down == !up {
		return
	}
	f.Down = !up
	state := "down"
	if up {
		state = "up"
	}
	tx.event("link", address.String(), "the link is %s", state)
}

// settle lets happen what has fallen due, and says whether something had.
func (tx *Tx) settle() (happened bool) {
	now := tx.now
	due := tx.doc.due()
	for len(tx.doc.Pending) > 0 && !tx.doc.Pending[0].At.After(now) {
		p := tx.doc.Pending[0]
		tx.doc.Pending = tx.doc.Pending[1:]
		tx.now = p.At // it happened then
		tx.happens(p)
		happened = true
	}
	tx.now, tx.engine = now, nil // an engine of another time
	if happened = happened || !due.IsZero() && !due.After(now); happened {
		if gpus, err := tx.gpus(); err == nil {
			gpus.Settle()
		}
	}
	return happened
}

func (tx *Tx) happens(p pending) {
	switch p.Kind {
	case linkUp, linkDown:
		if address, err := hardware.ParsePCIAddress(p.Device); err == nil {
			tx.setLink(address, p.Kind == linkUp)
		}
	case coolDown:
		address, err := hardware.ParsePCIAddress(p.Device)
		if err != nil {
			return
		}
		if gpus, err := tx.gpus(); err == nil && gpus.SetSlowdown(address, false) == nil {
			tx.event("thermal", p.Device, "the GPU has cooled down")
		}
	case attachDone, detachDone:
		tx.attachHappens(p)
	}
}
