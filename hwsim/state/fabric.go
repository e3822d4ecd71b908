package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/fault"
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
