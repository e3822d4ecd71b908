package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// documentVersion is that of a document's encoding.
const documentVersion = 1

// document is all that changes of a machine, as state.json holds it. With the
// machine it keeps, and validate checks:
//
//  1. Functions has an entry for each function of the machine that is no virtual
//     one, and for each virtual one that there is. The virtual functions of a
//     physical one are its numbers 0 to n-1, at the addresses of its VFPlan, and
//     there are no more than sriov_totalvfs.
//  2. Drivers and overrides are names that a directory can have.
//  3. No two functions have one IOMMU group, and no two one uverbs number.
//  4. Bitstreams are of regions with a port, IMEX channels below the driver's count
//     and sorted.
//  5. GPUs is valid for the machine's node.
//  6. Attachments are of devices of the pool, each once, sorted by name; plugged
//     devices are in slots of their own.
//  7. Pending is sorted by time; attachments are pending of devices of the pool, all
//     else of PCI addresses, which need not be there any more.
//  8. Outbox is the events of the last transaction: numbered without gaps, the last
//     one LastEvent.
type document struct {
	Version int `json:"version"`
	// Sequence counts transactions.
	Sequence uint64 `json:"sequence"`
	// Time is that of the last transaction: what fell due before has happened.
	Time time.Time `json:"time"`
	// Ahead is how far the folder's time is ahead of the clock, which was set back.
	Ahead time.Duration `json:"ahead,omitempty"`
	Boot  Boot          `json:"boot"`

	Functions    map[hardware.PCIAddress]*function `json:"functions,omitempty"`
	GPUs         *engine.State                     `json:"gpus,omitempty"`
	Bitstreams   []bitstream                       `json:"bitstreams,omitempty"`
	IMEXChannels []int                             `json:"imexChannels,omitempty"`
	Plugged      []plugged                         `json:"plugged,omitempty"`
	Attachments  []Attachment                      `json:"attachments,omitempty"`
	AttachFaults []attachFault                     `json:"attachFaults,omitempty"`
	Instructions []Instruction                     `json:"instructions,omitempty"`
	Pending      []pending                         `json:"pending,omitempty"`

	LastEvent uint64  `json:"lastEvent"`
	Outbox    []Event `json:"outbox,omitempty"`
}

// Boot is one run of the machine's kernel.
type Boot struct {
	// Number counts from 1.
	Number int `json:"number"`
	// ID is the kernel's random UUID.
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
}

// function is what changes of a PCI function.
type function struct {
	// Driver that it is bound to, or empty, and Override.
	Driver      string `json:"driver,omitempty"`
	Override    string `json:"override,omitempty"`
	NoAutoprobe bool   `json:"noAutoprobe,omitempty"`
	// Down is the link's, MTU the interface's if it was set.
	Down bool `json:"down,omitempty"`
	MTU  int  `json:"mtu,omitempty"`
	// Eswitch is the mode if it was set.
	Eswitch string `json:"eswitch,omitempty"`
	// Virtual is nil for physical functions.
	Virtual *virtual `json:"virtual,omitempty"`
}

// virtual is what a virtual function has from when it was made.
type virtual struct {
	Physical hardware.PCIAddress `json:"physical"`
	Index    int                 `json:"index"`
	// Group is the IOMMU's, or -1.
	Group int `json:"group"`
	// Interface, RDMA and Uverbs are its names while its driver has it; Uverbs is
	// -1 without an RDMA device.
	Interface string `json:"interface,omitempty"`
	RDMA      string `json:"rdma,omitempty"`
	Uverbs    int    `json:"uverbs"`
}

// bitstream is what a region of an FPGA has been programmed with.
type bitstream struct {
	Card     hardware.PCIAddress `json:"card"`
	Region   int                 `json:"region"`
	Function string              `json:"function"`
}

// pending is what happens by itself at a time.
type pending struct {
	At   time.Time   `json:"at"`
	Kind pendingKind `json:"kind"`
	// Device is a PCI address, or the name of a pool's device.
	Device string `json:"device"`
}

type pendingKind string

const (
	linkUp     pendingKind = "link-up"
	linkDown   pendingKind = "link-down"
	coolDown   pendingKind = "cool-down"
	attachDone pendingKind = "attach-done"
	detachDone pendingKind = "detach-done"
)

// decodeDocument reads what encode wrote. It checks the form alone; validate the rest.
func decodeDocument(text []byte) (*document, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("it is no document of a machine's state: %w", err)
	}
	if version.Version != documentVersion {
		return nil, fmt.Errorf("it has version %d, and this program knows %d: use the release that wrote it, or make the folder anew", version.Version, documentVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	d := &document{}
	if err := decoder.Decode(d); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more follows after the document")
	}
	return d, nil
}

// encode is the document as bytes; equal documents have equal ones.
func (d *document) encode() ([]byte, error) {
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// clone shares nothing with d that transactions change.
func (d *document) clone() *document {
	c := *d
	c.Functions = make(map[hardware.PCIAddress]*function, len(d.Functions))
	for address, f := range d.Functions {
		copied := *f
		if f.Virtual != nil {
			v := *f.Virtual
			copied.Virtual = &v
		}
		c.Functions[address] = &copied
	}
	if d.GPUs != nil {
		c.GPUs = d.GPUs.Clone()
	}
	c.Bitstreams = slices.Clone(d.Bitstreams)
	c.IMEXChannels = slices.Clone(d.IMEXChannels)
	c.Plugged = slices.Clone(d.Plugged)
	c.Attachments = slices.Clone(d.Attachments)
	c.AttachFaults = slices.Clone(d.AttachFaults)
	c.Instructions = slices.Clone(d.Instructions)
	c.Pending = slices.Clone(d.Pending)
	c.Outbox = nil
	return &c
}

// schedule adds to Pending.
func (d *document) schedule(p pending) {
	i, _ := slices.BinarySearchFunc(d.Pending, p.At, func(q pending, at time.Time) int {
		if q.At.After(at) {
			return 1
		}
		return -1 // behind those of the same time
	})
	d.Pending = slices.Insert(d.Pending, i, p)
}

// cancel drops what is pending of a device.
func (d *document) cancel(device string, kinds ...pendingKind) {
	d.Pending = slices.DeleteFunc(d.Pending, func(p pending) bool {
		return p.Device == device && slices.Contains(kinds, p.Kind)
	})
}

// hasten moves all that is still to come, which is all that any field names a time for
// in the future, to so much sooner. It stays behind what has happened, and in order.
func (d *document) hasten(by time.Duration) {
	move := func(at *time.Time) {
		if !at.After(d.Time) {
			return
		}
		if *at = at.Add(-by); !at.After(d.Time) {
			*at = d.Time.Add(1)
		}
	}
	for i := range d.Pending {
		move(&d.Pending[i].At)
	}
	for i := range d.Instructions {
		move(&d.Instructions[i].Until)
	}
	if d.GPUs == nil {
		return
	}
	for i := range d.GPUs.GPUs {
		if mig := d.GPUs.GPUs[i].MIG; mig != nil {
			for j := range mig.Instances {
				move(&mig.Instances[j].BusyUntil)
				move(&mig.Instances[j].GoneAt)
			}
		}
	}
}

// isDue says whether something is to happen by itself at a time, or before.
func (d *document) isDue(now time.Time) bool {
	due := d.due()
	return !due.IsZero() && !now.Before(due)
}

// due is when the next thing happens by itself after the document's time; zero if
// nothing will.
func (d *document) due() time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if t.After(d.Time) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if len(d.Pending) > 0 {
		at = d.Pending[0].At
	}
	if d.GPUs != nil {
		for i := range d.GPUs.GPUs {
			if mig := d.GPUs.GPUs[i].MIG; mig != nil {
				for j := range mig.Instances {
					sooner(mig.Instances[j].GoneAt)
				}
			}
		}
	}
	return at
}
