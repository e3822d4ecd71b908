package engine

import (
	"github.com/dray-dev/dray/hwsim/gpulib"
)

// nowhere is the GPUInstance and ComputeInstance of an event of the whole GPU.
const nowhere = -1

// report makes an event part of the call.
func (c *call) report(event Event) {
	event.Time, event.GPU = c.now, c.gpu.Address
	c.events = append(c.events, event)
}

// happened numbers events and keeps the last ones.
func (e *Engine) happened(events []Event) {
	for _, event := range events {
		e.state.LastEvent++
		event.Number = e.state.LastEvent
		e.state.Events = append(e.state.Events, event)
	}
	if more := len(e.state.Events) - maxEvents; more > 0 {
		e.state.Events = append([]Event(nil), e.state.Events[more:]...)
	}
}

// NextEvent is the registered event with the lowest number, of those that are
// kept.
func (e *Engine) NextEvent(registered gpulib.Registrations) (gpulib.Event, bool) {
	for _, event := range e.state.Events {
		i, err := e.index(event.GPU)
		if err != nil {
			continue
		}
		found := gpulib.Event{Number: event.Number}
		found.Device, found.Type, found.Data = e.base.GPUs[i].UUID, event.Type, event.Data
		found.GPUInstance, found.ComputeInstance = event.GPUInstance, event.ComputeInstance
		if registered.Want(found) {
			return found, true
		}
	}
	return gpulib.Event{}, false
}
