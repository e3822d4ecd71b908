package hardware

// NIC is a network function: a port of a card, or a virtual function of one.
type NIC struct {
	PCIFunction
	// Interface is the network interface, "ibp24s0", or empty: functions bound to
	// vfio-pci and some RDMA-only ones have none.
	Interface string
	// MAC is the hardware address as sysfs prints it.
	MAC string
	// Link is "ethernet" or "infiniband".
	Link LinkType
	MTU  int
	// Up is the operational state of the link.
	Up bool
	// SpeedMbps is the speed of the link in Mbit/s; 0 where it is not known.
	SpeedMbps int
	// RDMA is nil for a function without an RDMA device.
	RDMA *RDMA
	// Eswitch is "legacy" or "switchdev" for a physical function that has an
	// embedded switch, else empty.
	Eswitch string
}

// LinkType is the kind of network behind a port.
type LinkType string

// The kinds.
const (
	LinkEthernet   LinkType = "ethernet"
	LinkInfiniBand LinkType = "infiniband"
)

// RDMA is the RDMA device of a NIC.
type RDMA struct {
	// Device is "mlx5_0", Uverbs N of /dev/infiniband/uverbsN.
	Device string
	Uverbs int
}
