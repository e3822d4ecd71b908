package state

import (
	"context"
	"fmt"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Play lets a scenario happen to the machine, by the folder's clock, and returns after
// its last step. A scenario that names what is not there is an error with file and
// line, and nothing has happened. A step that the machine refuses ends it, as does the
// context.
func (f *Folder) Play(ctx context.Context, s *scenario.Scenario) error {
	view, err := f.View()
	if err != nil {
		return err
	}
	plan, err := s.Plan(view.Devices())
	if err != nil {
		return err
	}
	watch := newStopwatch(f.clock)
	for _, step := range plan {
		if wait := step.After - watch.look(0); wait > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-f.clock.After(wait):
				watch.look(wait)
			}
		}
		if err := f.Update(func(tx *Tx) error { return tx.Step(&step.Step) }); err != nil {
			return fmt.Errorf("%s: %s: %w", step.Place, step.Step.What(), err)
		}
	}
	return nil
}

// Step makes a step of a scenario happen now, whatever its time. Its device need not
// have its full name.
func (tx *Tx) Step(s *scenario.Step) error {
	switch {
	case s.Reset != nil:
		address, err := tx.find("gpu", s.Reset.GPU)
		if err != nil {
			return err
		}
		return tx.Reset(address)
	case s.Reboot != nil:
		return tx.Reboot()
	case s.Attach != nil:
		return tx.Attach(s.Attach.Device, s.Attach.Node)
	case s.Detach != nil:
		return tx.Detach(s.Detach.Device)
	}
	return tx.Inject(s.Fault)
}

// find is the address of a GPU or a NIC by any of its names.
func (tx *Tx) find(kind, name string) (hardware.PCIAddress, error) {
	devices, err := tx.Devices()
	if err != nil {
		return hardware.PCIAddress{}, err
	}
	found, err := devices.Find(kind, name)
	if err != nil {
		return hardware.PCIAddress{}, &fault.FieldError{Field: kind, Err: err}
	}
	return hardware.ParsePCIAddress(found)
}
