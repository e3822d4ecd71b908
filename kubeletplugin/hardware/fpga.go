package hardware

// FPGA is an FPGA card. Its function is the one that users get: of AMD's cards,
// which have two, the user function, and Management is the other.
type FPGA struct {
	PCIFunction
	Management *PCIAddress
	// Model is "Alveo U55C".
	Model string
	// Shell names what the card's static region holds: the VBNV of an AMD shell
	// ("xilinx_u55c_gen3x16_xdma_base_3"), or empty.
	Shell string
	// Serial is the card's serial number, or empty.
	Serial string
	// MemoryBytes is the memory on the card.
	MemoryBytes uint64
	// Regions that can be programmed on their own, by ID. A card without any is
	// given out as a whole.
	Regions []FPGARegion
}

// FPGARegion is a partial-reconfiguration region.
type FPGARegion struct {
	ID int
	// Interface is the ID that a bitstream must have been built for, 32 hex digits.
	Interface string
	// Function is the accelerator function that is loaded, 32 hex digits, or empty.
	Function string
	// Port is the kernel's name of the port that the region is reached through,
	// "dfl-port.0", or empty.
	Port string
}
