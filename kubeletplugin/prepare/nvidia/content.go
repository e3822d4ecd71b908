package nvidia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// described names a device of simulated hardware.
type described struct {
	Type        string `json:"type"`
	ProductName string `json:"productName"`
	UUID        string `json:"uuid"`
	PCIAddress  string `json:"pciAddress"`
	Profile     string `json:"profile,omitempty"`
	ParentUUID  string `json:"parentUUID,omitempty"`
	MemoryBytes uint64 `json:"memoryBytes"`
}

func (k *gpuKind) Content(_ context.Context, plan *gpuPlan, _ *gpuOutcome) (*prepare.Content, error) {
	gpu, done, err := k.open(plan.UUID)
	if err != nil {
		return nil, err
	}
	defer done()
	content, _, err := k.content(gpu)
	if err != nil {
		return nil, err
	}
	memory, err := gpu.MemoryBytes()
	content.Hardware = &described{Type: "gpu", ProductName: plan.ProductName, UUID: plan.UUID, PCIAddress: plan.PCIAddress, MemoryBytes: memory}
	return content, err
}

func (k *migKind) Content(_ context.Context, plan *migPlan, outcome *migOutcome) (*prepare.Content, error) {
	if outcome == nil || outcome.GPUInstance == nil || outcome.ComputeInstance == nil {
		return nil, errors.New("the partition has no instances")
	}
	gpu, done, err := k.open(plan.UUID)
	if err != nil {
		return nil, err
	}
	defer done()
	content, minor, err := k.content(gpu)
	if err != nil {
		return nil, err
	}
	dir := fmt.Sprintf("proc/driver/nvidia/capabilities/gpu%d/mig/gi%d", minor, *outcome.GPUInstance)
	for _, file := range []string{path.Join(dir, "access"), path.Join(dir, fmt.Sprintf("ci%d", *outcome.ComputeInstance), "access")} {
		node, err := k.capability(file)
		if err != nil {
			return nil, err
		}
		content.Edits.DeviceNodes = append(content.Edits.DeviceNodes, node)
	}
	partition, err := k.options.Library.DeviceByUUID(outcome.UUID)
	if err != nil {
		return nil, fmt.Errorf("partition %s: %w", outcome.UUID, err)
	}
	memory, err := partition.MemoryBytes()
	content.Hardware = &described{Type: "mig", ProductName: plan.ProductName, UUID: outcome.UUID, PCIAddress: plan.PCIAddress,
		Profile: plan.Profile, ParentUUID: plan.UUID, MemoryBytes: memory}
	return content, err
}

// content is what everything on a GPU has. The minor number can change with the MIG
// mode.
func (m *machine) content(gpu hardware.GPUDevice) (content *prepare.Content, minor int, err error) {
	minor, err = gpu.MinorNumber()
	if err != nil {
		return nil, 0, err
	}
	content = &prepare.Content{Edits: specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{{Path: fmt.Sprintf("/dev/nvidia%d", minor)}}}}
	content.Common.Env = []string{"NVIDIA_VISIBLE_DEVICES=void"}
	for _, name := range []string{"nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"} {
		there, err := m.exists(path.Join("dev", name)) // which depends on the modules that are loaded
		if err != nil {
			return nil, 0, err
		}
		if there {
			content.Common.DeviceNodes = append(content.Common.DeviceNodes, &specs.DeviceNode{Path: path.Join("/dev", name)})
		}
	}
	return content, minor, m.addDriverFiles(&content.Common)
}

// capability is the device node that a file of the driver speaks of. The node need
// not be there on the host, so it is described in full.
func (m *machine) capability(file string) (*specs.DeviceNode, error) {
	text, err := fs.ReadFile(m.options.Host, file)
	if err != nil {
		return nil, err
	}
	minor := -1
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); key == "DeviceFileMinor" {
			if minor, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("%s: DeviceFileMinor: %w", file, err)
			}
		}
	}
	if minor < 0 {
		return nil, fmt.Errorf("%s: it has no DeviceFileMinor", file)
	}
	major, err := m.capabilitiesMajor()
	return &specs.DeviceNode{Path: fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor), Type: "c", Major: major, Minor: int64(minor), Permissions: "r"}, err
}

// capabilitiesMajor is the number of the driver of capabilities.
func (m *machine) capabilitiesMajor() (int64, error) {
	const file, driver = "proc/devices", "nvidia-caps"
	text, err := fs.ReadFile(m.options.Host, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == driver {
			return strconv.ParseInt(fields[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s: it has no %s", file, driver)
}
