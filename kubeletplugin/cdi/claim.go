package cdi

import (
	"errors"
	"path"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"tags.cncf.io/container-device-interface/specs-go"
)

// Claim is what containers of a claim get.
type Claim struct {
	UID     types.UID
	Devices []Device
}

// Device is what containers with one device get.
type Device struct {
	// Name of the device, and share of it if there is one, as Name makes it.
	Name string
	// Edits for those who have this device.
	Edits specs.ContainerEdits
	// Common is for everybody who has any of the claim's; what devices have in
	// common is in the file once.
	Common specs.ContainerEdits
	// Hardware is what the device is, for the file that names simulated hardware.
	Hardware any
}

// SimulatedPath is where containers find the files that say what their simulated
// devices stand for, one for each claim.
const SimulatedPath = "/run/dray.dev/simulated"

// nullDevice stands for every device node of simulated hardware.
const nullDevice = "/dev/null"

// spec is the content of the claim's file, in the oldest version of the format
// that has it, for old runtimes.
func (d *Dir) spec(claim *Claim) (*specs.Spec, error) {
	if claim.UID == "" {
		return nil, errors.New("it has no UID")
	}
	spec := &specs.Spec{Kind: d.vendor + "/" + class}
	for i := range claim.Devices {
		device := &claim.Devices[i]
		merge(&spec.ContainerEdits, &device.Common)
		spec.Devices = append(spec.Devices, specs.Device{
			Name: deviceName(claim.UID, device.Name), ContainerEdits: d.onHost(device.Edits)})
	}
	spec.ContainerEdits = d.onHost(spec.ContainerEdits)
	if d.options.SimulatedDir != "" {
		spec.ContainerEdits.Mounts = append(spec.ContainerEdits.Mounts, &specs.Mount{
			HostPath:      d.path(d.options.SimulatedDir, claim.UID),
			ContainerPath: path.Join(SimulatedPath, string(claim.UID)+extension),
			Options:       []string{"ro", "nosuid", "nodev", "noexec", "bind"},
		})
	}
	version, err := specs.MinimumRequiredVersion(spec)
	spec.Version = version
	return spec, err
}

// merge adds what is not there yet, in its order.
func merge(into, edits *specs.ContainerEdits) {
	for _, variable := range edits.Env {
		if !slices.Contains(into.Env, variable) {
			into.Env = append(into.Env, variable)
		}
	}
	for _, node := range edits.DeviceNodes {
		if !slices.ContainsFunc(into.DeviceNodes, func(n *specs.DeviceNode) bool { return n.Path == node.Path }) {
			into.DeviceNodes = append(into.DeviceNodes, node)
		}
	}
	for _, hook := range edits.Hooks {
		if !slices.ContainsFunc(into.Hooks, func(h *specs.Hook) bool { return reflect.DeepEqual(h, hook) }) {
			into.Hooks = append(into.Hooks, hook)
		}
	}
	for _, mount := range edits.Mounts {
		if !slices.ContainsFunc(into.Mounts, func(m *specs.Mount) bool { return m.ContainerPath == mount.ContainerPath }) {
			into.Mounts = append(into.Mounts, mount)
		}
	}
}

// onHost returns the edits with what this host has: no files of drivers and no
// hooks if the hardware is simulated.
func (d *Dir) onHost(edits specs.ContainerEdits) specs.ContainerEdits {
	if d.options.SimulatedDir == "" {
		return edits
	}
	edits.Mounts, edits.Hooks = nil, nil
	edits.DeviceNodes = slices.Clone(edits.DeviceNodes)
	for i, node := range edits.DeviceNodes {
		edits.DeviceNodes[i] = &specs.DeviceNode{Path: node.Path, HostPath: nullDevice, Permissions: node.Permissions}
	}
	return edits
}

// hardware is the file that names simulated hardware.
type hardware struct {
	Simulated bool             `json:"simulated"`
	Claim     types.UID        `json:"claim"`
	Devices   []hardwareDevice `json:"devices"`
}

type hardwareDevice struct {
	Name     string `json:"name"`
	Hardware any    `json:"hardware"`
}

func hardwareOf(claim *Claim) *hardware {
	h := &hardware{Simulated: true, Claim: claim.UID, Devices: []hardwareDevice{}}
	for _, device := range claim.Devices {
		h.Devices = append(h.Devices, hardwareDevice{device.Name, device.Hardware})
	}
	return h
}
