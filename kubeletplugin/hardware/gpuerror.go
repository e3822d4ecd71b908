package hardware

import "errors"

// What a GPU library answers instead of a value, by NVML's return codes. An
// adapter wraps one of these with the call and the device.
var (
	// ErrGPUUninitialized: Init has not been called (NVML_ERROR_UNINITIALIZED).
	ErrGPUUninitialized = errors.New("the GPU library is not initialized")
	// ErrGPUInvalidArgument (NVML_ERROR_INVALID_ARGUMENT).
	ErrGPUInvalidArgument = errors.New("invalid argument")
	// ErrGPUNotSupported: the device or the driver does not have it (NVML_ERROR_NOT_SUPPORTED).
	ErrGPUNotSupported = errors.New("not supported")
	// ErrGPUNoPermission (NVML_ERROR_NO_PERMISSION).
	ErrGPUNoPermission = errors.New("no permission")
	// ErrGPUNotFound: there is no such device or instance (NVML_ERROR_NOT_FOUND).
	ErrGPUNotFound = errors.New("not found")
	// ErrGPUDriverNotLoaded (NVML_ERROR_DRIVER_NOT_LOADED).
	ErrGPUDriverNotLoaded = errors.New("the NVIDIA driver is not loaded")
	// ErrGPUTimeout: nothing happened in time (NVML_ERROR_TIMEOUT).
	ErrGPUTimeout = errors.New("timeout")
	// ErrGPULibraryNotFound (NVML_ERROR_LIBRARY_NOT_FOUND).
	ErrGPULibraryNotFound = errors.New("there is no GPU library")
	// ErrGPULibraryMismatch: the library is not of the version of the driver that is
	// loaded, as during an upgrade (NVML_ERROR_LIB_RM_VERSION_MISMATCH).
	ErrGPULibraryMismatch = errors.New("the GPU library is not of the loaded driver's version")
	// ErrGPULibraryStale: neither is the library that this process has loaded, and
	// cannot get rid of. Only another process can load one that is.
	ErrGPULibraryStale = errors.New("this process has loaded a GPU library that is not of the driver's version any more")
	// ErrGPULost: the GPU has fallen off the bus (NVML_ERROR_GPU_IS_LOST).
	ErrGPULost = errors.New("the GPU is lost")
	// ErrGPUResetRequired (NVML_ERROR_RESET_REQUIRED).
	ErrGPUResetRequired = errors.New("the GPU needs a reset")
	// ErrGPUInUse: clients or instances hold it (NVML_ERROR_IN_USE).
	ErrGPUInUse = errors.New("in use")
	// ErrGPUInsufficientResources: the placement or the GPU is taken
	// (NVML_ERROR_INSUFFICIENT_RESOURCES).
	ErrGPUInsufficientResources = errors.New("insufficient resources")
	// ErrGPUUnknown: everything else (NVML_ERROR_UNKNOWN).
	ErrGPUUnknown = errors.New("unknown GPU library error")
)
