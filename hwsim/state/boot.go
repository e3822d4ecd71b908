package state

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// SetIMEXChannel makes or removes the device node of an IMEX channel, of which the
// driver makes number 0 itself.
func (tx *Tx) SetIMEXChannel(channel int, there bool) error {
	driver := tx.folder.model.base.GPUDriver
	if driver == nil || channel < 0 || channel >= driver.IMEXChannels {
		return syscall.ENXIO
	}
	if channel == 0 {
		if there {
			return syscall.EEXIST
		}
		return syscall.EPERM
	}
	i, found := slices.BinarySearch(tx.doc.IMEXChannels, channel)
	switch {
	case there && found:
		return syscall.EEXIST
	case !there && !found:
		return syscall.ENOENT
	case there:
		tx.doc.IMEXChannels = slices.Insert(tx.doc.IMEXChannels, i, channel)
		tx.event("imex", "", "channel %d has a device node", channel)
	default:
		tx.doc.IMEXChannels = slices.Delete(tx.doc.IMEXChannels, i, i+1)
		tx.event("imex", "", "channel %d has no device node any more", channel)
	}
	return nil
}

// Reset resets a GPU, if nobody uses it: its instances are lost, a pending MIG mode
// takes effect, and what is broken for as long as that is whole again. The error
// is one of hardware's for GPUs.
func (tx *Tx) Reset(gpu hardware.PCIAddress) error {
	gpus, err := tx.gpus()
	if err == nil {
		err = gpus.Reset(gpu)
	}
	if err != nil {
		return fmt.Errorf("reset of gpu %s: %w", gpu, err)
	}
	if err := gpus.SetSlowdown(gpu, false); err != nil {
		return err
	}
	tx.doc.cancel(gpu.String(), coolDown)
	tx.event("reset", gpu.String(), "the GPU was reset")
	return nil
}

// Reboot boots the machine again. Lost is what a kernel or a driver had made or been
// told: virtual functions, also those of the machine's file, bindings and overrides,
// MTUs, virtual GPUs, GPU instances, MIG mode but on Ampere, device nodes of IMEX
// channels; and what is programmed into a card, which begins with the functions of
// its flash again. What a fabric has attached stays, and so do instructions for
// drivers. Broken hardware is whole again, but for errors that are counted for
// life. A fabric pool is no computer: it forgets what its manager was doing.
func (tx *Tx) Reboot() error {
	m, d := tx.folder.model, tx.doc
	d.Boot = m.boot(tx.now, d.Boot.Number+1)
	if m.node == nil {
		tx.rebootPool()
		tx.event("boot", "", "%s starts again", m.name())
		return nil
	}
	for address, base := range functionsOf(m.withPlugged(d)) {
		d.Functions[address] = &function{Driver: base.Driver}
	}
	for address, f := range d.Functions {
		if f.Virtual != nil {
			delete(d.Functions, address)
		}
	}
	gpus, err := tx.gpus()
	if err != nil {
		return err
	}
	gpus.Reboot()
	d.IMEXChannels, d.Bitstreams = nil, nil
	d.Pending = slices.DeleteFunc(d.Pending, func(p pending) bool {
		return p.Kind == linkUp || p.Kind == linkDown || p.Kind == coolDown
	})
	tx.event("boot", "", "%s has booted again: boot %d", m.name(), d.Boot.Number)
	return nil
}

// Redeliver makes the machine be as it was delivered, with all that its file says is
// there. Boots and events go on counting.
func (tx *Tx) Redeliver() error {
	old := tx.doc
	fresh := tx.folder.model.fresh(tx.now, old.Boot.Number+1)
	fresh.Sequence, fresh.LastEvent, fresh.Ahead = old.Sequence, old.LastEvent, old.Ahead
	if fresh.GPUs != nil && old.GPUs != nil {
		fresh.GPUs.LastEvent = old.GPUs.LastEvent // nobody takes a new event for an old one
	}
	tx.doc, tx.engine = fresh, nil
	tx.event("redelivered", "", "%s is as it was delivered", tx.folder.model.name())
	return nil
}
