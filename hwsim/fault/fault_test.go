package fault_test

import (
	"slices"
	"testing"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/fault"
)

// The codes that do not keep new pods away are the six of NVIDIA's driver.
func TestXIDsAreTheCatalogs(t *testing.T) {
	var harmless []int
	for i, info := range fault.XIDs {
		if i > 0 && info.Code <= fault.XIDs[i-1].Code {
			t.Errorf("XID %d must come in the order of codes, once", info.Code)
		}
		if info.Meaning == "" {
			t.Errorf("XID %d means nothing", info.Code)
		}
		if !info.Fatal {
			harmless = append(harmless, info.Code)
		}
	}
	if want := []int{13, 31, 43, 45, 68, 109}; !slices.Equal(harmless, want) {
		t.Errorf("not fatal are %v, must be %v", harmless, want)
	}
	for code := range 200 {
		if _, known := fault.XIDByCode(code); !known && engine.ActionOf(code) != engine.ActionNone {
			t.Errorf("the engine acts on XID %d, which cannot be injected", code)
		}
	}
}

func TestFatalXIDsKeepPodsAwayAndOthersAreShown(t *testing.T) {
	for _, info := range fault.XIDs {
		signs := (&fault.Fault{XID: &fault.XID{GPU: "0", Code: info.Code}}).Signs()
		want := map[bool]string{true: "NoSchedule", false: "None"}[info.Fatal]
		if len(signs) == 0 || signs[0].Name != fault.TaintXID || signs[0].Effect != want {
			t.Errorf("XID %d: %+v", info.Code, signs)
		}
		if lost := len(signs) == 2 && signs[1].Name == fault.TaintGPULost; lost != (info.Code == fault.XIDOffTheBus) {
			t.Errorf("XID %d: the GPU is lost: %v", info.Code, lost)
		}
	}
}

// A fault goes to another device without a change to the one that it was made of.
func TestAFaultOnAnotherDeviceIsACopy(t *testing.T) {
	for _, f := range []fault.Fault{
		{XID: &fault.XID{GPU: "a", Code: 79}}, {ECC: &fault.ECC{GPU: "a", Kind: fault.SingleBit}}, {GPULost: &fault.GPULost{GPU: "a"}},
		{Thermal: &fault.Thermal{GPU: "a"}}, {Link: &fault.Link{NIC: "a"}},
		{AttachFailure: &fault.AttachFailure{Device: "a"}}, {AttachTimeout: &fault.AttachTimeout{Device: "a"}},
	} {
		g := f.On("b")
		_, _, was := f.Device()
		_, _, is := g.Device()
		if was != "a" || is != "b" || f.Kind() != g.Kind() {
			t.Errorf("%s on %s became %s on %s", f.Kind(), was, g.Kind(), is)
		}
	}
}
