package state

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// validate checks a document's invariants on its machine. One that passes has the
// shape that show needs, which checks the node that comes of it.
func (m *model) validate(d *document) error {
	v := &validator{model: m, doc: d}
	if d.Ahead < 0 {
		v.fail("ahead: %d ns; a folder's time is not behind the clock", d.Ahead)
	}
	if d.Boot.Number < 1 || !bootForm.MatchString(d.Boot.ID) {
		v.fail("boot: number %d with ID %q; the first boot is 1, and an ID is a UUID", d.Boot.Number, d.Boot.ID)
	}
	if m.node == nil {
		v.noNode()
	} else {
		v.plugged()
		if len(v.errs) == 0 {
			v.functions()
		}
		if len(v.errs) == 0 {
			v.rest()
		}
	}
	v.attachments()
	v.pendingAndEvents()
	return errors.Join(v.errs...)
}

var bootForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

type validator struct {
	*model
	doc  *document
	errs []error
}

func (v *validator) fail(format string, args ...any) {
	if len(v.errs) < 10 {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	}
}

func (v *validator) noNode() {
	d := v.doc
	if len(d.Functions) > 0 || d.GPUs != nil || len(d.Bitstreams) > 0 || len(d.IMEXChannels) > 0 || len(d.Plugged) > 0 {
		v.fail("a pool has no functions, GPUs, bitstreams, channels or plugged devices")
	}
}

// plugged checks the second half of invariant 6.
func (v *validator) plugged() {
	taken := functionsOf(v.base)
	slots := map[int]bool{}
	for i := range v.doc.Plugged {
		p := &v.doc.Plugged[i]
		f := p.function()
		if f == nil || slots[p.Slot] || p.Slot < 0 || p.Slot >= maxSlots || !inSlot(f.Address, p.Slot) || taken[f.Address] != nil || f.SRIOV != nil {
			v.fail("plugged[%d]: %s is not one device in a slot of its own", i, p.Name)
			continue
		}
		slots[p.Slot] = true
	}
}

// functions checks invariants 1 to 3.
func (v *validator) functions() {
	base := functionsOf(v.withPlugged(v.doc))
	groups, uverbs := map[int]hardware.PCIAddress{}, map[int]hardware.PCIAddress{}
	take := func(taken map[int]hardware.PCIAddress, n int, what string, by hardware.PCIAddress) {
		if other, ok := taken[n]; ok && n >= 0 {
			v.fail("functions[%s]: %s %d is also that of %s", by, what, n, other)
		}
		taken[n] = by
	}
	node := v.withPlugged(v.doc)
	for i := range node.NICs {
		if rdma := node.NICs[i].RDMA; rdma != nil {
			take(uverbs, rdma.Uverbs, "uverbs", node.NICs[i].Address)
		}
	}
	for address, f := range base {
		if v.doc.Functions[address] == nil {
			v.fail("functions: %s is missing", address)
		}
		take(groups, f.IOMMUGroup, "IOMMU group", address)
	}
	counts := map[hardware.PCIAddress]int{}
	for _, address := range v.doc.addresses() {
		f := v.doc.Functions[address]
		if f == nil {
			v.fail("functions[%s]: is null", address)
			continue
		}
		if !validDriver(f.Driver) || !validDriver(f.Override) {
			v.fail("functions[%s]: %q or %q is no name of a driver", address, f.Driver, f.Override)
		}
		if f.MTU < 0 || f.MTU > maxMTU || !slices.Contains([]string{"", "legacy", "switchdev"}, f.Eswitch) {
			v.fail("functions[%s]: MTU %d or eswitch %q cannot be", address, f.MTU, f.Eswitch)
		}
		switch virtual := f.Virtual; {
		case virtual == nil && base[address] == nil:
			v.fail("functions[%s]: there is no such function", address)
		case virtual != nil && base[address] != nil:
			v.fail("functions[%s]: it is no virtual function", address)
		case virtual != nil:
			v.virtual(address, f, base[virtual.Physical])
			counts[virtual.Physical]++
			take(groups, virtual.Group, "IOMMU group", address)
			if virtual.Uverbs >= 0 {
				take(uverbs, virtual.Uverbs, "uverbs", address)
			}
		}
	}
	if len(v.errs) > 0 {
		return // a function may be null
	}
	for physical, n := range counts {
		if f := base[physical]; f.SRIOV != nil && n > f.SRIOV.TotalVFs {
			v.fail("functions[%s]: %d virtual functions of at most %d", physical, n, f.SRIOV.TotalVFs)
		}
		for i, vf := range v.doc.vfsOf(physical) {
			if v.doc.Functions[vf].Virtual.Index != i {
				v.fail("functions[%s]: the virtual functions of %s are not numbered from 0", vf, physical)
			}
		}
	}
}

func (v *validator) virtual(address hardware.PCIAddress, f *function, physical *hardware.PCIFunction) {
	plan := v.node.VFs[f.Virtual.Physical]
	if physical == nil || plan == nil {
		v.fail("functions[%s]: %s has no virtual functions", address, f.Virtual.Physical)
		return
	}
	if at, ok := plan.Address(f.Virtual.Index); !ok || at != address {
		v.fail("functions[%s]: virtual function %d of %s is not there", address, f.Virtual.Index, f.Virtual.Physical)
	}
	if f.Virtual.Group < -1 || f.Virtual.Uverbs < -1 || f.NoAutoprobe {
		v.fail("functions[%s]: group %d, uverbs %d or no autoprobe cannot be", address, f.Virtual.Group, f.Virtual.Uverbs)
	}
	if (f.Virtual.Group >= 0) != (physical.IOMMUGroup >= 0) {
		v.fail("functions[%s]: it is in IOMMU group %d, and %s in %d", address, f.Virtual.Group, f.Virtual.Physical, physical.IOMMUGroup)
	}
}

// rest checks invariants 4 and 5.
func (v *validator) rest() {
	d := v.doc
	for i, loaded := range d.Bitstreams {
		if region := v.region(d, loaded.Card, loaded.Region); region == nil || region.Port == "" || !hex32.MatchString(loaded.Function) {
			v.fail("bitstreams[%d]: there is no region %d with a port on %s, or %q is no function", i, loaded.Region, loaded.Card, loaded.Function)
		}
	}
	most := 0
	if driver := v.base.GPUDriver; driver != nil {
		most = driver.IMEXChannels
	}
	for i, channel := range d.IMEXChannels {
		if channel < 1 || channel >= most || i > 0 && channel <= d.IMEXChannels[i-1] {
			v.fail("imexChannels[%d]: %d is not one of 1 to %d, each once and in order", i, channel, most-1)
		}
	}
	if d.GPUs == nil {
		v.fail("gpus: is missing")
	} else if err := d.GPUs.Validate(v.withPlugged(d)); err != nil {
		v.fail("gpus: %w", err)
	} else {
		v.virtualGPUs()
	}
}

// virtualGPUs are on virtual functions that are there.
func (v *validator) virtualGPUs() {
	for i := range v.doc.GPUs.GPUs {
		g := &v.doc.GPUs.GPUs[i]
		if g.VGPU == nil {
			continue
		}
		for _, active := range g.VGPU.Active {
			if active.VF >= len(v.doc.vfsOf(g.Address)) {
				v.fail("gpus: %s has a virtual GPU on virtual function %d, which is not there", g.Address, active.VF)
			}
		}
	}
}

// region of a card, or nil. It may be the card of a fabric.
func (m *model) region(d *document, card hardware.PCIAddress, id int) *hardware.FPGARegion {
	node := m.withPlugged(d)
	for i := range node.FPGAs {
		if f := &node.FPGAs[i]; f.Address == card && id >= 0 && id < len(f.Regions) {
			return &f.Regions[id]
		}
	}
	return nil
}

// attachments checks the first half of invariant 6.
func (v *validator) attachments() {
	if v.pool == nil && (len(v.doc.Attachments) > 0 || len(v.doc.AttachFaults) > 0) {
		v.fail("attachments: a node attaches nothing")
		return
	}
	for i, a := range v.doc.Attachments {
		switch {
		case !v.inPool(a.Device):
			v.fail("attachments[%d]: there is no device %q in the pool", i, a.Device)
		case i > 0 && cmp.Compare(v.doc.Attachments[i-1].Device, a.Device) >= 0:
			v.fail("attachments[%d]: %s must come in order, once", i, a.Device)
		case a.Node == "" || !slices.Contains(attachStates, a.State):
			v.fail("attachments[%d]: %s is %q to %q", i, a.Device, a.State, a.Node)
		}
	}
	for i, f := range v.doc.AttachFaults {
		if !v.inPool(f.Device) || f.Times < 1 {
			v.fail("attachFaults[%d]: there is no device %q, or nothing left of the fault", i, f.Device)
		}
	}
}

func (m *model) inPool(device string) bool {
	return m.pool != nil && slices.ContainsFunc(m.pool.Devices, func(d hardware.FabricDevice) bool { return d.Name == device })
}

// pendingAndEvents checks invariants 7 and 8.
func (v *validator) pendingAndEvents() {
	d := v.doc
	for i, p := range d.Pending {
		if i > 0 && p.At.Before(d.Pending[i-1].At) {
			v.fail("pending[%d]: comes before the one before it", i)
		}
		v.pending(i, p)
	}
	if uint64(len(d.Outbox)) > d.LastEvent {
		v.fail("outbox: %d events, and there have been %d", len(d.Outbox), d.LastEvent)
		return
	}
	for i, e := range d.Outbox {
		if want := d.LastEvent - uint64(len(d.Outbox)-1-i); e.Number != want {
			v.fail("outbox[%d]: number %d, must be %d", i, e.Number, want)
		}
	}
}

func (v *validator) pending(i int, p pending) {
	can := false
	switch p.Kind {
	case linkUp, linkDown, coolDown:
		_, err := hardware.ParsePCIAddress(p.Device)
		can = err == nil && v.node != nil
	case attachDone, detachDone:
		can = v.inPool(p.Device)
	}
	if !can {
		v.fail("pending[%d]: %q cannot happen to %q", i, p.Kind, p.Device)
	}
}
