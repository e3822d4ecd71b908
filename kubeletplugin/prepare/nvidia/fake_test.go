package nvidia_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// machine is a GPU library, and the files beside it, over one Node that changes as
// it is told. It has what the kinds use and no more; the whole behaviour of GPUs is
// module hwsim's, which cannot be imported here.
type machine struct {
	hardware.GPULibrary
	mu   sync.Mutex
	node *hardware.Node
	// modes are compute modes by UUID.
	modes map[string]hardware.ComputeMode
	lost  map[string]bool
	// unread are GPUs of whose partitions nothing can be read.
	unread map[string]bool
	// fail, if set, is asked before each call that can fail.
	fail func(call string) error
	// open counts Init without Shutdown.
	open int
	// generation is in the UUIDs of partitions, which are new after each reboot.
	generation int
}

// nodes are those that were read, by name: tests begin with one hundreds of times.
var nodes sync.Map

func readNode(t testing.TB, name string) *hardware.Node {
	t.Helper()
	if node, ok := nodes.Load(name); ok {
		return node.(*hardware.Node).Clone()
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "publish", "testdata", "nodes", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	node := &hardware.Node{}
	if err := yaml.UnmarshalStrict(data, node); err != nil {
		t.Fatal(err)
	}
	nodes.Store(name, node.Clone()) // lists that the file has once are each its own
	return node.Clone()
}

func newMachine(node *hardware.Node) *machine {
	return &machine{node: node, modes: map[string]hardware.ComputeMode{}, lost: map[string]bool{}, unread: map[string]bool{}}
}

// discovered is the node as discovery would find it.
func (m *machine) discovered() *hardware.Node {
	node := m.look()
	for i := range node.GPUs {
		if gpu := &node.GPUs[i]; m.unread[gpu.UUID] {
			gpu.MIG, gpu.VGPU, gpu.Unread = nil, nil, []string{hardware.UnreadMIG}
		}
	}
	return node
}

// look is the node as it is.
func (m *machine) look() *hardware.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.Clone()
}

// reboot loses what a reboot loses.
func (m *machine) reboot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	clear(m.modes)
	clear(m.lost)
	for i := range m.node.GPUs {
		if mig := m.node.GPUs[i].MIG; mig != nil {
			mig.Enabled = mig.Pending && m.node.GPUs[i].MIGModeNeedsReset()
			mig.Pending, mig.Instances = mig.Enabled, nil
		}
	}
}

func (m *machine) asked(call string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(call)
}

func (m *machine) Init() error {
	if err := m.asked("Init"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open++
	return nil
}

func (m *machine) Shutdown() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
	return nil
}

func (m *machine) DriverVersion() (string, error) {
	return m.look().GPUDriver.Version, m.asked("DriverVersion")
}

func (m *machine) DeviceCount() (int, error) { return len(m.look().GPUs), m.asked("DeviceCount") }

func (m *machine) DeviceByIndex(index int) (hardware.GPUDevice, error) {
	return &device{machine: m, uuid: m.look().GPUs[index].UUID}, m.asked("DeviceByIndex")
}

func (m *machine) DeviceByUUID(uuid string) (hardware.GPUDevice, error) {
	if err := m.asked("DeviceByUUID"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == 0 {
		return nil, hardware.ErrGPUUninitialized
	}
	for i := range m.node.GPUs {
		gpu := &m.node.GPUs[i]
		if gpu.UUID == uuid {
			return &device{machine: m, uuid: uuid}, nil
		}
		if gpu.MIG == nil {
			continue
		}
		for _, instance := range gpu.MIG.Instances {
			if len(instance.ComputeInstances) > 0 && instance.ComputeInstances[0].UUID == uuid {
				return &device{machine: m, uuid: gpu.UUID, partition: uuid}, nil
			}
		}
	}
	return nil, hardware.ErrGPUNotFound
}

type device struct {
	hardware.GPUDevice
	machine   *machine
	uuid      string
	partition string
}

// on runs a call on the GPU as it is now.
func on[T any](d *device, call string, do func(gpu *hardware.GPU) (T, error)) (T, error) {
	var none T
	if err := d.machine.asked(call); err != nil {
		return none, fmt.Errorf("%s: %w", call, err)
	}
	d.machine.mu.Lock()
	defer d.machine.mu.Unlock()
	if d.machine.lost[d.uuid] {
		return none, hardware.ErrGPULost
	}
	i := slices.IndexFunc(d.machine.node.GPUs, func(g hardware.GPU) bool { return g.UUID == d.uuid })
	if i < 0 {
		return none, hardware.ErrGPUNotFound
	}
	return do(&d.machine.node.GPUs[i])
}

func (d *device) UUID() (string, error) {
	return on(d, "UUID", func(g *hardware.GPU) (string, error) { return g.UUID, nil })
}

func (d *device) MinorNumber() (int, error) {
	return on(d, "MinorNumber", func(g *hardware.GPU) (int, error) { return g.Minor, nil })
}

func (d *device) MemoryBytes() (uint64, error) {
	return on(d, "MemoryBytes", func(g *hardware.GPU) (uint64, error) {
		if d.partition == "" {
			return g.MemoryBytes, nil
		}
		for _, instance := range g.MIG.Instances {
			if len(instance.ComputeInstances) > 0 && instance.ComputeInstances[0].UUID == d.partition {
				return profile(g, instance.ProfileID).Resources.MemoryBytes, nil
			}
		}
		return 0, hardware.ErrGPUNotFound
	})
}

func profile(g *hardware.GPU, id int) *hardware.MIGProfile {
	i := slices.IndexFunc(g.MIG.Profiles, func(p hardware.MIGProfile) bool { return p.ID == id })
	return &g.MIG.Profiles[i]
}

func (d *device) SetComputeMode(mode hardware.ComputeMode) error {
	_, err := on(d, "SetComputeMode", func(g *hardware.GPU) (int, error) {
		d.machine.modes[g.UUID] = mode
		if mode == hardware.ComputeModeDefault {
			delete(d.machine.modes, g.UUID)
		}
		return 0, nil
	})
	return err
}

func (d *device) MIGMode() (current, pending bool, err error) {
	modes, err := on(d, "MIGMode", func(g *hardware.GPU) ([2]bool, error) {
		if g.MIG == nil {
			return [2]bool{}, hardware.ErrGPUNotSupported
		}
		return [2]bool{g.MIG.Enabled, g.MIG.Pending}, nil
	})
	return modes[0], modes[1], err
}

func (d *device) SetMIGMode(enabled bool) error {
	_, err := on(d, "SetMIGMode", func(g *hardware.GPU) (int, error) {
		if len(g.MIG.Instances) > 0 {
			return 0, hardware.ErrGPUInUse
		}
		g.MIG.Pending = enabled
		if !g.MIGModeNeedsReset() {
			g.MIG.Enabled = enabled
		}
		return 0, nil
	})
	return err
}

func (d *device) GPUInstanceProfile(kind hardware.GPUInstanceProfileKind) (hardware.MIGProfile, error) {
	return on(d, "GPUInstanceProfile", func(g *hardware.GPU) (hardware.MIGProfile, error) {
		for _, p := range g.MIG.Profiles {
			if p.Kind == kind {
				return p, nil
			}
		}
		return hardware.MIGProfile{}, hardware.ErrGPUNotSupported
	})
}

func (d *device) CreateGPUInstanceAt(profileID int, placement hardware.Placement) (hardware.GPUInstance, error) {
	id, err := on(d, "CreateGPUInstanceAt", func(g *hardware.GPU) (int, error) {
		if !g.MIG.Enabled {
			return 0, hardware.ErrGPUNotSupported
		}
		id := 1
		for _, other := range g.MIG.Instances {
			if other.Placement.Start < placement.Start+placement.Size && placement.Start < other.Placement.Start+other.Placement.Size {
				return 0, hardware.ErrGPUInsufficientResources
			}
			id = max(id, other.ID+1)
		}
		g.MIG.Instances = append(g.MIG.Instances, hardware.GPUInstanceState{ID: id, ProfileID: profileID, Placement: placement})
		return id, nil
	})
	return &instance{device: d, id: id}, err
}

func (d *device) GPUInstances(profileID int) ([]hardware.GPUInstance, error) {
	return on(d, "GPUInstances", func(g *hardware.GPU) (handles []hardware.GPUInstance, err error) {
		for _, i := range g.MIG.Instances {
			if i.ProfileID == profileID {
				handles = append(handles, &instance{device: d, id: i.ID})
			}
		}
		return handles, nil
	})
}

func (d *device) GPUInstanceByID(id int) (hardware.GPUInstance, error) {
	i := &instance{device: d, id: id}
	_, err := i.Info()
	return i, err
}

type instance struct {
	hardware.GPUInstance
	device *device
	id     int
}

// in runs a call on the instance as it is now.
func in[T any](i *instance, call string, do func(g *hardware.GPU, index int) (T, error)) (T, error) {
	return on(i.device, call, func(g *hardware.GPU) (T, error) {
		index := slices.IndexFunc(g.MIG.Instances, func(s hardware.GPUInstanceState) bool { return s.ID == i.id })
		if index < 0 {
			var none T
			return none, hardware.ErrGPUNotFound
		}
		return do(g, index)
	})
}

func (i *instance) Info() (hardware.GPUInstanceState, error) {
	return in(i, "GPUInstance.Info", func(g *hardware.GPU, index int) (hardware.GPUInstanceState, error) {
		state := g.MIG.Instances[index]
		state.ComputeInstances = nil
		return state, nil
	})
}

// ComputeInstanceProfile has one profile for each number of slices, with the kind
// as its ID.
func (i *instance) ComputeInstanceProfile(kind hardware.ComputeInstanceProfileKind) (hardware.ComputeInstanceProfile, error) {
	return in(i, "ComputeInstanceProfile", func(g *hardware.GPU, index int) (hardware.ComputeInstanceProfile, error) {
		slices := []int{1, 2, 3, 4, 7, 8, 6, 0}[kind]
		if slices == 0 || slices > profile(g, g.MIG.Instances[index].ProfileID).ComputeSlices {
			return hardware.ComputeInstanceProfile{}, hardware.ErrGPUNotSupported
		}
		return hardware.ComputeInstanceProfile{Kind: kind, ID: int(kind), ComputeSlices: slices}, nil
	})
}

func (i *instance) CreateComputeInstance(profileID int) (hardware.ComputeInstance, error) {
	_, err := in(i, "CreateComputeInstance", func(g *hardware.GPU, index int) (int, error) {
		list := &g.MIG.Instances[index].ComputeInstances
		if len(*list) > 0 {
			return 0, hardware.ErrGPUInsufficientResources
		}
		*list = append(*list, hardware.ComputeInstanceState{ProfileID: profileID,
			UUID: fmt.Sprintf("MIG-%d-%d-%d", g.Minor, i.id, i.device.machine.generation)})
		return 0, nil
	})
	return &compute{instance: i}, err
}

func (i *instance) ComputeInstances(profileID int) ([]hardware.ComputeInstance, error) {
	return in(i, "ComputeInstances", func(g *hardware.GPU, index int) (handles []hardware.ComputeInstance, err error) {
		for _, c := range g.MIG.Instances[index].ComputeInstances {
			if c.ProfileID == profileID {
				handles = append(handles, &compute{instance: i})
			}
		}
		return handles, nil
	})
}

func (i *instance) ComputeInstanceByID(int) (hardware.ComputeInstance, error) {
	c := &compute{instance: i}
	_, err := c.Info()
	return c, err
}

func (i *instance) Destroy() error {
	_, err := in(i, "GPUInstance.Destroy", func(g *hardware.GPU, index int) (int, error) {
		if len(g.MIG.Instances[index].ComputeInstances) > 0 {
			return 0, hardware.ErrGPUInUse
		}
		g.MIG.Instances = slices.Delete(g.MIG.Instances, index, index+1)
		return 0, nil
	})
	return err
}

type compute struct {
	hardware.ComputeInstance
	instance *instance
}

func (c *compute) Info() (hardware.ComputeInstanceState, error) {
	return in(c.instance, "ComputeInstance.Info", func(g *hardware.GPU, index int) (hardware.ComputeInstanceState, error) {
		if list := g.MIG.Instances[index].ComputeInstances; len(list) > 0 {
			return list[0], nil
		}
		return hardware.ComputeInstanceState{}, hardware.ErrGPUNotFound
	})
}

func (c *compute) Destroy() error {
	_, err := in(c.instance, "ComputeInstance.Destroy", func(g *hardware.GPU, index int) (int, error) {
		g.MIG.Instances[index].ComputeInstances = nil
		return 0, nil
	})
	return err
}

// host has the files of the machine as it is.
type host struct {
	fs.ReadLinkFS
	machine *machine
}

func (h *host) files() fstest.MapFS {
	files := fstest.MapFS{"proc/devices": {Data: []byte("Character devices:\n195 nvidia\n234 nvidia-caps\n\nBlock devices:\n")},
		"dev/nvidiactl": {}, "dev/nvidia-uvm": {}, "dev/nvidia-uvm-tools": {}}
	node := h.machine.look()
	for _, name := range []string{"usr/lib64/libcuda.so." + node.GPUDriver.Version, "usr/lib64/libcuda.so.1", "usr/lib64/libcuda.so",
		"usr/lib64/libc.so.6", "usr/bin/nvidia-smi", "usr/bin/nvidia-cdi-hook"} {
		files[name] = &fstest.MapFile{}
	}
	for _, gpu := range node.GPUs {
		if gpu.MIG == nil {
			continue
		}
		for _, instance := range gpu.MIG.Instances {
			dir := fmt.Sprintf("proc/driver/nvidia/capabilities/gpu%d/mig/gi%d", gpu.Minor, instance.ID)
			minor := 3 + (gpu.Minor*15+instance.ID)*9
			files[dir+"/access"] = &fstest.MapFile{Data: fmt.Appendf(nil, "DeviceFileMinor: %d\nDeviceFileMode: 292\n", minor)}
			for _, c := range instance.ComputeInstances {
				files[fmt.Sprintf("%s/ci%d/access", dir, c.ID)] = &fstest.MapFile{Data: fmt.Appendf(nil, "DeviceFileMinor: %d\n", minor+1+c.ID)}
			}
		}
	}
	return files
}

func (h *host) Open(name string) (fs.File, error) {
	if err := h.machine.asked("open " + name); err != nil {
		return nil, err
	}
	return h.files().Open(name)
}
func (h *host) Lstat(name string) (fs.FileInfo, error) { return h.files().Lstat(name) }
func (h *host) WriteFile(string, []byte) error         { return errors.ErrUnsupported }
func (h *host) DeviceNode(string) (hardware.DeviceNode, error) {
	return hardware.DeviceNode{}, errors.ErrUnsupported
}
