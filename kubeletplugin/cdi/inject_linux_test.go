package cdi_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	cdilibrary "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
)

// A container with simulated devices gets nodes that are /dev/null, and the file that
// says what they stand for.
func TestSimulatedDevicesAreInjected(t *testing.T) {
	dir, simulated := t.TempDir(), t.TempDir()
	d := newDir(t, cdi.Options{Dir: dir, SimulatedDir: simulated})
	if err := d.Write(sample("c-1")); err != nil {
		t.Fatal(err)
	}
	cache, err := cdilibrary.NewCache(cdilibrary.WithSpecDirs(dir), cdilibrary.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	container := &oci.Spec{}
	if missing, err := cache.InjectDevices(container, d.ID("c-1", "gpu-0")); err != nil {
		t.Fatal(missing, err)
	}
	nodes := map[string][2]int64{}
	for _, node := range container.Linux.Devices {
		nodes[node.Path] = [2]int64{node.Major, node.Minor}
	}
	null := [2]int64{1, 3}
	if diff := cmp.Diff(map[string][2]int64{"/dev/nvidia0": null, "/dev/ctl": null}, nodes); diff != "" {
		t.Error(diff)
	}
	found := false
	for _, mount := range container.Mounts {
		if mount.Destination == cdi.SimulatedPath+"/c-1.json" {
			found = true
			if mount.Source != filepath.Join(simulated, "k8s.gpu.dray.dev-claim_c-1.json") || !cmp.Equal(mount.Options[0], "ro") {
				t.Errorf("the mount is %+v", mount)
			}
		}
	}
	if !found {
		t.Errorf("no file says what the devices stand for: %+v", container.Mounts)
	}
}
