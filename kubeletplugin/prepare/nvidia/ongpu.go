package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// onGPU is what plans of both kinds say of the GPU. Its fields stand in checkpoints
// among theirs.
type onGPU struct {
	UUID        string `json:"uuid"`
	ProductName string `json:"productName"`
	PCIAddress  string `json:"pciAddress"`
}

func on(gpu *hardware.GPU) onGPU {
	return onGPU{UUID: gpu.UUID, ProductName: gpu.ProductName, PCIAddress: gpu.Address.String()}
}

// lock is Lock of both kinds: what is on a GPU excludes each other.
func (o *onGPU) lock() string { return o.UUID }

func match(device string, kind publish.NVIDIAKind) bool {
	_, is, ok := publish.NVIDIAName(device)
	return ok && is == kind
}

// Find is KindOf's of both kinds: the UUID of the GPU that has the number in the device's
// name now.
func (m *machine) Find(_ context.Context, device string) (lock string, err error) {
	if m.options.Library == nil {
		return "", prepare.ErrNotThere
	}
	name, _, _ := publish.NVIDIAName(device)
	if err := m.options.Library.Init(); err != nil {
		return "", err
	}
	defer m.options.Library.Shutdown()
	count, err := m.options.Library.DeviceCount()
	if err != nil {
		return "", err
	}
	var unknown []error // of GPUs of which each may be the one
	for index := range count {
		gpu, err := m.options.Library.DeviceByIndex(index)
		if err == nil {
			var minor int
			if minor, err = gpu.MinorNumber(); err == nil && publish.NVIDIAGPUName(minor) == name {
				return gpu.UUID()
			}
		}
		if !isGone(err) {
			unknown = append(unknown, err)
		}
	}
	if err := errors.Join(unknown...); err != nil {
		return "", err
	}
	return "", prepare.ErrNotThere
}

func find(request *prepare.Request) (publish.NVIDIADevice, error) {
	if err := isReadable(request); err != nil {
		return publish.NVIDIADevice{}, err
	}
	found, ok := publish.FindNVIDIA(request.Node, request.Device)
	if !ok || found.VGPU != nil { // no kind prepares virtual GPUs
		return found, prepare.ErrNotThere
	}
	return found, nil
}

// isReadable is an error if nobody knows what partitions the device's GPU has: there
// may be some in the way that this driver did not make.
func isReadable(request *prepare.Request) error {
	name, _, _ := publish.NVIDIAName(request.Device)
	for i := range request.Node.GPUs {
		gpu := &request.Node.GPUs[i]
		if publish.NVIDIAGPUName(gpu.Minor) == name && slices.Contains(gpu.Unread, hardware.UnreadMIG) {
			return fmt.Errorf("GPU %s: what partitions it has cannot be read now: %w", gpu.UUID, hardware.ErrGPUUnknown)
		}
	}
	return nil
}

// with does something with a GPU while the library is in use.
func (m *machine) with(uuid string, do func(gpu hardware.GPUDevice) error) error {
	gpu, done, err := m.open(uuid)
	if err != nil {
		return err
	}
	defer done()
	return do(gpu)
}

// verify is with for Verify: a GPU that is not there is not as it was left. One that
// is lost may come back, so nobody knows.
func (m *machine) verify(uuid string, do func(gpu hardware.GPUDevice) error) error {
	gpu, done, err := m.open(uuid)
	if errors.Is(err, hardware.ErrGPUNotFound) {
		return fmt.Errorf("%w: %w", prepare.ErrNotAsLeft, err)
	}
	if err != nil {
		return err
	}
	defer done()
	return do(gpu)
}

// undo is with for Undo: a GPU that has gone has nothing left to take back.
func (m *machine) undo(uuid string, do func(gpu hardware.GPUDevice) error) error {
	if err := m.with(uuid, do); !isGone(err) {
		return err
	}
	return nil
}

// giveBackMIGMode switches the mode back to what it was. If the GPU is in use, by an
// administrator's monitor for example, it stays as it is: a pod must not be kept from
// ending by that, and the next claim switches the mode as it needs it.
func (m *machine) giveBackMIGMode(ctx context.Context, gpu hardware.GPUDevice, enabled bool) error {
	err := m.setMIGMode(ctx, gpu, enabled)
	if isGone(err) || errors.Is(err, hardware.ErrGPUInUse) {
		return nil
	}
	return err
}
