//go:build cgo && linux

package nvml

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static int callWithoutArguments(void *function) { return ((int (*)(void))function)(); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// systemLibrary is the name by which the system finds the library.
const systemLibrary = "libnvidia-ml.so.1"

// try loads a library, initializes it, and lets go of it again.
//
// go-nvml calls the library's functions as if the program were linked with it. From the
// first of these calls on the linker keeps what it has loaded until the process ends. So
// a library that does not fit the driver must never be called in that way: it would be
// there for good, even after a fitting one has been installed in its place.
func try(path string) error {
	if path == "" {
		path = systemLibrary
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(name, C.RTLD_LAZY|C.RTLD_LOCAL)
	if handle == nil {
		return fmt.Errorf("%s: %s: %w", path, C.GoString(C.dlerror()), hardware.ErrGPULibraryNotFound)
	}
	defer C.dlclose(handle)
	if err := tryCall(handle, "nvmlInit_v2"); err != nil {
		return err
	}
	return tryCall(handle, "nvmlShutdown")
}

func tryCall(library unsafe.Pointer, function string) error {
	name := C.CString(function)
	defer C.free(unsafe.Pointer(name))
	symbol := C.dlsym(library, name)
	if symbol == nil {
		return fmt.Errorf("%s: the library has no such function: %w", function, hardware.ErrGPULibraryNotFound)
	}
	return failed(function, nvml.Return(C.callWithoutArguments(symbol)))
}
