package fault

import (
	"fmt"
	"time"
)

// Fault is one thing that goes wrong: exactly one of its fields is set. The names of
// fields are those in scenario files. Devices are named as people do:
//
//	gpu     its PCI address, its UUID, or its minor ("0")
//	nic     its PCI address, its interface or its RDMA device
//	device  the name of a device of a fabric pool
//	any     in place of each: one that the scenario's seed chooses
type Fault struct {
	XID           *XID           `json:"xid,omitempty"`
	ECC           *ECC           `json:"ecc,omitempty"`
	GPULost       *GPULost       `json:"gpuLost,omitempty"`
	Thermal       *Thermal       `json:"thermal,omitempty"`
	Link          *Link          `json:"link,omitempty"`
	DriverLate    *DriverLate    `json:"driverLate,omitempty"`
	HalfPublished *HalfPublished `json:"halfPublished,omitempty"`
	PoolVanished  *PoolVanished  `json:"poolVanished,omitempty"`
	SlowPrepare   *SlowPrepare   `json:"slowPrepare,omitempty"`
	AttachFailure *AttachFailure `json:"attachFailure,omitempty"`
	AttachTimeout *AttachTimeout `json:"attachTimeout,omitempty"`
}

// XID is an error that NVIDIA's driver reports of a GPU. One whose remedy is a reset
// keeps the GPU from being partitioned until it is reset; 79 is a lost GPU.
type XID struct {
	GPU string `json:"gpu"`
	// Code is one of XIDs.
	Code int `json:"code"`
	// Instance is the GPU instance that it happened in; without it, the whole GPU.
	Instance *int `json:"instance,omitempty"`
}

// ECC is errors of a GPU's memory.
type ECC struct {
	GPU string `json:"gpu"`
	// Kind is "single", which is corrected, or "double", which is not and comes with
	// XID 48.
	Kind string `json:"kind"`
	// Count is how many; 0 means 1.
	Count int `json:"count,omitempty"`
}

// The kinds of memory errors.
const (
	SingleBit = "single"
	DoubleBit = "double"
)

// GPULost takes a GPU off the bus until the machine boots again.
type GPULost struct {
	GPU string `json:"gpu"`
}

// Thermal slows a GPU down because it is too hot.
type Thermal struct {
	GPU string `json:"gpu"`
	// For is how long; without it, until a reset.
	For Duration `json:"for,omitempty"`
}

// Link takes a port's link down.
type Link struct {
	NIC string `json:"nic"`
	// Down is for how long; without it, until the machine boots again.
	Down Duration `json:"down,omitempty"`
	// Times is how often, 0 means once, and Every the time from one to the next.
	Times int      `json:"times,omitempty"`
	Every Duration `json:"every,omitempty"`
}

// DriverLate is a driver that has registered, and whose pool has no devices yet.
type DriverLate struct {
	Driver string   `json:"driver,omitempty"`
	For    Duration `json:"for"`
}

// HalfPublished is a driver that stops in the middle of publishing a generation:
// of its slices some are missing.
type HalfPublished struct {
	Driver string `json:"driver,omitempty"`
	// Missing is how many of the slices, at most all but one; 0 means 1.
	Missing int      `json:"missing,omitempty"`
	For     Duration `json:"for"`
}

// PoolVanished is a driver that takes its slices away.
type PoolVanished struct {
	Driver string   `json:"driver,omitempty"`
	For    Duration `json:"for"`
}

// SlowPrepare is a driver that takes long to prepare a claim.
type SlowPrepare struct {
	Driver string `json:"driver,omitempty"`
	// Takes is how much longer each claim takes.
	Takes Duration `json:"takes"`
	// Times is how many claims; 0 means all, For as long as it says.
	Times int      `json:"times,omitempty"`
	For   Duration `json:"for,omitempty"`
}

// AttachFailure lets a fabric refuse to attach a device, at once.
type AttachFailure struct {
	Device string `json:"device"`
	// Times is how often; 0 means once.
	Times int `json:"times,omitempty"`
}

// AttachTimeout lets an attachment of a device begin and never end.
type AttachTimeout struct {
	Device string `json:"device"`
	Times  int    `json:"times,omitempty"`
}

// Drivers are the names of drivers in faults: the kinds of devices that they
// publish. A fault without a driver concerns all of them.
var Drivers = []string{"gpu", "nic", "fpga", "compute-domain"}

// Any names whatever device the scenario's seed chooses.
const Any = "any"

// Duration is a time.Duration that files write as "1m30s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText is the form in files.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// maxDuration is more than any scenario takes.
const maxDuration = 365 * 24 * time.Hour

// UnmarshalText is the reverse of MarshalText. A duration is not negative, and at
// most a year.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: it must look like 1m30s or 500ms", text)
	}
	if parsed < 0 || parsed > maxDuration {
		return fmt.Errorf("%s must be from 0s to %s", text, maxDuration)
	}
	*d = Duration(parsed)
	return nil
}
