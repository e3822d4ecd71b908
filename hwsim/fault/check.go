package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// ErrNoDevice is matched by the error of a fault for a device that is not there.
var ErrNoDevice = errors.New("there is no such device")

// FieldError is what is wrong with a field of a Fault.
type FieldError struct {
	// Field is its path from the Fault: "xid.code".
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) *FieldError {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

// Devices is what faults can be about. Either is nil on a machine without.
type Devices struct {
	Node *hardware.Node
	Pool *hardware.FabricPool
}

// Kind is the field that is set: "xid". It is empty unless there is exactly one.
func (f *Fault) Kind() string {
	kinds := f.kinds()
	if len(kinds) != 1 {
		return ""
	}
	return kinds[0]
}

// Kinds are the names of all faults.
func Kinds() []string {
	return (&Fault{new(XID), new(ECC), new(GPULost), new(Thermal), new(Link), new(DriverLate), new(HalfPublished),
		new(PoolVanished), new(SlowPrepare), new(AttachFailure), new(AttachTimeout)}).kinds()
}

func (f *Fault) kinds() []string {
	var kinds []string
	for _, has := range []struct {
		kind string
		set  bool
	}{
		{"xid", f.XID != nil}, {"ecc", f.ECC != nil}, {"gpuLost", f.GPULost != nil}, {"thermal", f.Thermal != nil},
		{"link", f.Link != nil}, {"driverLate", f.DriverLate != nil}, {"halfPublished", f.HalfPublished != nil},
		{"poolVanished", f.PoolVanished != nil}, {"slowPrepare", f.SlowPrepare != nil},
		{"attachFailure", f.AttachFailure != nil}, {"attachTimeout", f.AttachTimeout != nil},
	} {
		if has.set {
			kinds = append(kinds, has.kind)
		}
	}
	return kinds
}

// maxTimes bounds how often one fault happens.
const maxTimes = 1000

// Validate says what is wrong with a fault in itself.
func (f *Fault) Validate() []*FieldError {
	switch kinds := f.kinds(); {
	case len(kinds) == 0:
		return []*FieldError{wrong("", "no fault is given; there are %s", strings.Join(Kinds(), ", "))}
	case len(kinds) > 1:
		return []*FieldError{wrong(kinds[1], "is a second fault beside %s; give each a step of its own", kinds[0])}
	}
	var c checker
	switch {
	case f.XID != nil:
		if _, ok := XIDByCode(f.XID.Code); !ok {
			c.add("xid.code", "%d is not in the catalog of XIDs", f.XID.Code)
		}
	case f.ECC != nil:
		if f.ECC.Kind != SingleBit && f.ECC.Kind != DoubleBit {
			c.add("ecc.kind", "%q is neither %s nor %s", f.ECC.Kind, SingleBit, DoubleBit)
		}
		c.times("ecc.count", f.ECC.Count)
	case f.Link != nil:
		c.times("link.times", f.Link.Times)
		if f.Link.Times > 1 && (f.Link.Down == 0 || f.Link.Every <= f.Link.Down) {
			c.add("link.every", "a link that goes down %d times must come up in between: every must be longer than down", f.Link.Times)
		} else if f.Link.Every > 0 && f.Link.Times > int(maxDuration/time.Duration(f.Link.Every)) {
			c.add("link.every", "%d times every %s takes longer than %s", f.Link.Times, f.Link.Every, maxDuration)
		}
	case f.DriverLate != nil:
		c.driver("driverLate", f.DriverLate.Driver)
		c.needs("driverLate.for", f.DriverLate.For)
	case f.HalfPublished != nil:
		c.driver("halfPublished", f.HalfPublished.Driver)
		c.needs("halfPublished.for", f.HalfPublished.For)
		c.times("halfPublished.missing", f.HalfPublished.Missing)
	case f.PoolVanished != nil:
		c.driver("poolVanished", f.PoolVanished.Driver)
		c.needs("poolVanished.for", f.PoolVanished.For)
	case f.SlowPrepare != nil:
		s := f.SlowPrepare
		c.driver("slowPrepare", s.Driver)
		c.needs("slowPrepare.takes", s.Takes)
		c.times("slowPrepare.times", s.Times)
		if (s.Times > 0) == (s.For > 0) {
			c.add("slowPrepare.times", "give either for how many claims (times) or for how long (for)")
		}
	case f.AttachFailure != nil:
		c.times("attachFailure.times", f.AttachFailure.Times)
	case f.AttachTimeout != nil:
		c.times("attachTimeout.times", f.AttachTimeout.Times)
	}
	return c.errs
}

type checker struct{ errs []*FieldError }

func (c *checker) add(field, format string, args ...any) {
	c.errs = append(c.errs, wrong(field, format, args...))
}

func (c *checker) times(field string, n int) {
	if n < 0 || n > maxTimes {
		c.add(field, "is %d, which must be from 0 to %d", n, maxTimes)
	}
}

func (c *checker) needs(field string, d Duration) {
	if d == 0 {
		c.add(field, "is missing: a time such as 30s")
	}
}

func (c *checker) driver(fault, name string) {
	if name != "" && !slices.Contains(Drivers, name) {
		c.add(fault+".driver", "%q is not one of %s", name, strings.Join(Drivers, ", "))
	}
}

// Check says what is wrong with a valid fault on a machine: ErrNoDevice for what is
// not there. A device that is Any is there if there is one.
func (f *Fault) Check(devices Devices) error {
	field, kind, name := f.Device()
	if kind == "" {
		return nil
	}
	_, err := devices.Find(kind, name)
	if err == nil && f.XID != nil {
		err = devices.checkInstance(f.XID)
		field = "xid.instance"
	}
	if err != nil {
		return &FieldError{field, err}
	}
	return nil
}

// Device is the field that names the fault's device, what kind it is ("gpu", "nic",
// or "device" of a pool) and its name. The kind is empty for faults of drivers.
func (f *Fault) Device() (field, kind, name string) {
	switch {
	case f.XID != nil:
		return "xid.gpu", "gpu", f.XID.GPU
	case f.ECC != nil:
		return "ecc.gpu", "gpu", f.ECC.GPU
	case f.GPULost != nil:
		return "gpuLost.gpu", "gpu", f.GPULost.GPU
	case f.Thermal != nil:
		return "thermal.gpu", "gpu", f.Thermal.GPU
	case f.Link != nil:
		return "link.nic", "nic", f.Link.NIC
	case f.AttachFailure != nil:
		return "attachFailure.device", "device", f.AttachFailure.Device
	case f.AttachTimeout != nil:
		return "attachTimeout.device", "device", f.AttachTimeout.Device
	}
	return "", "", ""
}

// On returns the fault with another name for its device.
func (f *Fault) On(name string) Fault {
	g := *f
	switch {
	case g.XID != nil:
		g.XID = with(g.XID, func(x *XID) { x.GPU = name })
	case g.ECC != nil:
		g.ECC = with(g.ECC, func(x *ECC) { x.GPU = name })
	case g.GPULost != nil:
		g.GPULost = with(g.GPULost, func(x *GPULost) { x.GPU = name })
	case g.Thermal != nil:
		g.Thermal = with(g.Thermal, func(x *Thermal) { x.GPU = name })
	case g.Link != nil:
		g.Link = with(g.Link, func(x *Link) { x.NIC = name })
	case g.AttachFailure != nil:
		g.AttachFailure = with(g.AttachFailure, func(x *AttachFailure) { x.Device = name })
	case g.AttachTimeout != nil:
		g.AttachTimeout = with(g.AttachTimeout, func(x *AttachTimeout) { x.Device = name })
	}
	return g
}

func with[T any](p *T, change func(*T)) *T {
	copied := *p
	change(&copied)
	return &copied
}

// Find returns the name by which a device is known for good: the PCI address of a
// GPU or NIC, the name of a pool's device. Of Any it is the first.
func (d Devices) Find(kind, name string) (string, error) {
	names := d.Names(kind)
	if name == "" {
		return "", fmt.Errorf("is missing: which %s", kind)
	}
	if name == Any && len(names) > 0 {
		return names[0], nil
	}
	switch kind {
	case "gpu":
		if d.Node != nil {
			for _, gpu := range d.Node.GPUs {
				if name == gpu.Address.String() || name == gpu.UUID || name == strconv.Itoa(gpu.Minor) {
					return gpu.Address.String(), nil
				}
			}
		}
	case "nic":
		if d.Node != nil {
			for _, nic := range d.Node.NICs {
				if name == nic.Address.String() || name == nic.Interface || nic.RDMA != nil && name == nic.RDMA.Device {
					return nic.Address.String(), nil
				}
			}
		}
	default:
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%q: %w, and no other %s on this machine", name, ErrNoDevice, kind)
	}
	if len(names) > 8 {
		names = append(names[:8:8], "…")
	}
	return "", fmt.Errorf("%q: %w; there are %s", name, ErrNoDevice, strings.Join(names, ", "))
}

// Names are all devices of a kind, in the machine's order.
func (d Devices) Names(kind string) []string {
	var names []string
	switch {
	case kind == "gpu" && d.Node != nil:
		for _, gpu := range d.Node.GPUs {
			names = append(names, gpu.Address.String())
		}
	case kind == "nic" && d.Node != nil:
		for _, nic := range d.Node.NICs {
			names = append(names, nic.Address.String())
		}
	case kind == "device" && d.Pool != nil:
		for _, device := range d.Pool.Devices {
			names = append(names, device.Name)
		}
	}
	return names
}

// checkInstance says that an XID's GPU instance is not there.
func (d Devices) checkInstance(x *XID) error {
	if x.Instance == nil {
		return nil
	}
	name, err := d.Find("gpu", x.GPU)
	if err != nil {
		return err
	}
	for _, gpu := range d.Node.GPUs {
		if gpu.Address.String() == name && gpu.MIG != nil &&
			slices.ContainsFunc(gpu.MIG.Instances, func(i hardware.GPUInstanceState) bool { return i.ID == *x.Instance }) {
			return nil
		}
	}
	return fmt.Errorf("GPU instance %d of %s: %w", *x.Instance, name, ErrNoDevice)
}
