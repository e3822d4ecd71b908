package cdi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	cdilibrary "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
)

func newDir(t *testing.T, options cdi.Options) *cdi.Dir {
	t.Helper()
	options.Driver = "gpu.dray.dev"
	d, err := cdi.NewDir(options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sample(uid types.UID) *cdi.Claim {
	common := specs.ContainerEdits{Env: []string{"A=1"}, DeviceNodes: []*specs.DeviceNode{{Path: "/dev/ctl"}},
		Mounts: []*specs.Mount{{HostPath: "/usr/lib/a", ContainerPath: "/usr/lib/a"}}}
	share := types.UID("s-1")
	return &cdi.Claim{UID: uid, Devices: []cdi.Device{
		{Name: cdi.Name("gpu-0", nil), Edits: specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{{Path: "/dev/nvidia0"}}}, Common: common, Hardware: 1},
		{Name: cdi.Name("gpu-1", &share), Edits: specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{{Path: "/dev/nvidia1"}}}, Common: common, Hardware: 2},
	}}
}

// A runtime's own code finds the devices by the IDs that the kubelet is told.
func TestRuntimesFindTheDevices(t *testing.T) {
	dir := t.TempDir()
	d := newDir(t, cdi.Options{Dir: dir})
	if err := d.Write(sample("c-1")); err != nil {
		t.Fatal(err)
	}
	cache, err := cdilibrary.NewCache(cdilibrary.WithSpecDirs(dir), cdilibrary.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"k8s.gpu.dray.dev/claim=c-1-gpu-0", "k8s.gpu.dray.dev/claim=c-1-gpu-1-s-1"}
	if diff := cmp.Diff(want, cache.ListDevices()); diff != "" {
		t.Error(diff)
	}
	share := types.UID("s-1")
	if got := d.ID("c-1", cdi.Name("gpu-1", &share)); got != want[1] {
		t.Errorf("the kubelet is told %s", got)
	}
	if errs := cache.GetErrors(); len(errs) > 0 {
		t.Error(errs)
	}
	spec := cache.GetDevice(want[0]).GetSpec()
	if n := len(spec.ContainerEdits.DeviceNodes) + len(spec.ContainerEdits.Mounts) + len(spec.ContainerEdits.Env); n != 3 {
		t.Errorf("what is common to both devices is there %d times, not 3", n)
	}
}

func TestWhatARuntimeWouldRefuseIsNotWritten(t *testing.T) {
	for name, spoil := range map[string]func(c *cdi.Claim){
		"two of a name":     func(c *cdi.Claim) { c.Devices[1].Name = "gpu-0" },
		"a device's name":   func(c *cdi.Claim) { c.Devices[0].Name = "gpu 0" },
		"no devices":        func(c *cdi.Claim) { c.Devices = nil },
		"nothing to edit":   func(c *cdi.Claim) { c.Devices[0].Edits = specs.ContainerEdits{} },
		"no UID":            func(c *cdi.Claim) { c.UID = "" },
		"a variable":        func(c *cdi.Claim) { c.Devices[0].Edits.Env = []string{"A"} },
		"no path in a node": func(c *cdi.Claim) { c.Devices[0].Edits.DeviceNodes[0].Path = "" },
	} {
		dir := t.TempDir()
		c := sample("c-1")
		spoil(c)
		if err := newDir(t, cdi.Options{Dir: dir}).Write(c); err == nil {
			t.Errorf("%s was written", name)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v, %v", name, entries, err)
		}
	}
}

func TestOnlyFilesOfOursAreListedAndRemoved(t *testing.T) {
	dir, simulated := t.TempDir(), t.TempDir()
	d := newDir(t, cdi.Options{Dir: dir, SimulatedDir: simulated})
	for _, uid := range []types.UID{"b", "a"} {
		if err := d.Write(sample(uid)); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"nvidia.yaml", "k8s.gpu.nvidia.com-claim_a.yaml", "k8s.gpu.dray.dev-claim_.json", "k8s.gpu.dray.dev-claim_a.yaml", "spec.1.tmp",
		"k8s.gpu.dray.dev-claim_killed.json.tmp"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := d.List(); err != nil || !cmp.Equal(list, []types.UID{"a", "b", "killed"}) {
		t.Errorf("listed: %v, %v", list, err)
	}
	for _, uid := range []types.UID{"a", "a", "b", "killed"} {
		if err := d.Remove(uid); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range others[:5] {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("another's file: %v", err)
		}
	}
	if list, err := d.List(); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if entries, err := os.ReadDir(simulated); err != nil || len(entries) > 0 {
		t.Errorf("left of simulated hardware: %v, %v", entries, err)
	}
}

func TestTheSameClaimIsNotWrittenTwice(t *testing.T) {
	steps := 0
	d := newDir(t, cdi.Options{Dir: t.TempDir(), SimulatedDir: t.TempDir(), Step: func(string) { steps++ }})
	if err := d.Write(sample("a")); err != nil {
		t.Fatal(err)
	}
	first := steps
	if err := d.Write(sample("a")); err != nil || steps != first || first == 0 {
		t.Errorf("%d steps, then %d: %v", first, steps, err)
	}
}

func TestFoldersThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]cdi.Options{
		"relative": {Driver: "gpu.dray.dev", Dir: "cdi"},
		"none":     {Driver: "gpu.dray.dev"},
		"one":      {Driver: "gpu.dray.dev", Dir: dir, SimulatedDir: dir + "/"},
		"driver":   {Driver: "gpu dray", Dir: dir},
	} {
		if _, err := cdi.NewDir(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
