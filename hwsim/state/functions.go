package state

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// What can be set of functions through the kernel's files. Errors are those that
// the kernel's store functions return (drivers/pci/iov.c, drivers/base/bus.c and
// drivers/pci/pci-sysfs.c of Linux 6), or, where a vendor's driver answers, what is
// said at the place.

// maxMTU is what mlx5 has.
const maxMTU = 9978

var (
	driverForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)
	hex32      = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

func validDriver(name string) bool { return name == "" || driverForm.MatchString(name) }

// gpus is the engine over the transaction's GPUs.
func (tx *Tx) gpus() (*engine.Engine, error) {
	if tx.engine == nil {
		if tx.doc.GPUs == nil {
			return nil, hardware.ErrGPUNotFound
		}
		e, err := engine.Open(tx.folder.model.withPlugged(tx.doc), tx.doc.GPUs, fixed{tx.now})
		if err != nil {
			return nil, err
		}
		tx.engine = e
	}
	return tx.engine, nil
}

// GPUs calls a function with the engine over the machine's GPUs, for what a GPU
// library has no call for: processes, a fault, instances that are being destroyed.
func (tx *Tx) GPUs(do func(*engine.Engine) error) error {
	gpus, err := tx.gpus()
	if err != nil {
		return err
	}
	return do(gpus)
}

// base is what never changes of a physical function, or nil.
func (tx *Tx) base(address hardware.PCIAddress) *hardware.PCIFunction {
	return functionsOf(tx.folder.model.withPlugged(tx.doc))[address]
}

// gpu of an address as it never changes, or nil.
func (tx *Tx) gpu(address hardware.PCIAddress) *hardware.GPU {
	node := tx.folder.model.withPlugged(tx.doc)
	for i := range node.GPUs {
		if node.GPUs[i].Address == address {
			return &node.GPUs[i]
		}
	}
	return nil
}

// nic likewise; of a virtual function, its physical one.
func (tx *Tx) nic(address hardware.PCIAddress) *hardware.NIC {
	if f := tx.doc.Functions[address]; f != nil && f.Virtual != nil {
		address = f.Virtual.Physical
	}
	node := tx.folder.model.withPlugged(tx.doc)
	for i := range node.NICs {
		if node.NICs[i].Address == address {
			return &node.NICs[i]
		}
	}
	return nil
}

// SetVFs is a write to sriov_numvfs.
func (tx *Tx) SetVFs(physical hardware.PCIAddress, count int) error {
	f, base := tx.doc.Functions[physical], tx.base(physical)
	if f == nil || base == nil || base.SRIOV == nil {
		return syscall.ENOENT
	}
	present := len(tx.doc.vfsOf(physical))
	gpu := tx.gpu(physical)
	switch {
	case count < 0:
		return syscall.EINVAL
	case count > base.SRIOV.TotalVFs:
		return syscall.ERANGE
	case count == present:
		return nil
	case f.Driver == "" || f.Driver != tx.folder.model.native(tx.doc, physical):
		return syscall.ENOENT // no driver, or one that makes no virtual functions
	case gpu != nil && gpu.VGPU == nil:
		return syscall.ENOENT // NVIDIA's driver makes them on hosts of virtual GPUs only
	case count > 0 && present > 0:
		return syscall.EBUSY
	case count == 0:
		return tx.removeVFs(physical)
	}
	return tx.makeVFs(physical, base, count)
}

// removeVFs takes the virtual functions away. Those that are virtual GPUs are in use.
func (tx *Tx) removeVFs(physical hardware.PCIAddress) error {
	vfs := tx.doc.vfsOf(physical)
	for index, vf := range vfs {
		if tx.gpu(physical) != nil && currentVGPU(tx.doc.GPUs, physical, index) != 0 {
			return syscall.EBUSY
		}
		delete(tx.doc.Functions, vf)
	}
	if len(vfs) > 0 {
		tx.event("sriov", physical.String(), "%d virtual functions are gone", len(vfs))
	}
	return nil
}

func (tx *Tx) makeVFs(physical hardware.PCIAddress, base *hardware.PCIFunction, count int) error {
	plan := tx.folder.model.node.VFs[physical]
	if plan == nil {
		return syscall.ENOMEM
	}
	taken := tx.taken()
	nic := tx.nic(physical)
	autoprobe := !tx.doc.Functions[physical].NoAutoprobe
	for n := range count {
		address, ok := plan.Address(n)
		if !ok {
			return syscall.ENOMEM // there are no bus numbers left
		}
		v := &virtual{Physical: physical, Index: n, Group: -1, Uverbs: -1}
		if base.IOMMUGroup >= 0 {
			v.Group = taken.number("group")
		}
		if nic != nil {
			taken.name(v, nic, plan)
		}
		f := &function{Virtual: v, Down: nic != nil && !nic.Up}
		if autoprobe {
			f.Driver = plan.Driver
		}
		tx.doc.Functions[address] = f
	}
	tx.event("sriov", physical.String(), "%d virtual functions are there", count)
	return nil
}

// takenNames is what functions have that others cannot have.
type takenNames struct {
	names   map[string]bool // "interface ens1v0", "RDMA mlx5_0"
	numbers map[string]map[int]bool
}

func (tx *Tx) taken() *takenNames {
	t := &takenNames{map[string]bool{}, map[string]map[int]bool{"group": {}, "uverbs": {}}}
	node := tx.folder.model.withPlugged(tx.doc)
	for _, f := range functionsOf(node) {
		t.numbers["group"][f.IOMMUGroup] = true
	}
	for i := range node.NICs {
		nic := &node.NICs[i]
		t.names["interface "+nic.Interface] = true
		if nic.RDMA != nil {
			t.names["RDMA "+nic.RDMA.Device] = true
			t.numbers["uverbs"][nic.RDMA.Uverbs] = true
		}
	}
	for _, f := range tx.doc.Functions {
		if v := f.Virtual; v != nil {
			t.names["interface "+v.Interface] = true
			t.names["RDMA "+v.RDMA] = true
			t.numbers["group"][v.Group] = true
			t.numbers["uverbs"][v.Uverbs] = true
		}
	}
	return t
}

// number takes the lowest one that is free.
func (t *takenNames) number(kind string) int {
	for n := 0; ; n++ {
		if !t.numbers[kind][n] {
			t.numbers[kind][n] = true
			return n
		}
	}
}

// free takes the first of the names that is free.
func (t *takenNames) free(kind string, names ...func(n int) string) string {
	for _, name := range names {
		last := ""
		for n := 0; ; n++ {
			text := name(n)
			if text == last || text == "" || kind == "interface" && len(text) > 15 {
				break // the form has no number in it
			}
			if last = text; !t.names[kind+" "+text] {
				t.names[kind+" "+text] = true
				return text
			}
		}
	}
	return ""
}

var portSuffix = regexp.MustCompile(`np[0-9]+$`)

// name gives a virtual function of a NIC its names: those of the machine's file, or
// those that udev would make of the physical function's, or the kernel's own.
func (t *takenNames) name(v *virtual, physical *hardware.NIC, plan *machine.VFPlan) {
	fixed := func(text string) func(int) string { return func(int) string { return text } }
	if physical.Interface != "" {
		v.Interface = t.free("interface", fixed(plan.Interface(v.Index)),
			fixed(fmt.Sprintf("%sv%d", portSuffix.ReplaceAllString(physical.Interface, ""), v.Index)),
			func(n int) string { return fmt.Sprintf("eth%d", n) })
	}
	if physical.RDMA != nil {
		family, _, _ := strings.Cut(physical.RDMA.Device, "_")
		v.RDMA = t.free("RDMA", fixed(plan.RDMA(v.Index)), func(n int) string { return fmt.Sprintf("%s_%d", family, n) })
		v.Uverbs = t.number("uverbs")
	}
}

// SetAutoprobe is a write to sriov_drivers_autoprobe.
func (tx *Tx) SetAutoprobe(physical hardware.PCIAddress, on bool) error {
	f := tx.doc.Functions[physical]
	if f == nil || f.Virtual != nil {
		return syscall.ENOENT
	}
	f.NoAutoprobe = !on
	return nil
}

// SetOverride is a write to driver_override; an empty name takes it away. Who has the
// function keeps it.
func (tx *Tx) SetOverride(address hardware.PCIAddress, driver string) error {
	f := tx.doc.Functions[address]
	if f == nil {
		return syscall.ENOENT
	}
	if !validDriver(driver) {
		return syscall.EINVAL
	}
	f.Override = driver
	return nil
}

// Bind is a write to a driver's file bind: the function must be free, and the driver
// one that takes it by itself or by its override.
func (tx *Tx) Bind(driver string, address hardware.PCIAddress) error {
	f := tx.doc.Functions[address]
	switch {
	case f == nil:
		return syscall.ENODEV
	case f.Override != "" && f.Override != driver, f.Override == "" && tx.folder.model.native(tx.doc, address) != driver:
		return syscall.ENODEV
	case f.Driver != "":
		return syscall.EBUSY
	case driver == vfioDriver && tx.group(address) < 0:
		return syscall.EINVAL // its probe fails without an IOMMU
	}
	f.Driver = driver
	tx.event("driver", address.String(), "%s has it", driver)
	return nil
}

// group is the IOMMU's, or -1.
func (tx *Tx) group(address hardware.PCIAddress) int {
	if f := tx.doc.Functions[address]; f != nil && f.Virtual != nil {
		return f.Virtual.Group
	}
	return tx.base(address).IOMMUGroup
}

// Unbind is a write to a driver's file unbind. A physical function loses its virtual
// ones, and a GPU its instances. Where a driver's clients hold a device the kernel
// would wait for them to end; here it is EBUSY.
func (tx *Tx) Unbind(driver string, address hardware.PCIAddress) error {
	f := tx.doc.Functions[address]
	if f == nil || f.Driver == "" || f.Driver != driver {
		return syscall.ENODEV
	}
	if f.Virtual != nil {
		physical := f.Virtual.Physical
		if tx.gpu(physical) != nil && currentVGPU(tx.doc.GPUs, physical, f.Virtual.Index) != 0 {
			return syscall.EBUSY
		}
	} else if driver == tx.folder.model.native(tx.doc, address) {
		if tx.gpu(address) != nil {
			if err := tx.Reset(address); err != nil && !errors.Is(err, hardware.ErrGPULost) {
				return errnoOf(err)
			}
		}
		if err := tx.removeVFs(address); err != nil {
			return err
		}
	}
	f.Driver = ""
	tx.event("driver", address.String(), "%s has let go of it", driver)
	return nil
}

// Probe is a write to drivers_probe: a function that is free gets the driver of its
// override, or its own.
func (tx *Tx) Probe(address hardware.PCIAddress) error {
	f := tx.doc.Functions[address]
	if f == nil {
		return syscall.ENODEV
	}
	driver := f.Override
	if driver == "" {
		driver = tx.folder.model.native(tx.doc, address)
	}
	if f.Driver != "" || !slices.Contains(tx.folder.model.loadedDrivers(), driver) {
		return nil
	}
	if err := tx.Bind(driver, address); err != nil {
		return syscall.EINVAL
	}
	return nil
}

// SetMTU is a write to an interface's mtu. The limits are mlx5's, 4092 those of
// InfiniBand.
func (tx *Tx) SetMTU(address hardware.PCIAddress, mtu int) error {
	f, nic := tx.doc.Functions[address], tx.nic(address)
	if f == nil || nic == nil {
		return syscall.ENODEV
	}
	most := maxMTU
	if nic.Link == hardware.LinkInfiniBand {
		most = 4092
	}
	if mtu < 68 || mtu > most {
		return syscall.EINVAL
	}
	f.MTU = mtu
	return nil
}

// SetEswitch is a write to the mode of a physical function's embedded switch.
func (tx *Tx) SetEswitch(address hardware.PCIAddress, mode string) error {
	f := tx.doc.Functions[address]
	if f == nil || f.Virtual != nil {
		return syscall.ENODEV
	}
	if mode != "legacy" && mode != "switchdev" {
		return syscall.EINVAL
	}
	f.Eswitch = mode
	return nil
}

// SetVGPU is a write to current_vgpu_type of a virtual function: type 0 takes the
// virtual GPU away. What NVIDIA's driver answers to a wish that it cannot fulfil is
// not known; here a type that the GPU does not have is EINVAL, a virtual function
// that is another one already EBUSY, a GPU without room ENOSPC.
func (tx *Tx) SetVGPU(address hardware.PCIAddress, kind int) error {
	f := tx.doc.Functions[address]
	if f == nil || f.Virtual == nil {
		return syscall.ENODEV
	}
	gpus, err := tx.gpus()
	if err != nil {
		return syscall.ENODEV
	}
	physical, index := f.Virtual.Physical, f.Virtual.Index
	switch current := currentVGPU(tx.doc.GPUs, physical, index); {
	case current == kind:
		return nil
	case kind == 0:
		err = gpus.DestroyVGPU(physical, index)
	case current != 0:
		return syscall.EBUSY
	default:
		err = gpus.CreateVGPU(physical, index, kind, engine.AnySlot)
	}
	if err != nil {
		return errnoOf(err)
	}
	tx.event("vgpu", address.String(), "its vGPU type is %d", kind)
	return nil
}

// errnoOf is what a driver makes of an error of its GPU.
func errnoOf(err error) error {
	switch {
	case errors.Is(err, hardware.ErrGPUInUse):
		return syscall.EBUSY
	case errors.Is(err, hardware.ErrGPUInsufficientResources):
		return syscall.ENOSPC
	case errors.Is(err, hardware.ErrGPULost), errors.Is(err, hardware.ErrGPUResetRequired):
		return syscall.EIO
	case errors.Is(err, hardware.ErrGPUNotFound):
		return syscall.ENODEV
	}
	return syscall.EINVAL
}
