package partitioning_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// clock is one on which waiting takes no time, because its time goes by by it.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.now = c.now.Add(d)
	passed := make(chan time.Time)
	close(passed)
	return passed
}

// device is what a published device is on the hardware.
type device struct {
	name string
	gpu  hardware.PCIAddress
	// whole is the name of the whole GPU, attribute the value of profile, if any.
	whole, attribute string
	// profile is of a partition and of a virtual GPU that one backs, kind of a virtual
	// GPU; a whole GPU has neither.
	profile *hardware.MIGProfile
	kind    *hardware.VGPUType
	// position is the number at the end of the name: where a partition begins, or
	// which of its type a virtual GPU is.
	position int
}

// newDevice finds what a name stands for; profile is the device's attribute.
func newDevice(node *hardware.Node, name, profile string) (*device, error) {
	found, ok := publish.FindNVIDIA(node, name)
	if !ok {
		return nil, fmt.Errorf("device %s: it is none of the node's", name)
	}
	d := &device{name: name, gpu: found.GPU.Address, whole: publish.NVIDIAGPUName(found.GPU.Minor), attribute: profile,
		profile: found.Profile, kind: found.VGPU, position: found.Slot}
	if found.Profile != nil {
		d.position = found.Placement.Start
	}
	return d, nil
}

// driver prepares allocated devices as the node's driver would: with calls of the
// GPU library, and virtual GPUs by what a write to sysfs does.
type driver struct {
	library  hardware.GPULibrary
	store    *engine.Memory
	clock    *clock
	prepared map[string]prepared
}

// prepared is what was made for a device.
type prepared struct {
	device   *device
	instance hardware.GPUInstance     // nil without
	compute  hardware.ComputeInstance // nil without
	vf       int                      // -1 without
}

func newDriver(node *hardware.Node, state *engine.State, c *clock) (*driver, error) {
	store, err := engine.NewMemory(node, state, c)
	if err != nil {
		return nil, err
	}
	library := gpulib.NewLibrary(engine.NewBackend(store, c), c)
	return &driver{library, store, c, map[string]prepared{}}, library.Init()
}

// prepare makes a device that is not prepared.
func (d *driver) prepare(want *device) error {
	gpu, err := d.library.DeviceByPCIAddress(want.gpu)
	if err != nil {
		return err
	}
	if err := setMode(gpu, want.profile != nil); err != nil {
		return err
	}
	p := prepared{device: want, vf: -1}
	if want.profile != nil {
		at := hardware.Placement{Start: want.position, Size: want.profile.MemorySlices}
		if p.instance, err = gpu.CreateGPUInstanceAt(want.profile.ID, at); err != nil {
			return err
		}
	}
	switch {
	case want.kind != nil:
		p.vf, err = d.createVGPU(want)
	case want.profile != nil:
		whole, _ := numbering.ComputeProfileID(want.profile.ComputeSlices)
		p.compute, err = p.instance.CreateComputeInstance(whole)
		if err == nil {
			err = d.setProcesses(p, 1)
		}
	default:
		if err = d.checkWhole(want); err == nil {
			err = d.setProcesses(p, 1)
		}
	}
	d.prepared[want.name] = p
	return err
}

// setMode changes the MIG mode of a GPU that is not in it yet.
func setMode(gpu hardware.GPUDevice, enabled bool) error {
	current, _, err := gpu.MIGMode()
	if err != nil || current == enabled {
		if !enabled && err != nil {
			return nil // it cannot be partitioned
		}
		return err
	}
	return gpu.SetMIGMode(enabled)
}

// createVGPU makes a virtual GPU on the first virtual function that is none.
func (d *driver) createVGPU(want *device) (vf int, err error) {
	err = d.store.Update(func(e *engine.Engine) error {
		state := d.state(e, want)
		for slices.ContainsFunc(state.VGPU.Active, func(v engine.VirtualGPU) bool { return v.VF == vf }) {
			vf++
		}
		slot := engine.AnySlot
		if want.profile == nil && state.VGPU.MixedSize {
			slot = want.position
		}
		return e.CreateVGPU(want.gpu, vf, want.kind.ID, slot)
	})
	return vf, err
}

func (d *driver) state(e *engine.Engine, want *device) *engine.GPU {
	state := e.State()
	i := slices.IndexFunc(state.GPUs, func(g engine.GPU) bool { return g.Address == want.gpu })
	return &state.GPUs[i]
}

// checkWhole fails if something else is on the GPU.
func (d *driver) checkWhole(want *device) error {
	return d.store.View(func(e *engine.Engine) error {
		state := d.state(e, want)
		if state.MIG != nil && (state.MIG.Current || len(state.MIG.Instances) > 0) || state.VGPU != nil && len(state.VGPU.Active) > 0 || state.Processes > 0 {
			return fmt.Errorf("%s is not whole: %w", want.name, hardware.ErrGPUInUse)
		}
		return nil
	})
}

// setProcesses says how many processes are on what was prepared.
func (d *driver) setProcesses(p prepared, count int) error {
	if p.compute == nil {
		return d.store.Update(func(e *engine.Engine) error { return e.SetProcesses(p.device.gpu, count) })
	}
	instance, err := p.instance.Info()
	if err != nil {
		return err
	}
	return d.store.Update(func(e *engine.Engine) error { return e.SetMIGProcesses(p.device.gpu, instance.ID, 0, count) })
}

// unprepare undoes prepare.
func (d *driver) unprepare(name string) error {
	p := d.prepared[name]
	delete(d.prepared, name)
	if p.vf >= 0 {
		if err := d.store.Update(func(e *engine.Engine) error { return e.DestroyVGPU(p.device.gpu, p.vf) }); err != nil {
			return err
		}
	} else if err := d.setProcesses(p, 0); err != nil {
		return err
	}
	if p.compute != nil {
		if err := p.compute.Destroy(); err != nil {
			return err
		}
	}
	if p.instance == nil {
		return nil
	}
	for range 10 {
		// It stays in use for a moment after the compute instance.
		if err := p.instance.Destroy(); !errors.Is(err, hardware.ErrGPUInUse) {
			return err
		}
		<-d.clock.After(100 * time.Millisecond)
	}
	return p.instance.Destroy()
}
