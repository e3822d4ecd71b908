package hardware

// AMDGPU is an AMD accelerator as the amdgpu and kfd drivers describe it in
// sysfs.
type AMDGPU struct {
	PCIFunction
	// Card and Render are N of /dev/dri/cardN and /dev/dri/renderDN.
	Card, Render int
	// ProductName is "Instinct MI300X".
	ProductName string
	// DriverVersion is the amdgpu module's.
	DriverVersion string
	MemoryBytes   uint64
	ComputeUnits  int
	SIMDUnits     int
	// Compute and Memory are the present partition modes ("SPX", "NPS1"); empty
	// on models without them. Modes are the combinations that can be set, by
	// partitions, and then by name.
	Compute, Memory string
	Modes           []AMDPartitionMode
}

// AMDPartitionMode is a combination of compute and memory partitioning, under
// which the GPU is as many equal devices as Partitions says.
type AMDPartitionMode struct {
	Compute, Memory string
	Partitions      int
}
