package surface

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Running is what the files of a machine that runs say beside its Node: what can be
// written to, and what was.
type Running struct {
	// BootID is the kernel's random UUID of this boot.
	BootID string
	// Drivers are loaded, whether or not they drive something.
	Drivers []string
	// Functions are on the bus and no devices of the Node, such as a GPU that is not
	// bound to NVIDIA's driver.
	Functions []hardware.PCIFunction
	// State of functions; an address without an entry has the zero state.
	State map[hardware.PCIAddress]FunctionState
	// IMEXChannels are those besides channel 0 that have a device node.
	IMEXChannels []int
}

// FunctionState is what can be set of a function.
type FunctionState struct {
	// Override is driver_override, or empty.
	Override string
	// NoAutoprobe: drivers are not tried on virtual functions that are made.
	NoAutoprobe bool
	// Driver and IOMMUGroup of a virtual function that the Node has only as an address
	// of its physical one.
	Driver     string
	IOMMUGroup int
	// VGPU is nil for functions that cannot be a virtual GPU.
	VGPU *VGPUFiles
}

// VGPUFiles is what a virtual function of a GPU says of virtual GPUs.
type VGPUFiles struct {
	// Creatable fit now. Current is the ID of the one that the function is, or 0.
	Creatable []hardware.VGPUType
	Current   int
}

// Files is a surface before it is on disk.
type Files struct{ layout }

// Build makes the surface of a valid node that runs.
func Build(node *hardware.Node, running *Running) (*Files, error) {
	t := buildRunning(node, running)
	if len(t.errs) > 0 {
		return nil, fmt.Errorf("surface of a node: %w", t.errs[0])
	}
	return &Files{t.layout()}, nil
}

// running adds what a running machine has.
func (s *surface) runningMachine() {
	r := s.running
	s.line("proc/sys/kernel/random/boot_id", "%s", r.BootID)
	s.raw("sys/bus/pci/drivers_probe", "")
	for _, driver := range r.Drivers {
		s.driver(driver)
	}
	for i := range r.Functions {
		s.function(&r.Functions[i])
		s.bridges(&r.Functions[i])
		s.physicalOf(&r.Functions[i])
	}
	for _, channel := range r.IMEXChannels {
		s.device(fmt.Sprintf("nvidia-caps-imex-channels/channel%d", channel), node(majorIMEX, channel))
	}
}

// physicalOf links a physical function that is no device of the node with its
// virtual functions.
func (s *surface) physicalOf(f *hardware.PCIFunction) {
	if f.SRIOV == nil || f.IsVF() {
		return
	}
	for index := range f.SRIOV.VFs {
		vf := s.virtualFunctionOf(f, index)
		s.function(vf)
		s.link(path.Join(dirOf(f), fmt.Sprintf("virtfn%d", index)), dirOf(vf))
		s.link(path.Join(dirOf(vf), "physfn"), dirOf(f))
	}
}

func (s *surface) driver(name string) {
	dir := path.Join(busDir, "drivers", name)
	s.raw(path.Join(dir, "bind"), "")
	s.raw(path.Join(dir, "unbind"), "")
}

// settable writes what can be set of a function. A GPU can be reset.
func (s *surface) settable(f *hardware.PCIFunction) {
	if s.running == nil || f.Class == bridgeClass {
		return
	}
	dir, state := dirOf(f), s.running.State[f.Address]
	override := state.Override
	if override == "" {
		override = "(null)"
	}
	s.line(path.Join(dir, "driver_override"), "%s", override)
	if f.Class>>16 == classDisplay && !f.IsVF() {
		s.raw(path.Join(dir, "reset"), "")
	}
	if v := state.VGPU; v != nil {
		var text strings.Builder
		text.WriteString("ID    : vGPU Name\n")
		for _, t := range v.Creatable {
			fmt.Fprintf(&text, "%-5d : %s\n", t.ID, t.Name)
		}
		s.raw(path.Join(dir, "nvidia/creatable_vgpu_types"), text.String())
		s.line(path.Join(dir, "nvidia/current_vgpu_type"), "%d", v.Current)
	}
}

// classDisplay is the base class of GPUs.
const classDisplay = 0x03

// layout is what a folder holds, by names from its root.
type layout struct {
	files map[string]string
	links map[string]string // what is written in the link
	dirs  map[string]bool   // all of them
}

func (t *tree) layout() layout {
	l := layout{t.files, make(map[string]string, len(t.links)), map[string]bool{}}
	above := func(name string) {
		for dir := name; dir != "." && !l.dirs[dir]; dir = path.Dir(dir) {
			l.dirs[dir] = true
		}
	}
	for name := range t.files {
		above(path.Dir(name))
	}
	for name, target := range t.links {
		l.links[name] = relative(name, target)
		above(path.Dir(name))
	}
	for _, dir := range t.dirs {
		above(dir)
	}
	return l
}

// DeviceNodes are the names below dev, sorted.
func (f *Files) DeviceNodes() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if below, ok := strings.CutPrefix(name, "dev/"); ok {
			names = append(names, below)
		}
	}
	return names
}

// IMEXChannel is the device node of a channel.
func IMEXChannel(channel int) hardware.DeviceNode { return node(majorIMEX, channel) }
