package engine

import "slices"

// Action is what an XID wants to be done, by NVIDIA's catalog of XIDs.
type Action string

// The actions. Those of the catalog that leave the GPU working are one here:
// ActionNone is "ignore", "restart the application" and all workflows that do not
// begin with a reset.
const (
	ActionNone   Action = "none"
	ActionReset  Action = "reset"
	ActionReboot Action = "reboot"
)

// needReset are the XIDs of action RESET_GPU in copies of NVIDIA's XID catalog (S),
// and 48, whose workflow ends in one (S).
var needReset = []int{46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158}

// XIDFallenOffTheBus is the XID with which a GPU is lost. The catalog wants the
// machine restarted (S).
const XIDFallenOffTheBus = 79

// xidDoubleBitECC is reported beside an uncorrectable memory error.
const xidDoubleBitECC = 48

// ActionOf says what an XID wants to be done.
func ActionOf(xid int) Action {
	switch {
	case xid == XIDFallenOffTheBus:
		return ActionReboot
	case slices.Contains(needReset, xid):
		return ActionReset
	}
	return ActionNone
}
