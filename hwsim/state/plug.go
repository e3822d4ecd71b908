package state

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// plugged is a device of a pool on the node that it is attached to. One of GPU, NIC
// and FPGA is there.
type plugged struct {
	Pool string         `json:"pool"`
	Name string         `json:"name"`
	Slot int            `json:"slot"`
	GPU  *hardware.GPU  `json:"gpu,omitempty"`
	NIC  *hardware.NIC  `json:"nic,omitempty"`
	FPGA *hardware.FPGA `json:"fpga,omitempty"`
}

// function of the device, or nil if there is none or more than one.
func (p *plugged) function() *hardware.PCIFunction {
	switch {
	case p.GPU != nil && p.NIC == nil && p.FPGA == nil:
		return &p.GPU.PCIFunction
	case p.NIC != nil && p.GPU == nil && p.FPGA == nil:
		return &p.NIC.PCIFunction
	case p.FPGA != nil && p.GPU == nil && p.NIC == nil:
		return &p.FPGA.PCIFunction
	}
	return nil
}

const (
	// fabricDomain is the PCI domain of the adapter through which a node reaches a
	// fabric; no machine has another function there.
	fabricDomain = 0xfab0
	// maxSlots is how many devices the adapter has buses for.
	maxSlots = 128
)

func slotAddress(slot int) hardware.PCIAddress {
	return hardware.PCIAddress{Domain: fabricDomain, Bus: uint8(slot + 1)}
}

// inSlot says whether an address is one of the slot's.
func inSlot(address hardware.PCIAddress, slot int) bool {
	address.Function = 0
	return address == slotAddress(slot)
}

// PlugError says that a device which a fabric has attached does not appear on a node,
// or one that it has taken away does not go.
type PlugError struct {
	Device, Pool, Node string
	Err                error
}

func (e *PlugError) Error() string {
	return fmt.Sprintf("device %s of pool %s on node %s: %v", e.Device, e.Pool, e.Node, e.Err)
}

func (e *PlugError) Unwrap() error { return e.Err }

// Connect lets a node have what a pool has attached to it, and nothing else of the
// pool: it appears on the node's PCI bus, or goes from there. It may be called at
// any time and again, and is what the fabric's cables do. Each device is a
// transaction of its own: one that cannot be plugged (the node has no driver for it,
// or no slot), or is in use and does not go (hardware.ErrGPUInUse), is a *PlugError,
// joined to those of others, and keeps no other device back.
func Connect(pool, node *Folder) error {
	view, err := pool.View()
	if err != nil {
		return err
	}
	if view.Pool == nil || node.model.node == nil {
		return fmt.Errorf("connect %s with %s: a pool is connected with a node", pool.Name(), node.Name())
	}
	wanted := map[string]bool{}
	for _, a := range view.Attachments {
		// One that is detaching is on the node for as long as that takes.
		if a.Node == node.Name() && (a.State == Attached || a.State == Detaching) {
			wanted[a.Device] = true
		}
	}
	there, err := node.pluggedFrom(view.Name)
	if err != nil {
		return err
	}
	var errs []error
	change := func(device string, how func(*Tx) error) {
		if err := node.Update(how); err != nil {
			errs = append(errs, &PlugError{device, view.Name, node.Name(), err})
		}
	}
	for _, name := range there {
		if !wanted[name] {
			change(name, func(tx *Tx) error { return tx.unplug(name, view.Name) })
		}
	}
	for _, device := range view.Pool.Devices {
		if name := device.Name; wanted[name] && !slices.Contains(there, name) {
			change(name, func(tx *Tx) error { return tx.plug(pool.machine, pool.model.identity, name) })
		}
	}
	return errors.Join(errs...)
}

// pluggedFrom are the devices of a pool that the node has, by name.
func (f *Folder) pluggedFrom(pool string) (names []string, err error) {
	err = f.inStep(func(s *snapshot) error {
		for _, p := range s.doc.Plugged {
			if p.Pool == pool {
				names = append(names, p.Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hardware folder %s: %w", f.dir, err)
	}
	return names, nil
}

// plug lets a device appear in the first free slot.
func (tx *Tx) plug(m *machine.Machine, pool machine.Identity, name string) error {
	if tx.indexPlugged(name, pool.Name) >= 0 {
		return nil // another process was faster
	}
	slot := 0
	for slices.ContainsFunc(tx.doc.Plugged, func(p plugged) bool { return p.Slot == slot }) {
		slot++
	}
	if slot >= maxSlots {
		return errors.New("the node has no free slot for it")
	}
	one, err := m.PoolDevice(name, pool, slotAddress(slot))
	if err != nil {
		return err
	}
	taken := tx.taken()
	p := plugged{Pool: pool.Name, Name: name, Slot: slot}
	switch {
	case len(one.GPUs) == 1:
		if tx.folder.model.base.GPUDriver == nil {
			return hardware.ErrGPUDriverNotLoaded
		}
		p.GPU = &one.GPUs[0]
		p.GPU.Minor = tx.freeMinor()
		p.GPU.SRIOV, p.GPU.VGPU = nil, nil // a node hosts virtual GPUs on its own only
	case len(one.NICs) == 1:
		p.NIC = &one.NICs[0]
		p.NIC.SRIOV = nil
	case len(one.FPGAs) == 1:
		p.FPGA = &one.FPGAs[0]
		tx.numberPorts(p.FPGA)
	default:
		return errors.New("a fabric cannot attach devices of its kind here")
	}
	f := p.function()
	if tx.hasIOMMU() {
		f.IOMMUGroup = taken.number("group")
	}
	tx.doc.Plugged = append(tx.doc.Plugged, p)
	tx.doc.Functions[f.Address] = &function{Driver: f.Driver}
	if p.GPU != nil {
		state := engine.New(&hardware.Node{GPUs: []hardware.GPU{*p.GPU}}).GPUs[0]
		i, _ := slices.BinarySearchFunc(tx.doc.GPUs.GPUs, state.Address, func(g engine.GPU, a hardware.PCIAddress) int { return g.Address.Compare(a) })
		tx.doc.GPUs.GPUs = slices.Insert(tx.doc.GPUs.GPUs, i, state)
	}
	tx.engine = nil
	tx.event("plug", f.Address.String(), "%s of %s is there", name, pool.Name)
	return nil
}

// unplug lets a device go, unless it is in use.
func (tx *Tx) unplug(name, pool string) error {
	i := tx.indexPlugged(name, pool)
	if i < 0 {
		return nil
	}
	p := tx.doc.Plugged[i]
	address := p.function().Address
	if p.GPU != nil {
		if err := tx.Reset(address); err != nil && !errors.Is(err, hardware.ErrGPULost) {
			return err
		}
		tx.doc.GPUs.GPUs = slices.DeleteFunc(tx.doc.GPUs.GPUs, func(g engine.GPU) bool { return g.Address == address })
	}
	tx.doc.Plugged = slices.Delete(tx.doc.Plugged, i, i+1)
	tx.doc.Bitstreams = slices.DeleteFunc(tx.doc.Bitstreams, func(b bitstream) bool { return b.Card == address })
	tx.doc.cancel(address.String(), linkUp, linkDown, coolDown)
	delete(tx.doc.Functions, address)
	tx.engine = nil
	tx.event("plug", address.String(), "%s of %s is gone", name, pool)
	return nil
}

func (tx *Tx) indexPlugged(name, pool string) int {
	return slices.IndexFunc(tx.doc.Plugged, func(p plugged) bool { return p.Pool == pool && p.Name == name })
}

// numberPorts gives the ports of a card, dfl-port.N, numbers that the node has not
// given to another.
func (tx *Tx) numberPorts(card *hardware.FPGA) {
	taken := map[string]bool{}
	for _, other := range tx.folder.model.withPlugged(tx.doc).FPGAs {
		for _, region := range other.Regions {
			taken[region.Port] = true
		}
	}
	card.Regions = slices.Clone(card.Regions)
	for i := range card.Regions {
		port := &card.Regions[i].Port
		form := strings.TrimRight(*port, "0123456789")
		for n := 0; *port != "" && taken[*port]; n++ {
			*port = form + strconv.Itoa(n)
		}
		taken[*port] = true
	}
}

func (tx *Tx) freeMinor() int {
	node := tx.folder.model.withPlugged(tx.doc)
	for minor := 0; ; minor++ {
		if !slices.ContainsFunc(node.GPUs, func(g hardware.GPU) bool { return g.Minor == minor }) {
			return minor
		}
	}
}

func (tx *Tx) hasIOMMU() bool {
	for _, f := range functionsOf(tx.folder.model.base) {
		return f.IOMMUGroup >= 0
	}
	return false
}
