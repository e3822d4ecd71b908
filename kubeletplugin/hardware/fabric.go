package hardware

// FabricPool is devices in a chassis of their own, which a fabric manager
// attaches to a node when a claim needs them. No node has them until then.
type FabricPool struct {
	// Name of the fabric: "fabric-1".
	Name string
	// NodeLabels are on every node that the fabric reaches.
	NodeLabels map[string]string
	// Devices by name.
	Devices []FabricDevice
}

// FabricDevice is one device of a fabric pool.
type FabricDevice struct {
	// Name is unique in the pool: "a100-0".
	Name string
	// Model is what the fabric manager calls the product: "NVIDIA A100 80GB PCIe".
	Model string
	// Type is "gpu", "fpga" or "nic".
	Type        string
	MemoryBytes uint64
}
