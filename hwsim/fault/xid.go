package fault

// XIDInfo is what an XID means to people and to drivers. What it does to the GPU,
// the engine knows.
type XIDInfo struct {
	Code    int
	Meaning string
	// Fatal: NVIDIA's DRA driver taints the device so that no new pods get it.
	Fatal bool
}

// The XIDs that have a part of their own here.
const (
	XIDDoubleBitECC = 48
	XIDOffTheBus    = 79
)

// XIDs are the errors that can be injected, by code. Meanings are from
// copies of NVIDIA's catalog; its DRA driver has six that are not fatal, 13, 31, 43,
// 45, 68 and 109, and takes all others to be. Two are odd and meant so: a
// contained memory error (94) is fatal to the driver, and 109, which needs a reset,
// is not.
var XIDs = []XIDInfo{
	{8, "GPU stopped processing", true},
	{11, "invalid or corrupted push buffer", true},
	{13, "graphics engine exception", false},
	{25, "invalid or corrupted push buffer", true},
	{31, "GPU memory page fault", false},
	{32, "invalid or corrupted push buffer", true},
	{37, "driver firmware error", true},
	{38, "driver firmware error", true},
	{39, "copy engine error", true},
	{40, "copy engine error", true},
	{41, "copy engine error", true},
	{43, "GPU stopped processing", false},
	{44, "graphics engine fault during context switch", true},
	{45, "preemptive cleanup after an earlier error", false},
	{46, "GPU stopped processing", true},
	{48, "double-bit ECC error", true},
	{54, "auxiliary power is not connected", true},
	{60, "video processor exception", true},
	{62, "internal micro-controller halt", true},
	{63, "ECC page retirement or row remapping", true},
	{64, "ECC page retirement or row remapping failed", true},
	{66, "illegal access by driver", true},
	{67, "illegal access by driver", true},
	{68, "NVDEC0 exception", false},
	{69, "graphics engine class error", true},
	{74, "NVLink error", true},
	{78, "vGPU start error", true},
	{79, "GPU has fallen off the bus", true},
	{92, "high single-bit ECC error rate", true},
	{94, "contained memory error", true},
	{95, "uncontained memory error", true},
	{109, "context switch timeout", false},
	{110, "security fault", true},
	{119, "GSP RPC timeout", true},
	{120, "GSP error", true},
	{121, "C2C error", true},
	{136, "link training failed", true},
	{137, "NVLink privilege error", true},
	{140, "unrecovered ECC error", true},
	{143, "GPU initialization error", true},
	{144, "NVLink error", true},
	{145, "NVLink error", true},
	{146, "NVLink error", true},
	{147, "NVLink error", true},
	{148, "NVLink error", true},
	{149, "NVLink is down", true},
	{150, "NVLink error", true},
	{151, "key rotation error", true},
	{154, "recovery action changed", true},
	{155, "NVLink software error", true},
	{156, "resource retirement", true},
	{158, "fatal timeout", true},
	{167, "fatal PCIe timeout", true},
	{168, "memory is reduced", true},
	{169, "SEC2 halt", true},
	{171, "uncorrectable DRAM error", true},
	{172, "uncorrectable SRAM error", true},
}

// XIDByCode finds an XID.
func XIDByCode(code int) (XIDInfo, bool) {
	for _, info := range XIDs {
		if info.Code == code {
			return info, true
		}
	}
	return XIDInfo{}, false
}
