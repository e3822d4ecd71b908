package checkpoint

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// State says how far a claim is.
type State string

// The states.
const (
	// Started: changes to the machine for the claim may have been made, wholly, in
	// part or not at all.
	Started State = "started"
	// Completed: they all have been made, and its devices may be in use.
	Completed State = "completed"
)

// Claim is one claim that is prepared, or was about to be.
type Claim struct {
	UID       types.UID `json:"uid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	State     State     `json:"state"`
	// BootID is the boot of the machine in which the changes were made; those that
	// a reboot takes back are gone in any other.
	BootID string `json:"bootID"`
	// Devices in the order of the claim's allocation.
	Devices []Device `json:"devices"`
}

// Device is one allocated device of a claim.
type Device struct {
	// Kind knows what Plan and Outcome say.
	Kind string `json:"kind"`
	// Request as in the allocation: "main" or "main/sub".
	Request string `json:"request"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	// ShareID is nil for a device that is not shared.
	ShareID *types.UID `json:"shareID,omitempty"`
	// AdminAccess is beside other claims, never against them.
	AdminAccess bool `json:"adminAccess,omitempty"`
	// Lock is what calls about the same hardware excluded each other by: the UUID of
	// a GPU; in older files its name. Its plan is what counts.
	Lock string `json:"lock"`
	// Holds names parts of the hardware that only one claim can have.
	Holds []string `json:"holds,omitempty"`
	// Plan is what was to be done, as its kind writes it.
	Plan json.RawMessage `json:"plan,omitempty"`
	// Outcome is what the changes made that the plan could not know, such as the
	// UUID of a partition; absent if that is not known.
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// clone returns a copy that shares nothing with c.
func (c *Claim) clone() *Claim {
	copied := *c
	copied.Devices = slices.Clone(c.Devices)
	for i := range copied.Devices {
		d := &copied.Devices[i]
		if d.ShareID != nil {
			id := *d.ShareID
			d.ShareID = &id
		}
		d.Holds = slices.Clone(d.Holds)
		d.Plan = slices.Clone(d.Plan)
		d.Outcome = slices.Clone(d.Outcome)
	}
	return &copied
}
