package nvidia

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// Options of the kinds.
type Options struct {
	Library hardware.GPULibrary
	Host    hardware.Host
	// DriverRoot is where on the host the driver's files are: "/", or the folder of a
	// container that has installed it, "/run/nvidia/driver".
	DriverRoot string
	// StaticMIG gives out the partitions that an administrator has made, instead of
	// making them. It goes with publish.MIGStatic.
	StaticMIG bool
	// Wait waits between two attempts; nil is a timer.
	Wait func(ctx context.Context, d time.Duration) error
	// Step, if set, is called before each change to the machine with what is about to
	// happen. Tests end the process there.
	Step func(what string)
}

// Kinds are whole GPUs and partitions.
func Kinds(options Options) []prepare.Kind {
	m := &machine{options}
	return []prepare.Kind{prepare.Typed(&gpuKind{m}), prepare.Typed(&migKind{m})}
}

// machine is what both kinds do with the GPU library.
type machine struct{ options Options }

func (m *machine) step(format string, arguments ...any) {
	if m.options.Step != nil {
		m.options.Step(fmt.Sprintf(format, arguments...))
	}
}

// open finds a GPU. The library is in use until done is called.
func (m *machine) open(uuid string) (gpu hardware.GPUDevice, done func(), err error) {
	if err := m.options.Library.Init(); err != nil {
		return nil, nil, err
	}
	done = func() { m.options.Library.Shutdown() }
	gpu, err = m.options.Library.DeviceByUUID(uuid)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return gpu, done, nil
}

// isGone says whether a GPU has nothing left to undo.
func isGone(err error) bool {
	return errors.Is(err, hardware.ErrGPUNotFound) || errors.Is(err, hardware.ErrGPULost)
}

// Something that ends lets go of a GPU soon, but not at once.
const (
	attempts = 40
	pause    = 250 * time.Millisecond
)

// whileInUse repeats what fails because something is still in use.
func (m *machine) whileInUse(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if !errors.Is(err, hardware.ErrGPUInUse) || attempt == attempts {
			return err
		}
		if waitErr := m.wait(ctx, pause); waitErr != nil {
			return errors.Join(err, waitErr)
		}
	}
}

func (m *machine) wait(ctx context.Context, d time.Duration) error {
	if m.options.Wait != nil {
		return m.options.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// setMIGMode switches the mode and sees to it that it is in force.
func (m *machine) setMIGMode(ctx context.Context, gpu hardware.GPUDevice, enabled bool) error {
	current, _, err := gpu.MIGMode()
	if err != nil || current == enabled {
		return err
	}
	word := map[bool]string{true: "on", false: "off"}[enabled]
	m.step("switch MIG mode %s", word)
	if err := m.whileInUse(ctx, func() error { return gpu.SetMIGMode(enabled) }); err != nil {
		return fmt.Errorf("MIG mode cannot be switched %s: %w", word, err)
	}
	current, _, err = gpu.MIGMode()
	if err == nil && current != enabled {
		m.step("leave MIG mode as it is")
		err = errors.Join(fmt.Errorf("MIG mode cannot be switched %s before the GPU is reset: %w", word, hardware.ErrGPUResetRequired),
			gpu.SetMIGMode(current))
	}
	return err
}

// isPartitioned says whether the GPU is in MIG mode.
func isPartitioned(gpu hardware.GPUDevice) (bool, error) {
	current, _, err := gpu.MIGMode()
	if errors.Is(err, hardware.ErrGPUNotSupported) {
		return false, nil
	}
	return current, err
}

// instances of a GPU: none if it is not in MIG mode.
func instances(gpu hardware.GPUDevice) ([]hardware.GPUInstanceState, error) {
	if on, err := isPartitioned(gpu); err != nil || !on {
		return nil, err
	}
	var all []hardware.GPUInstanceState
	for kind := range hardware.GPUInstanceProfileKinds {
		profile, err := gpu.GPUInstanceProfile(kind)
		if errors.Is(err, hardware.ErrGPUNotSupported) || errors.Is(err, hardware.ErrGPUInvalidArgument) {
			continue
		}
		if err != nil {
			return nil, err
		}
		handles, err := gpu.GPUInstances(profile.ID)
		if err != nil {
			return nil, err
		}
		for _, handle := range handles {
			state, err := handle.Info()
			if errors.Is(err, hardware.ErrGPUNotFound) {
				continue // it has gone since
			}
			if err != nil {
				return nil, err
			}
			all = append(all, state)
		}
	}
	return all, nil
}
