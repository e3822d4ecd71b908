package fault

import (
	"strconv"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// Sign is one thing that a driver must let the cluster see while a fault lasts.
type Sign struct {
	Kind SignKind `json:"kind"`
	// On is whose it is: "devices of the GPU", "pool", "claim", "pod".
	On string `json:"on"`
	// Name is the key of a taint, the type of a condition, the name of an attribute,
	// the reason of an event, or what is to be seen of slices.
	Name string `json:"name"`
	// Value of the taint or attribute, or the status of the condition.
	Value string `json:"value,omitempty"`
	// Effect of a taint.
	Effect string `json:"effect,omitempty"`
	// Until is what ends it.
	Until string `json:"until"`
	// Source says whose convention it is.
	Source string `json:"source"`
}

// SignKind is a kind of sign.
type SignKind string

// The kinds.
const (
	TaintSign     SignKind = "taint"
	ConditionSign SignKind = "condition"
	AttributeSign SignKind = "attribute"
	SlicesSign    SignKind = "slices"
	EventSign     SignKind = "event"
)

// Taints that drivers of GPUs put on devices.
const (
	TaintXID     = "gpu.nvidia.com/xid"
	TaintGPULost = "gpu.nvidia.com/gpu-lost"
	// TaintThermal is Dray's own: NVIDIA's driver shows nothing of the temperature.
	TaintThermal = "gpu.nvidia.com/thermal-slowdown"
)

const (
	fromNVIDIA = "NVIDIA's DRA driver, gate NVMLDeviceHealthCheck"
	fromDranet = "dranet"
	fromCoHDI  = "CoHDI's composable DRA driver"
	fromAPI    = "the ResourceSlice API"
	fromOurs   = "ours"
)

// Signs are what a driver must show of the fault. None means that nothing must be
// seen: a corrected memory error concerns nobody.
func (f *Fault) Signs() []Sign {
	switch {
	case f.XID != nil:
		return xidSigns(f.XID.Code)
	case f.ECC != nil && f.ECC.Kind == DoubleBit:
		return xidSigns(XIDDoubleBitECC)
	case f.GPULost != nil:
		return []Sign{lostSign}
	case f.Thermal != nil:
		return []Sign{{TaintSign, "devices of the GPU", TaintThermal, "", "None", "the GPU has cooled down", fromOurs}}
	case f.Link != nil:
		return []Sign{{AttributeSign, "device of the port", "dra.net/state", "down", "", "the link is up", fromDranet}}
	case f.DriverLate != nil:
		return []Sign{{SlicesSign, "pool", "a complete pool without devices", "", "", "the driver has found its devices", fromAPI}}
	case f.HalfPublished != nil:
		return []Sign{{SlicesSign, "pool", "fewer slices of the newest generation than resourceSliceCount says", "", "", "the driver has published the rest", fromAPI}}
	case f.PoolVanished != nil:
		return []Sign{{SlicesSign, "pool", "no slices", "", "", "the driver publishes again", fromAPI}}
	case f.SlowPrepare != nil:
		return []Sign{{EventSign, "pod", "FailedPrepareDynamicResources", "", "", "the claim is prepared; only where it takes longer than the kubelet waits", "kubelet"}}
	case f.AttachFailure != nil:
		return []Sign{{ConditionSign, "claim", publish.ConditionFabricDeviceFailed, "True", "", "the scheduler has chosen anew", fromCoHDI}}
	case f.AttachTimeout != nil:
		return []Sign{{ConditionSign, "claim", publish.ConditionFabricDeviceReady, "", "", "the scheduler's binding timeout, after which it chooses anew; the condition never comes", fromCoHDI}}
	}
	return nil
}

var lostSign = Sign{TaintSign, "devices of the GPU", TaintGPULost, "", "NoSchedule", "the machine boots and the driver starts anew", fromNVIDIA}

func xidSigns(code int) []Sign {
	info, _ := XIDByCode(code)
	effect := "None"
	if info.Fatal {
		effect = "NoSchedule"
	}
	signs := []Sign{{TaintSign, "devices of the GPU", TaintXID, strconv.Itoa(code), effect, "the driver starts anew", fromNVIDIA}}
	if code == XIDOffTheBus {
		signs = append(signs, lostSign)
	}
	return signs
}
