//go:build !cgo || !linux

package nvml

import (
	"errors"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func TestWithoutCgoThereIsNoLibrary(t *testing.T) {
	if err := New("").Init(); !errors.Is(err, hardware.ErrGPULibraryNotFound) {
		t.Errorf("it says %v", err)
	}
}
