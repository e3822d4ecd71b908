//go:build !cgo || !linux

package nvml

import (
	"fmt"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// New returns a library that is not there. The path is ignored.
func New(string) hardware.GPULibrary { return none{} }

// none has only Init: whoever is refused by it calls nothing else.
type none struct{ hardware.GPULibrary }

func (none) Init() error {
	return fmt.Errorf("this program was built without NVML, which needs cgo and Linux: %w", hardware.ErrGPULibraryNotFound)
}
