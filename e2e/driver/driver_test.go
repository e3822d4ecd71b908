package driver_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestADriverPublishesPreparesAndTakesBack(t *testing.T) {
	n := newNode(t, "two-gpus")
	driver := n.start(nil)
	n.published("the GPUs", hasDevice("gpu-0-mig-1g10gb-19-6"))
	k := n.kubelet()
	claim := n.claim("a", "gpu-0-mig-1g10gb-19-6", "gpu-1")
	devices, err := k.prepare(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if len(devices) != 2 || len(devices[0].CdiDeviceIds) == 0 {
		t.Fatalf("devices are %v", devices)
	}
	view, err := n.folder.View()
	if err != nil {
		t.Fatal(err)
	}
	if mig := view.Node.GPUs[0].MIG; mig == nil || len(mig.Instances) != 1 {
		t.Errorf("the GPU has %+v", mig)
	}
	if files := n.cdiFiles(); len(files) == 0 {
		t.Error("there is no CDI file")
	}
	n.eventually("status.devices", func() error {
		object, err := n.client.ResourceV1().ResourceClaims("default").Get(t.Context(), claim.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(object.Status.Devices) != 2 || object.Status.Devices[0].Conditions[0].Status != metav1.ConditionTrue {
			return fmt.Errorf("it is %+v", object.Status.Devices)
		}
		return nil
	})
	// The partition is the claim's, not a stranger's: the rest stays published.
	n.published("the partition", hasDevice("gpu-0-mig-1g10gb-19-6"))
	if err := n.client.ResourceV1().ResourceClaims("default").Delete(t.Context(), claim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := k.unprepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if files := n.cdiFiles(); len(files) != 0 {
		t.Errorf("there are still %v", files)
	}
	before := n.slices()
	driver.stop()
	n.start(nil)
	n.kubelet()
	n.eventually("a second driver", func() error {
		if after := n.slices(); len(after) != len(before) || after[0].ResourceVersion != before[0].ResourceVersion {
			return errors.New("the slices are others")
		}
		return nil
	})
}
