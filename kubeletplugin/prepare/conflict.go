package prepare

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
)

// ErrHeld matches HeldError.
var ErrHeld = errors.New("the device is held by another claim")

// HeldError is the answer to a claim for what another one has. The scheduler
// should never have allocated it; the driver is the last to notice.
type HeldError struct {
	Device, HolderDevice string
	Claim, Holder        types.UID
}

func (e *HeldError) Error() string {
	if e.Claim == e.Holder {
		return fmt.Sprintf("device %s: claim %s has it twice, also as %s", e.Device, e.Claim, e.HolderDevice)
	}
	return fmt.Sprintf("device %s: claim %s cannot have it while claim %s holds %s", e.Device, e.Claim, e.Holder, e.HolderDevice)
}

// Is matches ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// admit is an error unless the claim can have its devices beside what others have.
func admit(claim *checkpoint.Claim, others []*checkpoint.Claim) error {
	for i := range claim.Devices {
		device := &claim.Devices[i]
		for j := range i {
			if conflict(device, &claim.Devices[j]) {
				return &HeldError{device.Device, claim.Devices[j].Device, claim.UID, claim.UID}
			}
		}
		for _, other := range others {
			for j := range other.Devices {
				if conflict(device, &other.Devices[j]) {
					return &HeldError{device.Device, other.Devices[j].Device, claim.UID, other.UID}
				}
			}
		}
	}
	return nil
}

// conflict says whether two devices cannot be had at the same time. Who has access
// as an administrator holds nothing.
func conflict(a, b *checkpoint.Device) bool {
	if a.Device == b.Device && a.Pool == b.Pool && a.ShareID != nil && b.ShareID != nil && *a.ShareID != *b.ShareID {
		return false
	}
	for _, part := range a.Holds {
		for _, other := range b.Holds {
			if part == other || strings.HasPrefix(part, other+"/") || strings.HasPrefix(other, part+"/") {
				return true
			}
		}
	}
	return false
}
