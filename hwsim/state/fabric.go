package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// AttachLatency and DetachLatency are how long a fabric takes. Made up (?): real ones
// take from seconds to minutes.
const (
	AttachLatency = 10 * time.Second
	DetachLatency = 5 * time.Second
)

// ErrAttached: another node has the device.
var ErrAttached = errors.New("another node has it")

// AttachState is how far an attachment is.
type AttachState string

// The states. A device without an attachment is free.
const (
	Attaching    AttachState = "attaching"
	Attached     AttachState = "attached"
	Detaching    AttachState = "detaching"
	AttachFailed AttachState = "failed"
)

var attachStates = []AttachState{Attaching, Attached, Detaching, AttachFailed}

// Attachment is a device of a pool on its way to a node or back.
type Attachment struct {
	Device string      `json:"device"`
	Node   string      `json:"node"`
	State  AttachState `json:"state"`
	// Since is when the state began.
	Since time.Time `json:"since"`
	// Reason of a failure.
	Reason string `json:"reason,omitempty"`
}

// attachFault waits for the next attachments of a device.
type attachFault struct {
	Device string `json:"device"`
	// Hangs: they never end; otherwise they fail.
	Hangs bool `json:"hangs,omitempty"`
	Times int  `json:"times"`
}

func (tx *Tx) breakAttaching(device string, hangs bool, times int) {
	tx.doc.AttachFaults = append(tx.doc.AttachFaults, attachFault{device, hangs, max(1, times)})
}

// brokenAttach takes one use of a fault of a device.
func (tx *Tx) brokenAttach(device string) (broken, hangs bool) {
	faults := tx.doc.AttachFaults
	i := slices.IndexFunc(faults, func(f attachFault) bool { return f.Device == device })
	if i < 0 {
		return false, false
	}
	hangs = faults[i].Hangs
	if faults[i].Times--; faults[i].Times == 0 {
		tx.doc.AttachFaults = slices.Delete(faults, i, i+1)
	}
	return true, hangs
}

// attachment of a device, or where it would be.
func (tx *Tx) attachment(device string) (int, bool) {
	return slices.BinarySearchFunc(tx.doc.Attachments, device, func(a Attachment, name string) int { return cmp.Compare(a.Device, name) })
}

// Attach begins to attach a device of the pool to a node, which takes AttachLatency.
// To attach it again to the same node changes nothing, unless it has failed: then it
// is tried again. The error matches fault.ErrNoDevice or ErrAttached.
func (tx *Tx) Attach(device, node string) error {
	if !tx.folder.model.inPool(device) {
		return fmt.Errorf("attach %q: %w in %s", device, fault.ErrNoDevice, tx.folder.model.name())
	}
	if node == "" {
		return fmt.Errorf("attach %s: the node's name is missing", device)
	}
	i, there := tx.attachment(device)
	if there {
		a := tx.doc.Attachments[i]
		switch {
		case a.State == AttachFailed:
		case a.Node != node || a.State == Detaching:
			return fmt.Errorf("attach %s to %s: %w: %s is %s", device, node, ErrAttached, a.Node, a.State)
		default:
			return nil
		}
		tx.doc.Attachments = slices.Delete(tx.doc.Attachments, i, i+1)
	}
	a := Attachment{Device: device, Node: node, State: Attaching, Since: tx.now}
	broken, hangs := tx.brokenAttach(device)
	switch {
	case broken && !hangs:
		a.State, a.Reason = AttachFailed, "the fabric's manager refuses"
	case !broken:
		tx.doc.schedule(pending{tx.now.Add(AttachLatency), attachDone, device})
	}
	tx.doc.Attachments = slices.Insert(tx.doc.Attachments, i, a)
	if broken && !hangs {
		tx.event("attach", device, "it cannot be attached to node %s: %s", node, a.Reason)
	} else {
		tx.event("attach", device, "it is %s to node %s", a.State, node)
	}
	return nil
}

// Detach begins to take a device from its node, which takes DetachLatency. A device
// that is free stays free.
func (tx *Tx) Detach(device string) error {
	if !tx.folder.model.inPool(device) {
		return fmt.Errorf("detach %q: %w in %s", device, fault.ErrNoDevice, tx.folder.model.name())
	}
	i, there := tx.attachment(device)
	if !there || tx.doc.Attachments[i].State == Detaching {
		return nil
	}
	a := &tx.doc.Attachments[i]
	tx.doc.cancel(device, attachDone)
	if a.State == AttachFailed { // the node never had it
		tx.event("attach", device, "it is free")
		tx.doc.Attachments = slices.Delete(tx.doc.Attachments, i, i+1)
		return nil
	}
	a.State, a.Since, a.Reason = Detaching, tx.now, ""
	tx.doc.schedule(pending{tx.now.Add(DetachLatency), detachDone, device})
	tx.event("attach", device, "it is detaching from node %s", a.Node)
	return nil
}

// attachHappens ends an attachment or a detachment.
func (tx *Tx) attachHappens(p pending) {
	i, there := tx.attachment(p.Device)
	switch {
	case !there:
	case p.Kind == attachDone && tx.doc.Attachments[i].State == Attaching:
		a := &tx.doc.Attachments[i]
		a.State, a.Since = Attached, tx.now
		tx.event("attach", p.Device, "it is attached to node %s", a.Node)
	case p.Kind == detachDone && tx.doc.Attachments[i].State == Detaching:
		tx.doc.Attachments = slices.Delete(tx.doc.Attachments, i, i+1)
		tx.event("attach", p.Device, "it is free")
	}
}

// rebootPool forgets what the fabric's manager was doing: what is attached stays,
// and what was on its way is free.
func (tx *Tx) rebootPool() {
	tx.doc.Attachments = slices.DeleteFunc(tx.doc.Attachments, func(a Attachment) bool { return a.State != Attached })
	tx.doc.Pending = nil
}

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

// Connect lets a node have what a pool has attached to it, and nothing else of the
// pool: it appears on the node's PCI bus, or goes from there. It may be called at
// any time and again, and is what the fabric's cables do; a device that is in use on
// the node does not go (hardware.ErrGPUInUse).
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
	return node.Update(func(tx *Tx) error {
		for _, p := range slices.Clone(tx.doc.Plugged) {
			if p.Pool == view.Name && !wanted[p.Name] {
				if err := tx.unplug(p.Name, p.Pool); err != nil {
					return err
				}
			}
		}
		for _, device := range view.Pool.Devices {
			has := slices.ContainsFunc(tx.doc.Plugged, func(p plugged) bool { return p.Pool == view.Name && p.Name == device.Name })
			if wanted[device.Name] && !has {
				if err := tx.plug(pool.machine, pool.model.identity, device.Name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// plug lets a device appear in the first free slot.
func (tx *Tx) plug(m *machine.Machine, pool machine.Identity, name string) error {
	slot := 0
	for slices.ContainsFunc(tx.doc.Plugged, func(p plugged) bool { return p.Slot == slot }) {
		slot++
	}
	if slot >= maxSlots {
		return fmt.Errorf("plug %s: the node has no free slot", name)
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
			return fmt.Errorf("plug %s: node %s has no NVIDIA driver: %w", name, tx.folder.Name(), hardware.ErrGPUDriverNotLoaded)
		}
		p.GPU = &one.GPUs[0]
		p.GPU.Minor = tx.freeMinor()
		p.GPU.SRIOV, p.GPU.VGPU = nil, nil // a node hosts virtual GPUs on its own only
	case len(one.NICs) == 1:
		p.NIC = &one.NICs[0]
		p.NIC.SRIOV = nil
	case len(one.FPGAs) == 1:
		p.FPGA = &one.FPGAs[0]
	default:
		return fmt.Errorf("plug %s: it is no device that can be plugged", name)
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
	i := slices.IndexFunc(tx.doc.Plugged, func(p plugged) bool { return p.Pool == pool && p.Name == name })
	p := tx.doc.Plugged[i]
	address := p.function().Address
	if p.GPU != nil {
		if err := tx.Reset(address); err != nil && !errors.Is(err, hardware.ErrGPULost) {
			return fmt.Errorf("unplug %s: %w", name, err)
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
