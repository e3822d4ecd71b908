package hardware_test

import (
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func TestPCIAddressesReadBackAsTheyArePrinted(t *testing.T) {
	for _, text := range []string{"0000:1b:00.0", "0018:06:00.0", "ffff:ff:1f.7"} {
		address, err := hardware.ParsePCIAddress(text)
		if err != nil || address.String() != text {
			t.Errorf("%s reads as %s, %v", text, address, err)
		}
	}
}

func TestOtherFormsAreNoPCIAddresses(t *testing.T) {
	for _, text := range []string{"", "1b:00.0", "0000:1B:00.0", "0000:1b:20.0", "0000:1b:00.8", "00000000:1b:00.0", "0000:1b:00.0 "} {
		if address, err := hardware.ParsePCIAddress(text); err == nil {
			t.Errorf("%q reads as %s", text, address)
		}
	}
}
