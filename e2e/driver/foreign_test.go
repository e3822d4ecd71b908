package driver_test

import (
	"errors"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// administrate does something with a GPU as an administrator would.
func (n *node) administrate(index int, do func(gpu hardware.GPUDevice) error) {
	n.t.Helper()
	library := n.folder.GPULibrary()
	err := library.Init()
	if err == nil {
		defer library.Shutdown()
		var gpu hardware.GPUDevice
		if gpu, err = library.DeviceByIndex(index); err == nil {
			err = do(gpu)
		}
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// partition makes the partition that a device's name stands for, whole.
func (n *node) partition(device string) {
	n.t.Helper()
	found, ok := publish.FindNVIDIA(n.hardware(), device)
	if !ok {
		n.t.Fatalf("there is no %s", device)
	}
	n.administrate(found.GPU.Minor, func(gpu hardware.GPUDevice) error {
		if err := gpu.SetMIGMode(true); err != nil {
			return err
		}
		instance, err := gpu.CreateGPUInstanceAt(found.Profile.ID, found.Placement)
		if err != nil {
			return err
		}
		for kind := range hardware.ComputeInstanceProfileKinds {
			profile, err := instance.ComputeInstanceProfile(kind)
			if err == nil && profile.ComputeSlices == found.Profile.ComputeSlices {
				_, err = instance.CreateComputeInstance(profile.ID)
				return err
			}
		}
		return errors.New("there is no compute instance of the whole")
	})
}

func (n *node) instances(gpu int) []hardware.GPUInstanceState {
	n.t.Helper()
	mig := n.hardware().GPUs[gpu].MIG
	if mig == nil {
		return nil
	}
	return mig.Instances
}

// TestAnAdministratorsPartitionStays, whatever claims come and go beside it and however
// often the driver starts; what it is in the way of is not published.
func TestAnAdministratorsPartitionStays(t *testing.T) {
	const theirs, beside, under = "gpu-0-mig-3g40gb-9-0", "gpu-0-mig-1g10gb-19-6", "gpu-0-mig-1g10gb-19-2"
	n := newNode(t, "two-gpus")
	driver := n.start(nil)
	n.published("the GPUs", hasDevice(theirs))
	n.partition(theirs)
	rest := func(devices map[string]resourceapi.Device) error {
		for name, want := range map[string]bool{theirs: false, under: false, "gpu-0": false, beside: true, "gpu-1": true} {
			if _, ok := devices[name]; ok != want {
				return fmt.Errorf("%s is published: %v", name, ok)
			}
		}
		return nil
	}
	n.published("what is left", rest)
	k, claim := n.kubelet(), n.claim("a", beside)
	if _, err := k.prepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	// An allocation from before the partition was made cannot be honoured.
	late := n.claim("late", under)
	if _, err := k.prepare(t.Context(), late); err == nil {
		t.Error("a partition is prepared in the place of another")
	}
	driver.kill()
	driver = n.start(nil)
	n.published("what is left, after a start", rest)
	k = n.kubelet()
	if err := k.unprepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if err := k.unprepare(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if left := n.instances(0); len(left) != 1 || left[0].Placement.Start != 0 {
		t.Errorf("the GPU has %+v", left)
	}
	driver.stop()

	// Static: the administrator's partitions are what is given out.
	n.start(nil, "--mig", "static")
	n.published("the partition", exactly(theirs, "gpu-1"))
	use := n.claim("b", theirs)
	if _, err := n.kubelet().prepare(t.Context(), use); err != nil {
		t.Fatal(err)
	}
	if err := n.kubelet().unprepare(t.Context(), use); err != nil {
		t.Fatal(err)
	}
	if left := n.instances(0); len(left) != 1 {
		t.Errorf("the GPU has %+v", left)
	}
}
