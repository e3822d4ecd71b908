package allocator

// Features says which optional DRA features the cluster has switched on. A
// feature that is off is refused where a claim asks for it and ignored where a
// ResourceSlice offers it, as upstream does for each (reference: the DRA
// feature gates of Kubernetes 1.37).
//
// The fields are those of k8s.io/dynamic-resource-allocation/structured.Features,
// in the same order, so that allocator.Features(f) converts one into the other
// and stops compiling when upstream adds a field. The package itself does not
// import structured: then a patched copy of that module can import this one.
type Features struct {
	// AdminAccess: requests may ask for devices that are in use (DRAAdminAccess).
	AdminAccess bool
	// CompatibilityGroups: devices on one counter set must share a group (DRADeviceCompatibilityGroups).
	CompatibilityGroups bool
	// ConsumableCapacity: devices that several claims share, each with a part of the capacity (DRAConsumableCapacity).
	ConsumableCapacity bool
	// DerivedAttributes: requests may compute attributes with CEL for the constraints (DRADerivedAttributes).
	DerivedAttributes bool
	// DeviceBindingAndStatus: devices with binding conditions may be used (DRADeviceBindingConditions and DRAResourceClaimDeviceStatus).
	DeviceBindingAndStatus bool
	// DeviceTaints: tainted devices need a toleration (DRADeviceTaints).
	DeviceTaints bool
	// FractionalCapacityRange: request policies with steps below one (DRAFractionalCapacityRange).
	FractionalCapacityRange bool
	// ListTypeAttributes: attributes hold lists, constraints compare them as sets (DRAListTypeAttributes).
	ListTypeAttributes bool
	// OptionalNodeOperations: slices may skip node operations on nodes that declare support (DRAOptionalNodeOperations).
	OptionalNodeOperations bool
	// PartitionableDevices: shared counters and per-device node selection (DRAPartitionableDevices).
	PartitionableDevices bool
	// PrioritizedList: requests may list alternatives in firstAvailable (DRAPrioritizedList).
	PrioritizedList bool
}
